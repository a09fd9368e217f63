"""The page as HTML, without a browser: logins, roles, escaping, sizes, writes."""

import json
import re
import sqlite3
from html import unescape
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from tests.api.stage import PARTITION
from tests.fixtures.journals import reading
from tests.page.stage import PageService, Reader, journal_of
from tidegate.access.roles import Role
from tidegate.access.tokens import TokenRevoked, hash_of
from tidegate.cli.main import cli
from tidegate.journal.chain import JournalNote
from tidegate.machine.system_clock import SystemClock
from tidegate.page import pages
from tidegate.page.words import FILLED, LOOKS, WORDS

PAGES = (
    "/",
    "/?q=prod&look=waiting",
    "/?wall",
    f"/rollout/{PARTITION}",
    f"/why/{PARTITION}?target=prod-1",
    f"/?rollout={PARTITION}&target=prod-1",
    f"/when/{PARTITION}",
    "/upgrades",
    "/integrations",
    "/promotions",
    "/policies",
    "/brakes",
    "/journal",
    f"/journal?rollout={PARTITION}&target=prod-1",
    f"/entry/1/{PARTITION}",
    f"/act/pause/{PARTITION}",
    "/act/hold",
    "/act/block",
)


def text_of(page: str) -> str:
    """What is read on a page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", page)).split())


def field(page: str, name: str) -> str:
    """The value of a hidden field."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, f"no field {name}"
    return unescape(found[1])


def test_a_reader_without_a_login_gets_the_form_and_then_the_page(service: PageService) -> None:
    reader = service.reader()
    asked = reader.get("/rollout/x?y=1")
    assert (asked.status, asked.headers["location"]) == (303, "/login?next=%2Frollout%2Fx%3Fy%3D1")
    form = reader.get("/login?next=%2Frollout%2Fx%3Fy%3D1")
    assert field(form.text, "next") == "/rollout/x?y=1"
    assert reader.log_in().get("/").status == 200


def test_a_session_by_a_token_is_opaque_and_the_journal_has_its_hash(service: PageService) -> None:
    reader = service.reader(Role.VIEWER)
    answer = reader.post("/auth/token", {"token": reader.token, "next": "//evil.example"})
    assert answer.headers["location"] == "/"
    (cookie,) = answer.cookies
    assert re.search("HttpOnly", cookie)
    assert re.search("SameSite=lax", cookie, re.IGNORECASE)
    secret = cookie.partition(";")[0].partition("=")[2]
    assert secret.startswith("tidegate_session_")
    bodies = b"".join(each.body for each in service.archive.read("access"))
    assert hash_of(secret).encode() in bodies
    assert secret.encode() not in bodies
    assert reader.token.encode() not in bodies


def test_a_wrong_token_gets_the_form_again(service: PageService) -> None:
    answer = service.reader().post("/auth/token", {"token": "tidegate_wrong", "next": "/brakes"})
    assert answer.headers["location"] == "/login?wrong=1&next=%2Fbrakes"
    assert not answer.cookies
    form = service.reader().get(answer.headers["location"])
    assert "unknown, expired or revoked" in form.text


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_another_site_can_neither_log_in_nor_write(service: PageService, site: str) -> None:
    reader = service.reader()
    headers = {"sec-fetch-site": site}
    assert reader.post("/auth/token", {"token": reader.token}, **headers).status == 403
    reader.log_in()
    path, before = f"/act/pause/{PARTITION}", service.archive.head(PARTITION).seq
    assert reader.post(path, {"reason": "x"}, **headers).status == 403
    assert service.archive.head(PARTITION).seq == before


def test_a_session_ends_with_its_token(service: PageService) -> None:
    reader = service.reader().log_in()
    assert reader.get("/").status == 200
    name = reader.token.removeprefix("tidegate_")
    fact = TokenRevoked(name=name, reason="lost")
    service.archive.append("access", [JournalNote(SystemClock().now(), "test", fact)])
    assert reader.get("/").headers["location"] == "/login?next=%2F"


def test_logging_out_ends_the_session(service: PageService) -> None:
    reader = service.reader().log_in()
    assert reader.post("/auth/logout", {}).status == 303
    assert reader.get("/").status == 303


@pytest.mark.parametrize("path", PAGES)
def test_no_page_needs_inline_code_or_another_origin(service: PageService, path: str) -> None:
    answer = service.reader().log_in().get(path)
    assert answer.status == 200, answer.text
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert answer.headers["cache-control"] == "no-store"
    assert not re.search(r"<[^>]+\s(style|on\w+)=", answer.text)
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|javascript:", answer.text)
    sources = re.findall(r'\s(?:src|href|action)="([^"]*)"', answer.text)
    assert [each for each in map(unescape, sources) if not each.startswith(("/", "#"))] == []


