"""The forms of brakes: reach first, the fact of the command, and one click back."""

import re
import shlex
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner

from tests.api.stage import PARTITION, copied
from tests.page.stage import PageService
from tests.page.test_html import field, text_of
from tidegate.access.roles import Role
from tidegate.cli.main import cli
from tidegate.journal.facts import Braked

FREEZE = {"from": "2099-12-20T18:00", "to": "2099-12-27T06:00", "zone": "Europe/Berlin"}
# A form, what is written in it, and what its sheet says first.
FORMS = {
    "hold everything": ("hold", {"scope": "everything"}, "Holds 10 waiting targets in 1 rollout"),
    "hold a kind": ("hold", {"scope": "kind", "kind": "simulated", "expires": "3d"}, "Holds 10"),
    "hold labels": ("hold", {"scope": "labels", "labels": "region=eu"}, "Holds"),
    "hold targets": ("hold", {"scope": "targets", "targets": "prod-1\nprod-2"}, "Holds 2 waiting"),
    "freeze": ("freeze", {**FREEZE, "scope": "everything"}, "frozen from 2099-12-20T17:00:00Z"),
    "freeze weekly": (
        "freeze",
        {**FREEZE, "rrule": "FREQ=YEARLY", "finish": "1", "scope": "targets", "targets": "prod-1"},
        "covers 1 target in 1 rollout",
    ),
    "block": ("block", {"revision": "v9*", "scope": "everything"}, "v9* will not start"),
    "pin": ("pin", {"scope": "targets", "targets": "prod-1 prod-2"}, "2 targets stay, 0 restarts"),
}


def braked(service: PageService) -> list[Braked]:
    """The brakes that were set."""
    facts = (each.fact() for each in service.archive.read("brakes"))
    return [each for each in facts if isinstance(each, Braked)]


def command_of(page: str) -> list[str]:
    """The command that a sheet shows."""
    (shown,) = re.findall(r'<code id="act-command">(.*?)</code>', page, re.DOTALL)
    return shlex.split(unescape(shown))


@pytest.mark.parametrize("form", FORMS)
def test_a_form_says_its_reach_and_does_what_its_command_does(
    service: PageService, decided: Path, tmp_path: Path, form: str
) -> None:
    """The fact of the page is that of the command on another copy, but for the caller's name."""
    verb, written, said = FORMS[form]
    sent = {"name": "new", "reason": "incident 42", **written}
    reader = service.reader().log_in()
    sheet = reader.get(f"/act/{verb}?{urlencode(sent)}").text
    assert said in text_of(sheet)
    assert braked(service) == []
    done = reader.post(f"/act/{verb}", {**sent, "tag": field(sheet, "tag")})
    assert done.status == 200, text_of(done.text)
    (fact,) = braked(service)
    assert (fact.brake, fact.name, fact.reason) == (verb, "new", "incident 42")
    assert f"/act/lift-{verb}/new" in done.text

    folder = tmp_path / "other"
    folder.mkdir()
    other = copied(decided, folder)
    program, *words = command_of(sheet)
    assert program == "tidegate"
    ran = CliRunner().invoke(cli, [*words, "--yes", "--owner", "me", "--database", str(other)])
    assert ran.exit_code == 0, (words, ran.output)
    again = PageService(other)
    (same,) = braked(again)
    again.close()
    assert _unowned(same) == _unowned(fact)


def _unowned(fact: Braked) -> tuple[object, ...]:
    """A fact without the person, and without the moment that a span of time is counted from."""
    document = {key: each for key, each in fact.document.items() if key not in ("owner", "expires")}
    return fact.brake, fact.name, fact.reason, document, "expires" in fact.document


