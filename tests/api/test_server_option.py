"""Commands that ask a service: the same words, the same output, the same exit codes."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from starlette.requests import Request

from tests.api.listener import listening, steady_text
from tests.api.stage import PARTITION, Client, Service, copied
from tests.command import tidegate
from tidegate.access.roles import Caller, Role
from tidegate.api.client.service import ServiceClient
from tidegate.api.problem import RequestError
from tidegate.app.asks import OperatorRequest
from tidegate.app.documents import StatusReport
from tidegate.cli.answers.service import ServiceAnswers
from tidegate.cli.live import whoami
from tidegate.journal.facts import Verb
from tidegate.model.errors import OutsideError, TidegateError


class Beside:
    """The same command on a journal, and through a service over a copy of it."""

    def __init__(self, journal: Path, address: str, client: Client, token: Path) -> None:
        self._journal = journal
        self.address = address
        token.write_text(client.token)
        self._token = token

    def local(self, *args: str) -> CompletedProcess[str]:
        """On the journal."""
        return tidegate(*args, "--database", str(self._journal))

    def remote(self, *args: str) -> CompletedProcess[str]:
        """Through the service."""
        where = ["--server", self.address, "--server-token", f"file:{self._token}"]
        return tidegate(*args, *where)


@pytest.fixture
def beside(service: Service, decided: Path, tmp_path: Path) -> Iterator[Beside]:
    """Both, each over a journal of its own."""
    (tmp_path / "local").mkdir()
    with listening(service) as address:
        client = service.client()
        yield Beside(copied(decided, tmp_path / "local"), address, client, tmp_path / "token")


def test_a_person_sees_as_which_actor_they_are_known(service: Service, tmp_path: Path) -> None:
    """With the roles, and whether they are limited."""
    token = tmp_path / "token"
    with listening(service) as address:
        for limits, more in (({}, ""), ({"groups": ("dev",)}, ", limited to a part of the fleet")):
            token.write_text(service.client(Role.OPERATOR, **limits).token)
            where = ("--server", address, "--server-token", f"file:{token}")
            said = tidegate("auth", "whoami", *where).stdout.splitlines()
            assert said[0].startswith("token:operator-")
            assert said[1] == f"roles: operator{more}"
    assert "asks for no login" in tidegate("auth", "whoami").stderr


READS = (
    ["status"],
    ["get", "rollouts"],
    ["get", "policies"],
    ["get", "rollouts", "rollout", "-o", "wide"],
    ["get", "rollouts", "-o", "json"],
    ["get", "rollouts", "nothing"],
    ["show", PARTITION],
    ["why", PARTITION],
    ["why", "prod-1"],
    ["why", "prod-1", "-o", "json"],
    ["why", "prod-11"],
    ["status", "--at", f"2/{PARTITION}"],
    ["get", "rollouts", "--at", f"2/{PARTITION}"],
    ["show", PARTITION, "--at", f"2/{PARTITION}", "-o", "json"],
    ["why", "prod-1", "--at", f"2/{PARTITION}"],
    ["why", "prod-1", "--at", "yesterday"],
    ["why", PARTITION, "--at", f"99/{PARTITION}"],
    ["changes"],
    ["changes", "prod-1"],
    ["changes", "--group", "stage", "--env", "stage"],
    ["changes", "--org", "nothing"],
    ["when", PARTITION, "--apply-time", "20m"],
    ["when", PARTITION, "--set", "minSuccessTime=2h", "--apply-time", "20m", "-o", "json"],
    ["when", PARTITION, "--set", "soak=2h"],
    ["when", "stage-1", "-o", "json"],
    ["get", "holds"],
    ["get", "freezes", "-o", "json"],
    ["get", "blocks", "nothing"],
    ["get", "expedites"],
    ["get", "promotions", "--recorded"],
    ["get", "promotions", "--recorded", "--promotion", "nothing"],
    ["get", "pins"],
    ["get", "pins", "nothing", "--source", "journal"],
    ["get", "claims"],
    ["journal", "show", "-p", PARTITION],
    ["journal", "show", "-p", PARTITION, "-o", "json"],
    ["journal", "show", "-p", PARTITION, "-n", "2"],
    ["journal", "show", "-n", "0"],
    ["journal", "show", "--gate", "ordr"],
    ["journal", "show", "-p", "simulated/rollot"],
    [
        "journal",
        "show",
        "-p",
        PARTITION,
        "--kind",
        "decided",
        "--target",
        "prod-1",
        "--since",
        "1h",
    ],
    ["journal", "verify", "-p", PARTITION],
    ["journal", "verify", "-p", PARTITION, "-o", "json"],
    ["journal", "verify", "-p", "simulated/rollot"],
    ["replay"],
    ["replay", PARTITION, "-o", "yaml"],
    ["shadow"],
    ["shadow", PARTITION, "-o", "json"],
    ["upgrades", "soak", "export"],
    ["upgrades", "soak", "export", "prod/o-payments"],
    ["session", "list"],
    ["session", "list", "-o", "json"],
    ["promotions", "suspects", "003d132"],
)


def test_every_question_is_answered_alike(beside: Beside) -> None:
    """Output, errors and exit code."""
    for args in READS:
        local, remote = beside.local(*args), beside.remote(*args)
        assert steady_text(remote.stdout) == steady_text(local.stdout), args
        assert steady_text(remote.stderr) == steady_text(local.stderr), args
        assert remote.returncode == local.returncode, args


ACTS = (
    ["approve", PARTITION, "--group", "stage", "--reason", "dev looks good"],
    ["approve", PARTITION, "--group", "stag", "--reason", "x"],
    ["pause", PARTITION, "--reason", "a look"],
    ["resume", PARTITION, "--reason", "fine", "--yes"],
    ["revoke", PARTITION, "--group", "stage", "--reason", "no"],
    ["hold", "add", "inc-42", "--everything", "--reason", "incident", "--owner", "sre"],
    ["hold", "add", "inc-42", "--target", "prod-1", "--reason", "less", "--owner", "sre"],
    ["hold", "remove", "inc-43", "--reason", "x"],
    ["hold", "remove", "inc-42", "--reason", "solved", "--yes"],
    # Either alone lets nothing start: they are lifted together, or not at all.
    ["hold", "add", "a", "--target", "dev-1", "--reason", "x", "--owner", "sre"],
    ["hold", "add", "b", "--target", "dev-1", "--reason", "y", "--owner", "sre"],
    ["hold", "remove", "a", "c", "--reason", "over"],
    ["hold", "remove", "a", "b", "--reason", "over"],
    ["get", "holds"],
    [
        "freeze", "add", "xmas", "--everything", "--reason", "closed", "--owner", "sre",
        "--from", "2099-12-20T18:00", "--to", "2099-12-30T18:00", "--time-zone", "Europe/Berlin",
    ],
    ["freeze", "exempt", "xmas", "--target", "prod-1", "--until", "2h", "--reason", "fix"],
    ["freeze", "remove", "xmas", "--reason", "done", "--yes"],
    ["block", "add", "v2", "--reason", "loses volumes", "--owner", "sre"],
    ["block", "remove", "v2", "--reason", "found", "--yes"],
    ["pin", "prod-2", "--reason", "a customer", "--owner", "sre"],
    ["unpin", "prod-2", "--reason", "gone", "--yes"],
    ["get", "pins", "--source", "journal", "-o", "wide"],
    [
        "upgrades", "expedite", "add", "4.21.3", "-l", "org=o", "--until", "2d", "--owner", "sre",
        "--reason", "CVE-2026-1",
    ],
    [
        "upgrades", "expedite", "add", "4.21.3", "-l", "org=o", "--until", "2d", "--owner", "sre",
        "--reason", "CVE-2026-1", "--yes",
    ],
    [
        "upgrades", "expedite", "add", "4.21.3", "-l", "org=o", "--until", "2d", "--owner", "sre",
        "--reason", "again", "--yes",
    ],
    ["upgrades", "expedite", "remove", "4.21.3", "--reason", "done"],
    ["free", "mutex/db", "--reason", "gone", "--yes"],
    ["retry", PARTITION, "--failed", "--reason", "again", "--yes"],
    ["retry", PARTITION, "--group", "stage", "--reason", "again", "--yes"],
    ["retry", PARTITION, "--group", "stag", "--reason", "again", "--yes"],
    ["abort", PARTITION, "--reason", "no"],
    ["abort", PARTITION, "--reason", "no", "--yes"],
)  # fmt: skip


def test_every_act_is_done_alike(beside: Beside) -> None:
    """What is shown, asked, refused and printed; and the journals agree in the end."""
    for args in ACTS:
        local, remote = beside.local(*args), beside.remote(*args)
        assert steady_text(remote.stdout) == steady_text(local.stdout), args
        assert steady_text(remote.stderr) == steady_text(local.stderr), args
        assert remote.returncode == local.returncode, args
    show = ["why", PARTITION, "-o", "json"]
    assert steady_text(beside.remote(*show).stdout) == steady_text(beside.local(*show).stdout)


TOKENS = (
    ["token", "create", "ci", "--role", "operator", "--env", "prod", "--expires", "90d",
     "--reason", "dashboards"],
    ["token", "create", "ci", "--role", "viewer", "--reason", "again"],
    ["token", "create", "eu", "--role", "viewer", "-l", "a=b=c", "--reason", "x"],
    ["token", "create", "eu", "--role", "viewer", "--kind", "upgrade", "--reason", "x"],
    ["token", "create", "pay", "--role", "viewer", "--org", "o-payments", "--kind", "upgrades",
     "--group", "dev", "--rollout", "a/*", "-l", "sector=eu", "--reason", "owners", "-o", "json"],
    ["token", "revoke", "pai", "--reason", "x"],
    ["token", "revoke", "ci", "--reason", "leaked"],
    ["session", "end", "ada", "--reason", "left"],
)  # fmt: skip


def test_tokens_are_kept_alike(beside: Beside) -> None:
    """Created, refused and revoked; only what is random differs, and a token works at once."""
    for args in TOKENS:
        local, remote = beside.local(*args), beside.remote(*args)
        assert _steady_token(remote.stdout) == _steady_token(local.stdout), args
        assert steady_text(remote.stderr) == steady_text(local.stderr), args
        assert remote.returncode == local.returncode, args
    listed = json.loads(beside.remote("token", "list", "-o", "json").stdout)["items"]
    works = {each["name"]: each["works"] for each in listed}
    assert (works["ci"], works["pay"]) == (False, True)
    token = beside.remote("token", "create", "new", "--role", "viewer", "--reason", "x").stdout
    found = ServiceClient(beside.address, token.strip()).get("/status", {}, StatusReport)
    assert found.kinds


def _steady_token(text: str) -> str:
    text = re.sub(r"tidegate_[\w-]{43}", "TOKEN", steady_text(text))
    return text.replace(f"user:{whoami()}", "token:admin-0")


def test_tokens_and_sessions_are_for_admins(service: Service, tmp_path: Path) -> None:
    """A viewer is told so, and learns no name."""
    token = tmp_path / "token"
    token.write_text(service.client(Role.VIEWER).token)
    with listening(service) as address:
        where = ["--server", address, "--server-token", f"file:{token}"]
        for args in (["token", "list"], ["session", "list"], TOKENS[0], TOKENS[-1]):
            done = tidegate(*args, *where)
            assert (done.returncode, "role admin" in done.stderr) == (4, True), done.stderr
            # To log in once more gives no role.
            assert "login" not in done.stderr


def test_a_service_that_is_logged_in_to_is_asked(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until another is used, or a journal is named; the token is for its owner alone."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "token"
    file.write_text(service.client(Role.VIEWER).token)

    with listening(service) as address:
        done = tidegate("login", address, "--token-file", str(file), "--name", "here")
        assert done.returncode == 0, done.stderr
        assert "token:viewer-0 (viewer)" in done.stdout
        kept = tmp_path / "config" / "tidegate" / "contexts.json"
        assert kept.stat().st_mode & 0o777 == 0o600
        assert PARTITION in tidegate("get", "rollouts").stdout
        refused = tidegate("pause", PARTITION, "--reason", "x", "--yes")
        assert (refused.returncode, "needs the role operator" in refused.stderr) == (4, True)
        assert "here" in tidegate("context", "list").stdout
        assert tidegate("context", "use", "her").returncode == 2
        assert tidegate("context", "use", "none").returncode == 0
        assert "no such journal" in tidegate("get", "rollouts").stderr.lower()
        assert tidegate("context", "use", "here").returncode == 0
    gone = tidegate("get", "rollouts")
    assert (gone.returncode, address in gone.stderr) == (1, True)
    assert tidegate("context", "remove", "here").returncode == 0


@pytest.mark.parametrize(
    "args, said",
    [
        (["--server", "tidegate.example"], "https://HOST"),
        (["--server", "http://127.0.0.1:9", "--database", "x.db"], "cannot be combined"),
        (["--server", "http://127.0.0.1:9"], "tidegate login http://127.0.0.1:9"),
        (["--server", "http://127.0.0.1:9/api/v1"], "write http://127.0.0.1:9\n"),
        (["--server", "http://127.0.0.1:9/?x=1"], "write http://127.0.0.1:9\n"),
        (["--server", "http://ann:secret@127.0.0.1:9"], "write http://127.0.0.1:9\n"),
        (["--server", "http://:9"], "https://HOST"),
        (["--server", "http://[::1"], "https://HOST"),
    ],
)
def test_a_mistake_is_told(
    args: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What, and what to write instead."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    done = tidegate("status", *args)
    assert done.returncode == 2
    assert said in done.stderr
    assert "secret" not in done.stderr


def test_a_file_without_a_token_is_told(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it is sent; what is in it is not said."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "many"
    file.write_text("secret: one\nsecret: two\n")
    with listening(service) as address:
        done = tidegate("login", address, "--token-file", str(file))
    assert (done.returncode, "is no token" in done.stderr) == (2, True), done.stderr
    assert "secret" not in done.stderr


def test_a_file_of_logins_that_is_broken_is_told_with_a_way_out(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which works: a login alone is refused, too."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    kept = tmp_path / "tidegate" / "contexts.json"
    kept.parent.mkdir()
    kept.write_text("{bad")
    token = tmp_path / "token"
    token.write_text(service.client(Role.VIEWER).token)
    with listening(service) as address:
        login = ("login", address, "--token-file", str(token))
        for command in (("context", "list"), login):
            done = tidegate(*command)
            assert (done.returncode, "delete it" in done.stderr) == (2, True), done.stderr
        kept.unlink()
        assert tidegate(*login).returncode == 0


def test_a_service_without_tls_is_told(service: Service, tmp_path: Path) -> None:
    """And not as an operation that the system does not permit."""
    token = tmp_path / "token"
    token.write_text("x")
    with listening(service) as address:
        secure = address.replace("http:", "https:")
        done = tidegate("status", "--server", secure, "--server-token", f"file:{token}")
    assert (done.returncode, "write http://" in done.stderr) == (1, True), done.stderr
    assert "permitted" not in done.stderr


def test_a_token_that_does_not_work_is_not_allowed(service: Service, tmp_path: Path) -> None:
    """Exit 4, as for a role that is missing: a script tells it from a mistake in its words."""
    token = tmp_path / "token"
    token.write_text("tidegate_" + "x" * 43)
    with listening(service) as address:
        done = tidegate("status", "--server", address, "--server-token", f"file:{token}")
    assert (done.returncode, "tidegate login" in done.stderr) == (4, True), done.stderr


@pytest.mark.parametrize(
    "error, said",
    [
        (OutsideError("db: connection is bad"), "db: connection is bad"),
        (RequestError(429, "rate", "Too many", "more than 100 requests a second"), "more than 100"),
    ],
)
def test_a_service_that_cannot_answer_says_why(
    error: TidegateError,
    said: str,
    service: Service,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After every try: in its own words, and not only as a number."""
    token = tmp_path / "token"
    token.write_text(service.client().token)

    async def failing(_: Request) -> Caller:
        raise error

    monkeypatch.setattr(service.login, "caller", failing)
    with listening(service) as address:
        done = tidegate("status", "--server", address, "--server-token", f"file:{token}")
    assert (done.returncode, f"{address}: {said}" in done.stderr) == (1, True), done.stderr