def test_static_files_are_kept_by_their_hash(service: PageService) -> None:
    reader = service.reader()
    page = reader.get("/login").text
    (style,) = map(unescape, re.findall(r'rel="stylesheet" href="([^"]*)"', page))
    answer = reader.get(style)
    assert "immutable" in answer.headers["cache-control"]
    again = reader.get("/static/page.css", **{"if-none-match": answer.headers["etag"]})
    assert (again.status, again.text) == (304, "")
    assert again.headers["cache-control"] == "no-cache"
    for wrong in ("/static/nothing.css", "/static/%2e%2e", "/static/htmx.LICENSE"):
        assert reader.get(wrong).status == 404


def test_why_says_the_same_on_the_page_in_the_api_and_on_the_command_line(
    service: PageService, tmp_path: Path
) -> None:
    reader, client = service.reader().log_in(), service.client()
    document = client.get(f"/why/{PARTITION}?target=prod-1").json
    said = [
        words
        for option in document["target"]["options"]
        for each in option["verdicts"]
        for words in (each["message"], each.get("opens", ""))
        if words
    ]
    assert len(said) > 3
    page = reader.get(f"/why/{PARTITION}?target=prod-1").text
    command = ["why", PARTITION, "prod-1", "--database", str(tmp_path / "journal.db")]
    printed = CliRunner().invoke(cli, command)
    assert printed.exit_code == 0, printed.output
    for words in said:
        assert f">{words}<" in unescape(page), words
        assert words in printed.stdout
    (shown,) = re.findall(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)
    assert _timeless(unescape(shown).strip()) == _timeless(printed.stdout.strip())


def test_why_leads_to_the_targets_that_a_gate_names(service: PageService) -> None:
    reader = service.reader().log_in()
    said = service.client().get(f"/why/{PARTITION}?target=stage-1").json["target"]["options"][0]
    waits = [each for each in said["verdicts"] if each["gate"] == "order"]
    assert "dev-1" in str(waits[0]["facts"])
    page = unescape(reader.get(f"/why/{PARTITION}?target=stage-1").text)
    assert f'href="/why/{PARTITION}?target=dev-1"' in page
    assert f'href="/why/{PARTITION}?target=prod-1"' not in page


def _timeless(text: str) -> str:
    """Without how long ago something was: the command is a moment later."""
    return re.sub(r"\((in )?\w+\)", "()", text)


def test_a_viewer_reads_everything_and_presses_nothing(service: PageService) -> None:
    reader = service.reader(Role.VIEWER).log_in()
    page = reader.get(f"/rollout/{PARTITION}").text
    assert "/act/" not in page
    assert page.count("disabled") >= 4
    assert "needs the role operator" in text_of(page)
    before = service.archive.head(PARTITION).seq
    sheet = reader.get(f"/act/pause/{PARTITION}")
    assert "it needs the role operator" in text_of(sheet.text)
    assert reader.post(f"/act/pause/{PARTITION}", {"reason": "x", "key": "k"}).status == 422
    assert service.archive.head(PARTITION).seq == before


def test_an_approver_may_answer_and_not_pause(service: PageService) -> None:
    page = unescape(service.reader(Role.APPROVER).log_in().get(f"/rollout/{PARTITION}").text)
    assert f"/act/approve/{PARTITION}?group=" in page
    assert f"/act/pause/{PARTITION}" not in page


def test_what_a_caller_may_not_see_is_on_no_page(service: PageService) -> None:
    service.client().post(f"/pause/{PARTITION}", {"reason": "seen by all"})
    service.client().post(
        "/hold/h", {"reason": "a cause", "scope": {"targets": ["prod-1", "dev-1"]}}
    )
    reader = service.reader(Role.VIEWER, groups=("dev",)).log_in()
    for path in ("/", f"/rollout/{PARTITION}", "/brakes", "/journal", "/api/v1/cells"):
        answer = reader.get(path)
        assert answer.status == 200, path
        assert "dev-1" in answer.text or path in ("/", "/journal"), path
        assert "prod-" not in answer.text, path
        assert "stage-" not in answer.text, path
    assert "2 targets" in text_of(reader.get("/").text)
    assert reader.get("/map.svg").text.count("M") == 2
    assert reader.get(f"/why/{PARTITION}?target=prod-1").status == 404