def test_a_target_is_exempted_from_a_freeze(service: PageService) -> None:
    """It says what starts again, and why says of that target alone that there is an exception."""
    reader = service.reader().log_in()
    now = {"from": "2020-01-01T00:00:00Z", "to": "2099-01-01T00:00:00Z", "scope": "everything"}
    reader.post("/act/freeze", {**now, "name": "year-end", "reason": "holidays"})
    assert "/act/exempt/year-end" in reader.get("/brakes").text
    path = "/act/exempt/year-end"
    fields = {"scope": "targets", "targets": "dev-1", "until": "2h", "reason": "the fix"}
    sheet = reader.get(f"{path}?{urlencode(fields)}").text
    (reach,) = re.findall(r'id="reach".*?</section>', sheet, re.DOTALL)
    assert "year-end" in text_of(reach) or "nothing starts by it at once" in text_of(reach)
    words = ["freeze", "exempt", "year-end", "--target", "dev-1", "--until", "2h"]
    assert command_of(sheet) == ["tidegate", *words, "--reason", "the fix"]
    done = reader.post(path, {**fields, "tag": field(sheet, "tag")})
    assert "freeze year-end has an exception until" in text_of(done.text)
    said = "freeze year-end has an exception: the fix"
    assert said in service.client().get("/why/simulated/rollout?target=dev-1").text
    assert said not in service.client().get("/why/simulated/rollout?target=dev-2").text


@pytest.mark.parametrize(
    "verb, written, wrong",
    [
        ("pin", {"scope": "targets"}, "targets: is empty; write names, one a line"),
        ("freeze", {"scope": "everything"}, "from"),
        ("freeze", {**FREEZE, "rrule": "SOMETIMES", "scope": "everything"}, "rrule"),
        ("freeze", {**FREEZE, "zone": "Mars/Olympus", "scope": "everything"}, "Mars/Olympus"),
        ("exempt", {"scope": "everything"}, "until: is empty; write for how long, like 2h"),
        ("hold", {"scope": "labels", "labels": "a in (b"}, "labels"),
        ("hold", {"scope": "everything", "expires": "soon"}, "soon"),
    ],
)
def test_what_is_wrong_in_a_form_is_said_on_it(
    service: PageService, verb: str, written: dict[str, str], wrong: str
) -> None:
    """Nothing is recorded, and what was written stays in the fields."""
    reader = service.reader().log_in()
    path = f"/act/{verb}{'/none' if verb == 'exempt' else ''}"
    answer = reader.post(path, {"name": "new", "reason": "kept words", "key": "k", **written})
    assert answer.status == 422
    (said,) = re.findall(r'<p class="error"[^>]*>(.*?)</p>', answer.text)
    assert wrong in text_of(said)
    assert "kept words" in answer.text
    assert braked(service) == []


def test_a_viewer_gets_no_form_recorded(service: PageService) -> None:
    """The role is said, and nothing is set."""
    reader = service.reader(Role.VIEWER).log_in()
    assert 'href="/act/' not in reader.get("/brakes").text
    for verb, written, _ in FORMS.values():
        answer = reader.post(f"/act/{verb}", {"name": "new", "reason": "x", **written})
        assert "it needs the role operator" in text_of(answer.text), verb
    assert braked(service) == []


def test_a_freeze_is_in_force_only_at_its_times(service: PageService) -> None:
    """One that comes is listed as coming, and is no banner on every page."""
    reader = service.reader().log_in()
    for name, begin in (("now", "2020-01-01T00:00:00Z"), ("later", "2098-01-01T00:00:00Z")):
        times = {"from": begin, "to": "2099-01-01T00:00:00Z", "scope": "everything"}
        assert reader.post("/act/freeze", {**times, "name": name, "reason": "x"}).status == 200
    sections = [text_of(each) for each in re.split("<h2>", reader.get("/brakes").text)]
    banner, in_force, coming, ended = (
        ("freeze now" in each, "freeze later" in each) for each in sections
    )
    assert (banner, in_force) == ((True, False), (True, False))
    assert (coming, ended) == ((False, True), (False, False))
    home = text_of(reader.get("/").text)
    assert "freeze later" not in home
    assert "until 2099-01-01T00:00:00Z" in home


def test_only_freezes_that_cover_a_rollout_shade_its_dates(service: PageService) -> None:
    """A weekend without upgrades delays no other kind."""
    reader = service.reader().log_in()
    times = {"from": "2020-01-01T00:00:00Z", "to": "2099-01-01T00:00:00Z", "reason": "x"}
    shaded = []
    scopes = {"some": {"scope": "kind", "kind": "upgrades"}, "all": {"scope": "everything"}}
    for name, scope in scopes.items():
        assert reader.post("/act/freeze", {**times, **scope, "name": name}).status == 200
        shaded.append('class="freeze"' in reader.get(f"/when/{PARTITION}").text)
    assert shaded == [False, True]
