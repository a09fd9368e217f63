"""Expediting a version, as people do it: by commands, on a journal, with who and why."""

import json
from pathlib import Path

import pytest

from tests.cli.test_setting_brakes import tidegate
from tidegate.engine.brakes.book import BrakeBook
from tidegate.gates.brakes import Brakes, concerning
from tidegate.gates.scope import KindOfChange
from tidegate.machine.system_clock import SystemClock
from tidegate.model.time import SECOND, Instant
from tidegate.settings.brake_file import BrakeFile
from tidegate.wiring import open_store

ADD = ("expedite", "add", "4.21.3", "-l", "org=o", "--reason", "CVE-2026-1", "--create", "--yes")


def test_a_version_is_expedited_until_it_is_not(tmp_path: Path) -> None:
    """Said before it is written down, listed with its end, read by the rules, taken back."""
    done = tidegate(tmp_path, *ADD, "--until", "2d")
    assert done.returncode == 0, done.stderr
    assert "4.21.3 skips soak and windows nowhere yet: no cluster known here" in done.stderr
    assert done.stdout.startswith("expedite 4.21.3 is recorded until ")
    (item,) = json.loads(tidegate(tmp_path, "get", "expedites", "-o", "json").stdout)["items"]
    assert (item["version"], item["reason"], item["inForce"]) == ("4.21.3", "CVE-2026-1", True)
    head, row = tidegate(tmp_path, "get", "expedites").stdout.splitlines()
    assert head.split()[:3] == ["NAME", "VERSION", "COVERS"]
    assert row.split()[:3] == ["4.21.3", "4.21.3", "org=o"]
    (one,) = (
        BrakeBook(open_store(str(tmp_path / "tidegate.db"))).read(SystemClock().now()).expedites
    )
    assert one.expires_at is not None
    assert 0 < one.expires_at - SystemClock().now() <= 2 * 86400 * SECOND
    again = tidegate(tmp_path, *ADD, "--until", "3d")
    assert (again.returncode, "is on already" in again.stderr) == (2, True)
    assert "is replaced" in tidegate(tmp_path, *ADD, "--until", "3d", "--replace").stdout
    assert tidegate(tmp_path, "expedite", "remove", "4.21.3").returncode == 0
    assert "no expedites" in tidegate(tmp_path, "get", "expedites").stderr
    told = tidegate(tmp_path, "journal", "show").stdout
    assert told.count("expedite") == 3


@pytest.mark.parametrize(
    "args, words",
    [
        (ADD, "Missing option '--until'"),
        ((*ADD[:5], "--until", "2d"), "Missing option '--reason'"),
        ((*ADD, "--until", "2020-01-01T00:00:00Z"), "--until"),
        ((*ADD[:3], "--reason", "r", "--until", "2d"), "Specify a scope"),
        ((*ADD, "--until", "2d", "--kind", "policies"), "only upgrades are expedited"),
        (("expedite", "remove", "4.21.3"), 'no expedite "4.21.3"; there are none'),
    ],
)
def test_mistakes_exit_2_and_change_nothing(
    tmp_path: Path, args: tuple[str, ...], words: str
) -> None:
    """What is wrong, with what to write instead."""
    open_store(str(tmp_path / "tidegate.db")).close()
    done = tidegate(tmp_path, *args)
    assert done.returncode == 2, done.stdout
    assert words in done.stderr
    assert "no expedites" in tidegate(tmp_path, "get", "expedites").stderr


def test_a_file_of_brakes_expedites_too(tmp_path: Path) -> None:
    """One that forgets its end holds everything, as all that cannot be read does."""
    path = tmp_path / "brakes.yaml"
    text = 'expedites: [{version: "4.21.*", scope: {everything: true}, owner: o, reason: r'
    path.write_text(text + ", expires: 2026-03-12T00:00:00Z}]\n")
    store = open_store(str(tmp_path / "tidegate.db"))
    book = BrakeBook(store, [BrakeFile(path, must_exist=True)])
    now = Instant(1_772_000_000 * SECOND)
    assert [each.version for each in book.read(now).expedites] == ["4.21.*"]
    assert not book.read(now).holds
    path.write_text(text + "}]\n")
    brakes = BrakeBook(store, [BrakeFile(path, must_exist=True)]).read(now)
    assert (brakes.expedites, len(brakes.holds)) == ((), 1)


def test_only_upgrades_are_bound_by_what_is_expedited(tmp_path: Path) -> None:
    """A rollout is not decided under it, and does not keep it."""
    tidegate(tmp_path, *ADD, "--until", "2d")
    found = BrakeBook(open_store(str(tmp_path / "tidegate.db"))).read(SystemClock().now())
    for kind, kept in ((KindOfChange.UPGRADES, 1), (KindOfChange.POLICIES, 0), (None, 0)):
        mine = concerning(Brakes(expedites=found.expedites, kind=kind), ["a"], {})
        assert len(mine.expedites if mine is not None else ()) == kept