def test_a_write_shows_its_reach_and_needs_a_reason(service: PageService) -> None:
    reader, path = service.reader().log_in(), f"/act/pause/{PARTITION}"
    sheet = reader.get(path).text
    assert f"{PARTITION}: 0 moving, " in text_of(sheet)
    assert f"tidegate pause {PARTITION} --reason WHY" in text_of(sheet)
    before = service.archive.head(PARTITION).seq
    empty = reader.post(path, {"tag": field(sheet, "tag"), "reason": "  "})
    assert empty.status == 422
    assert "Write why" in empty.text
    assert service.archive.head(PARTITION).seq == before
    done = reader.post(path, {"tag": field(sheet, "tag"), "reason": "a <b>bug</b>", "key": "k"})
    assert f"paused {PARTITION}" in text_of(done.text)
    assert f"/act/resume/{PARTITION}?reason=undo" in unescape(done.text)
    asked, said = list(service.archive.read(PARTITION))[-2:]
    assert (asked.kind, said.kind) == ("asked", "requested")
    assert asked.actor == said.actor
    again = reader.post(path, {"tag": "", "reason": "a <b>bug</b>", "key": "k"})
    assert again.status == 200
    assert service.archive.head(PARTITION).seq == said.seq
    history = reader.get(f"/rollout/{PARTITION}").text
    assert "a &lt;b&gt;bug&lt;&#x2f;b&gt;" in history
    assert "<b>bug" not in history


def test_a_write_on_a_plan_that_moved_shows_the_difference(service: PageService) -> None:
    reader, path = service.reader().log_in(), f"/act/approve/{PARTITION}"
    sheet = reader.get(f"{path}?group=stage").text
    assert "lets in: stage-1, stage-2" in text_of(sheet).replace("-1 – stage-2", "-1, stage-2")
    service.client().post(f"/pause/{PARTITION}", {"reason": "incident"})
    before = service.archive.head(PARTITION).seq
    fields = {"tag": field(sheet, "tag"), "reason": "looks good", "group": "stage"}
    moved = reader.post(path, fields)
    assert moved.status == 412
    assert "the plan moved" in text_of(moved.text)
    assert "paused" in text_of(moved.text)
    assert service.archive.head(PARTITION).seq == before
    done = reader.post(path, {**fields, "tag": field(moved.text, "tag")})
    assert done.status == 200
    assert "approved stage" in text_of(done.text)


def test_everything_is_held_and_lifted_on_the_page(service: PageService) -> None:
    reader = service.reader().log_in()
    sheet = reader.get("/act/hold?scope=everything").text
    assert "Holds 10 waiting targets in 1 rollout" in text_of(sheet)
    name = field(sheet, "name") if 'type="hidden" name="name"' in sheet else "inc-42"
    fields = {"name": name, "scope": "everything", "reason": "incident 42", "tag": ""}
    assert reader.post("/act/hold", fields).status == 200
    home = text_of(reader.get("/").text)
    assert f"hold {name} everything" in home
    assert "incident 42" in home
    assert "held 10" in home
    lift = reader.get(f"/act/lift-hold/{name}").text
    done = reader.post(f"/act/lift-hold/{name}", {"tag": field(lift, "tag"), "reason": "solved"})
    assert f"hold {name} is lifted" in text_of(done.text)
    assert "held 0" in text_of(reader.get("/").text)


def test_a_bar_has_every_look_once() -> None:
    """A look without a place in the bar would leave targets out of it."""
    assert sorted(FILLED) == sorted(each.name for each in LOOKS)


def test_every_text_of_the_page_is_shown_somewhere() -> None:
    folder = Path(pages.__file__).parent
    sources = [*folder.rglob("*.py"), *folder.glob("templates/*.html")]
    used = "\n".join(each.read_text() for each in sources if each.name != "words.py")
    unused = [each for each in WORDS if not re.search(rf"""(t\.|["']){each}\b""", used)]
    assert unused == []


def test_what_is_not_there_is_said(service: PageService) -> None:
    reader = service.reader().log_in()
    for path, said in (
        ("/rollout/simulated/rolout", "simulated/rollout"),
        (f"/why/{PARTITION}?target=prod-99", "prod-9"),
        ("/act/destroy/x", "the command line has all of them"),
    ):
        answer = reader.get(path)
        assert answer.status == 404, path
        assert said in text_of(answer.text)