def test_the_owner_of_a_brake_is_the_caller_that_the_service_knows(beside: Beside) -> None:
    """And not the login name on the machine of the command, unless another one is named."""
    for name, owner in (("mine", ()), ("theirs", ("--owner", "sre"))):
        done = beside.remote("hold", "add", name, "--target", "prod-1", "--reason", "x", *owner)
        assert done.returncode == 0, done.stderr
    freeze = [
        "--from",
        "2099-12-20T18:00:00Z",
        "--to",
        "2099-12-30T18:00:00Z",
        "--reason",
        "closed",
    ]
    assert beside.remote("freeze", "add", "xmas", "--everything", *freeze).returncode == 0
    until = ["--target", "prod-1", "--until", "2h", "--reason", "fix"]
    assert beside.remote("freeze", "exempt", "xmas", *until).returncode == 0

    def items(brake: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(beside.remote("get", brake, "-o", "json").stdout)[
            "items"
        ]
        return found

    assert [each["owner"] for each in items("holds")] == ["admin-0", "sre"]
    (freeze_found,) = items("freezes")
    assert freeze_found["owner"] == "admin-0"
    assert (
        beside.local("hold", "add", "here", "--target", "prod-1", "--reason", "x").returncode == 0
    )
    (here,) = json.loads(beside.local("get", "holds", "-o", "json").stdout)["items"]
    assert here["owner"] == whoami()


def test_a_stop_is_not_kept_from_stopping_by_a_plan_that_moves(service: Service) -> None:
    """What was shown is not what is there any more, and a pause is recorded all the same."""
    client = service.client()
    with listening(service) as address:
        answers = ServiceAnswers(ServiceClient(address, client.token))
        stop = answers.prepare(PARTITION, OperatorRequest(verb=Verb.PAUSE, reason="incident"))
        client.post(
            f"/approve/{PARTITION}", {"groups": ["stage"], "reason": "meanwhile"}, if_match="*"
        )
        assert stop.record().verb == "pause"
