"""Sessions of browsers are listed and ended by an admin, over HTTP and by the command line."""

from pathlib import Path

from click.testing import CliRunner

from tests.api.stage import Service
from tidegate.access.book import AccessBook
from tidegate.access.roles import Role
from tidegate.access.sessions import SESSION_PREFIX, SessionStarted
from tidegate.access.tokens import PARTITION, hash_of
from tidegate.cli.main import cli
from tidegate.journal.chain import JournalNote
from tidegate.machine.system_clock import SystemClock
from tidegate.model.time import SECOND, Instant

COOKIES = {
    "ada": (f"{SESSION_PREFIX}one", f"{SESSION_PREFIX}two"),
    "bob": (f"{SESSION_PREFIX}three",),
}


def log_in(service: Service) -> None:
    """Two browsers of one person, and one of another."""
    now = SystemClock().now()
    for name, cookies in COOKIES.items():
        for cookie in cookies:
            fact = SessionStarted(
                hash=hash_of(cookie),
                issuer="https://issuer.example",
                subject=f"s-{name}",
                name=name,
                expires_at=Instant(now + 3600 * SECOND),
            )
            service.archive.append(PARTITION, [JournalNote(now, f"user:{name}", fact)])


def working(service: Service) -> set[str]:
    """The cookies that work."""
    book, now = AccessBook(service.archive), SystemClock().now()
    every = (each for some in COOKIES.values() for each in some)
    return {each for each in every if book.by_session(each, now) is not None}


def test_an_admin_ends_all_sessions_of_a_person(service: Service) -> None:
    """At once, with a reason in the journal; those of others go on."""
    client = service.client()
    log_in(service)
    found = client.get("/sessions").json["items"]
    assert [each["name"] for each in found] == ["ada", "ada", "bob"]
    tried = client.post("/end-session/ada?dryRun=true", {"reason": "left the team"})
    assert len(tried.json["items"]) == 2
    assert len(working(service)) == 3
    done = client.post("/end-session/ada", {"reason": "left the team"})
    assert done.status == 200, done.text
    assert working(service) == set(COOKIES["bob"])
    lines = [entry.fact().line() for entry in service.archive.read(PARTITION)]
    assert lines.count("a session of ada was ended: left the team") == 2
    again = client.post("/end-session/ada", {"reason": "left the team"})
    assert (again.status, "bob" in again.json["detail"]) == (404, True)


def test_a_session_is_ended_by_its_id(service: Service) -> None:
    """The id that entries of the journal name it by."""
    client = service.client()
    log_in(service)
    (mine,) = [each for each in client.get("/sessions").json["items"] if each["name"] == "bob"]
    assert hash_of(COOKIES["bob"][0]).startswith(mine["id"])
    assert client.post(f"/end-session/{mine['id']}", {"reason": "a lost laptop"}).status == 200
    assert working(service) == set(COOKIES["ada"])


def test_sessions_are_for_admins_who_see_everything(service: Service) -> None:
    """An operator, and an admin of one kind, learn no names."""
    log_in(service)
    for client in (service.client(Role.OPERATOR), service.client(kinds=("upgrades",))):
        assert client.get("/sessions").status == 403
        assert client.post("/end-session/ada", {"reason": "x"}).status == 403
    assert len(working(service)) == 3


def test_the_command_line_lists_and_ends_them(service: Service, tmp_path: Path) -> None:
    """On the journal of the service."""
    log_in(service)
    where = ["--database", str(tmp_path / "journal.db")]
    listed = CliRunner().invoke(cli, ["session", "list", *where])
    assert listed.output.count("https://issuer.example") == 3
    done = CliRunner().invoke(cli, ["session", "end", "ada", "--reason", "left", *where])
    assert (done.exit_code, done.output) == (0, "ended 2 sessions of ada\n")
    assert working(service) == set(COOKIES["bob"])