def test_a_journal_without_targets_is_a_page(tmp_path: Path) -> None:
    service = PageService(tmp_path / "empty.db")
    reader = service.reader().log_in()
    assert "Nothing goes out here yet." in reader.get("/").text
    for path in ("/brakes", "/journal", "/map.svg", "/act/hold"):
        assert reader.get(path).status == 200, path
    service.close()


LONG = "n" * 253
HOSTILE = (
    LONG,
    "<script>alert(1)</script>",
    "\u202eevil\u202c",
    'a" onmouseover="x',
    "שלום-1",
    "{{ 1 }}",
)


def test_names_are_text_wherever_they_are_shown(tmp_path: Path) -> None:
    scenario = {
        "name": "names",
        "start": "2026-01-05T09:00:00Z",
        "revision": "<img src=x>",
        "lastGood": "v1",
        "groups": [{"name": "</title><b>g", "clusters": list(HOSTILE)}],
        "strategy": {"type": "Progressive"},
    }
    service = PageService(journal_of(tmp_path, scenario))
    reader = service.reader().log_in()
    partition = next(each for each in service.archive.heads() if each.startswith("simulated/"))
    every = ["/", f"/rollout/{partition}", f"/journal?rollout={partition}", f"/when/{partition}"]
    every += [f"/why/{partition}?target={quote(name, safe='')}" for name in HOSTILE]
    for path in every:
        answer = reader.get(path)
        assert answer.status == 200, (path, text_of(answer.text))
        assert "<script>alert" not in answer.text
        assert "<img src=x" not in answer.text
        assert "<b>g" not in answer.text
        assert '" onmouseover="' not in answer.text
    for name in HOSTILE:
        assert unescape(reader.get(f"/rollout/{partition}").text).count(f"<bdi>{name}</bdi>") >= 1
    ElementTree.fromstring(reader.get("/map.svg").text)
    service.close()


@pytest.mark.parametrize(
    "name", ["integrations-shards-7", "upgrades-lived-4", "upgrades-compat", "rollout-failing"]
)
def test_every_kind_is_on_every_screen(name: str, tmp_path: Path) -> None:
    service = PageService(tmp_path / "kept.db")
    reading.take_in(service.archive, reading.export_of(name))
    reader, every = service.reader().log_in(), service.client().get("/cells").json["items"]
    assert sum(len(each["names"]) for each in every) > 3
    paths = ["/", "/map.svg", "/journal", "/upgrades", "/integrations"]
    for each in every:
        rollout = each["rollout"]
        paths += [f"/rollout/{rollout}", f"/when/{rollout}", f"/act/pause/{rollout}"]
        paths += [f"/why/{rollout}?target={quote(target, safe='')}" for target in each["names"]]
    for path in paths:
        answer = reader.get(path)
        assert answer.status == 200, (path, text_of(answer.text)[-300:])
    kind = every[0]["rollout"].partition("/")[0]
    if kind == "upgrades":
        assert every[0]["names"][0] in text_of(reader.get("/upgrades").text)
    if kind == "integrations":
        assert every[0]["rollout"] in text_of(reader.get("/integrations").text)
    service.close()


def test_story_9_what_failed_is_retried_with_its_reach_first(tmp_path: Path) -> None:
    service = PageService(tmp_path / "kept.db")
    reading.take_in(service.archive, reading.export_of("rollout-failing"))
    reader, rollout = service.reader().log_in(), "simulated/beyond"
    page = unescape(reader.get(f"/rollout/{rollout}").text)
    assert "more than is allowed" in page
    assert f"/act/retry/{rollout}?failed=1" in page
    sheet = reader.get(f"/act/retry/{rollout}?failed=1").text
    assert f"{rollout}: 0 moving, 0 waiting; starts 2 targets in prod at once" in text_of(sheet)
    assert f"tidegate retry {rollout} --failed --reason WHY" in text_of(sheet)
    # Where the failures are within the budget, too: the rollout has gone on, and they have not.
    within = unescape(reader.get("/rollout/simulated/demo").text)
    assert "/act/retry/simulated/demo?failed=1" in within
    before = service.archive.head(rollout).seq
    fields = {"failed": "1", "tag": field(sheet, "tag"), "reason": "the disk is new"}
    done = reader.post(f"/act/retry/{rollout}", fields)
    assert f"to be retried: {rollout}" in text_of(done.text)
    (asked, _) = service.archive.read(rollout, after=before)
    assert b"retryFailed" in asked.body
    service.close()


def test_story_4_the_last_day_says_who_did_what_and_why(service: PageService) -> None:
    client = service.client()
    client.post(f"/pause/{PARTITION}", {"reason": "incident 42"})
    actor = list(service.archive.read(PARTITION))[-1].actor
    reader = service.reader().log_in()
    history = text_of(reader.get(f"/rollout/{PARTITION}").text).partition("Last 24 hours")[2]
    assert f"{actor} pause" in history
    assert "incident 42" in history
    mine = text_of(reader.get(f"/journal?actor={quote(actor)}").text)
    assert "incident 42" in mine
    assert "incident 42" not in text_of(reader.get("/journal?actor=tidegate").text)


def test_story_15_an_entry_is_shown_as_it_was_and_verified(
    service: PageService, tmp_path: Path
) -> None:
    service.client().post(f"/pause/{PARTITION}", {"reason": "incident 42"})
    reader = service.reader().log_in()
    *_, asked, said = service.archive.read(PARTITION)
    assert f"/entry/{asked.seq}/{PARTITION}" in unescape(reader.get("/journal").text)
    page = text_of(reader.get(f"/entry/{asked.seq}/{PARTITION}").text)
    assert '"reason": "incident 42"' in page
    assert asked.hash.hex() in page
    assert "verified" in page
    assert reader.get(f"/entry/{said.seq + 1}/{PARTITION}").status == 404
    limited = service.reader(Role.VIEWER, groups=("dev",)).log_in()
    assert limited.get(f"/entry/1/{PARTITION}").status == 404
    with sqlite3.connect(tmp_path / "journal.db") as rows:
        forged = "UPDATE journal_entries SET actor = 'token:other' WHERE kind = 'asked'"
        assert rows.execute(forged).rowcount == 1
    rows.close()
    broken = text_of(reader.get(f"/entry/{said.seq}/{PARTITION}").text)
    assert f"the chain is broken at entry {asked.seq}" in broken


def test_when_on_the_page_has_the_dates_of_the_command(
    service: PageService, tmp_path: Path
) -> None:
    command = ["when", PARTITION, "-o", "json", "--database", str(tmp_path / "journal.db")]
    printed = CliRunner().invoke(cli, command)
    assert printed.exit_code == 0, printed.output
    dates = json.loads(printed.stdout)["items"]
    page = service.reader().log_in().get(f"/when/{PARTITION}").text
    assert len(dates) == 10
    for each in dates:
        row = re.search(rf"<tr><th[^>]*>(?:(?!</tr>).)*{each['target']}<.*?</tr>", page)
        assert row, each["target"]
        for moment in (each["startsAt"], each["doneAt"]):
            assert moment is None or f"{moment[:19]}Z" in row[0].replace("<wbr>", "")
        assert each["heldBy"] is None or each["heldBy"] in unescape(row[0])
    ElementTree.fromstring(re.findall(r"<svg class=\"gantt\".*?</svg>", page, re.DOTALL)[0])


def test_the_map_is_a_picture_without_a_script(service: PageService) -> None:
    reader = service.reader().log_in()
    page = reader.get("/?q=dev").text
    (picture,) = re.findall(r'<noscript>.*?<img src="([^"]*)"', page, re.DOTALL)
    answer = reader.get(unescape(picture))
    assert answer.headers["content-type"].startswith("image/svg+xml")
    drawn = ElementTree.fromstring(answer.text)
    paths = [each for each in drawn.iter() if each.tag.endswith("path")]
    assert sum("opacity" not in each.attrib for each in paths) >= 1
    assert sum("opacity" in each.attrib for each in paths) >= 1
    assert sum(each.attrib["d"].count("M") for each in paths) == 10


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal with 50,000 targets."""
    scenario = {
        "name": "crowd",
        "start": "2026-01-05T09:00:00Z",
        "revision": "v2",
        "lastGood": "v1",
        "groups": [{"name": f"g{number:02}", "count": 1000} for number in range(50)],
        "strategy": {"type": "ProgressivePerGroup"},
    }
    return journal_of(tmp_path_factory.mktemp("crowd"), scenario)


def test_fifty_thousand_targets_are_a_small_page(crowd: Path) -> None:
    service = PageService(crowd)
    reader: Reader = service.reader().log_in()
    page = reader.get("/", **{"accept-encoding": "identity"})
    assert page.status == 200
    assert len(page.text) < 300_000
    assert "50000 targets" in text_of(page.text)
    whole = reader.get(f"/rollout/{next(iter(set(service.archive.heads()) - {'access'}))}")
    assert len(whole.text) < 300_000
    picture = reader.get("/map.svg").text
    assert picture.count("M") == 50_000
    service.close()
