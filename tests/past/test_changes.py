"""What changed lately: of all kinds, by whom and why, as far as the caller sees."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.stage import PARTITION, Service
from tests.command import tidegate
from tests.fixtures.journals import reading
from tests.past.test_answers import decided as decided  # noqa: PLC0414  a fixture
from tests.past.test_answers import journal as journal  # noqa: PLC0414
from tests.past.test_answers import service as service  # noqa: PLC0414
from tidegate.access.roles import GrantScope, Role
from tidegate.app.journal import changes as module
from tidegate.app.journal.changes import ChangeItem, ChangeList, ChangeQuery, change_list
from tidegate.app.partitions.journals import Journals
from tidegate.kind_table import rules_of
from tidegate.model.errors import NotFoundError
from tidegate.model.time import Instant, parse_instant
from tidegate.store.archive_port import Archive

BEGIN, END = parse_instant("2026-01-05T10:00:00Z"), parse_instant("2026-01-05T13:30:00Z")


@pytest.fixture(scope="module")
def braked() -> Iterator[Archive]:
    """Two rollouts under a hold, a freeze, a block and a pin."""
    with reading.opened("memory:") as archive:
        reading.take_in(archive, reading.export_of("rollout-braked"))
        yield archive


def found(
    archive: Archive,
    name: str = "",
    since: Instant = BEGIN,
    until: Instant = END,
    groups: tuple[str, ...] = (),
) -> ChangeList:
    """The changes of a stretch of time."""
    query = ChangeQuery(name=name, scope=GrantScope(groups=groups), since=since, until=until)
    return change_list(Journals(archive, rules_of, END), archive, query)


def said(items: tuple[ChangeItem, ...]) -> list[str]:
    """Each change as a line."""
    return [f"{each.actor} {each.target}: {each.what}" for each in items]


def test_a_target_has_its_own_changes_and_the_brakes_on_it(braked: Archive) -> None:
    """Who set a hold, and why; and nothing that is about others only."""
    items = found(braked, "a").items
    assert "user:ada : hold inc-42 set: incident 42" in said(items)
    assert "tidegate a: apply a" in said(items)
    assert [each.reason for each in items if "inc-42 set" in each.what] == ["incident 42"]
    assert {each.target for each in items} == {"a", ""}
    assert {each.rollout for each in items} == {"simulated/demo", ""}
    assert [each.at for each in items] == sorted((each.at for each in items), reverse=True)


def test_a_brake_on_other_targets_is_no_change_here(braked: Archive) -> None:
    """The freeze for lunch covers d and f alone."""
    mine, others = found(braked, "d").items, found(braked, "a").items
    assert any("freeze lunch" in each.what for each in mine)
    assert not any("freeze lunch" in each.what for each in others)


def test_a_stretch_of_time_has_what_happened_in_it(braked: Archive) -> None:
    every = found(braked).items
    middle = parse_instant("2026-01-05T11:00:00Z")
    before, after = found(braked, until=middle).items, found(braked, since=middle).items
    assert (*after, *before) == every
    assert every


def test_a_group_has_the_changes_of_its_targets(braked: Archive) -> None:
    """Of every rollout that has such a group, and requests that cover it."""
    group = found(braked, groups=("canary",))
    assert group.targets == {"simulated/demo": 1, "simulated/other": 1}
    assert {each.target for each in group.items} <= {"a", "e", ""}
    one = found(braked, "simulated/demo", groups=("canary",))
    assert one.targets == {"simulated/demo": 1}
    with pytest.raises(NotFoundError, match="canry"):
        found(braked, groups=("canry",))
    with pytest.raises(NotFoundError, match="nosuch"):
        found(braked, "nosuch")


def test_an_organisation_has_the_changes_of_its_clusters() -> None:
    """Of upgrades, an organisation is a partition and a place of its clusters."""
    with reading.opened("memory:") as archive:
        reading.take_in(archive, reading.export_of("upgrades-lived-2"))
        journals = Journals(archive, rules_of, parse_instant("2026-03-12T00:00:00Z"))
        names = {each.target for each in journals.find("upgrades/prod/o0").reached}
        query = ChangeQuery(
            name="upgrades/prod/o0",
            since=parse_instant("2026-03-02T00:00:00Z"),
            until=journals.now,
        )
        items = change_list(journals, archive, query).items
    assert {each.rollout for each in items} == {"upgrades/prod/o0", ""}
    assert names
    assert any(each.actor.startswith("user:") for each in items)


def test_a_list_is_bounded_and_says_what_it_leaves_out(
    braked: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = found(braked)
    monkeypatch.setattr(module, "CHANGES_MAX", 5)
    some = found(braked)
    assert some.items == every.items[:5]
    assert some.left_out == len(every.items) - 5


def test_a_caller_sees_changes_of_its_targets_alone(service: Service) -> None:
    admin = service.client()
    approval = {"groups": ["stage"], "reason": "tested"}
    assert admin.post(f"/approve/{PARTITION}", approval, if_match="*").status == 200
    hold = {"reason": "incident", "scope": {"targets": ["prod-1"]}}
    assert admin.post("/hold/inc-1", hold).status == 200
    everything = admin.get("/changed").json
    assert any(each["reason"] == "tested" for each in everything["items"])
    assert any(each["reason"] == "incident" for each in everything["items"])
    dev = service.client(Role.VIEWER, groups=("dev",))
    text = dev.get("/changed").text
    assert "stage" not in text
    assert "prod-" not in text
    assert "incident" not in text
    assert dev.get("/changed?name=prod-1").status == 404
    mine = dev.get("/changed?name=dev-1").json["items"]
    assert mine
    assert {each["target"] for each in mine} <= {"dev-1", ""}
    assert admin.get("/changed?since=x").status == 400


def test_the_command_prints_who_and_why(service: Service, journal: Path) -> None:
    admin = service.client()
    approval = {"groups": ["stage"], "reason": "tested"}
    assert admin.post(f"/approve/{PARTITION}", approval, if_match="*").status == 200
    done = tidegate("changes", "stage-1", "--database", str(journal))
    assert done.returncode == 0, done.stderr
    assert "approve stage" in done.stdout
    assert ": tested" in done.stdout
    assert "dev-1" not in done.stdout
    as_data = tidegate("changes", "--group", "stage", "-o", "json", "--database", str(journal))
    assert json.loads(as_data.stdout)["kind"] == "ChangeList"
    none = tidegate("changes", "--until", "20h", "--since", "1h", "--database", str(journal))
    assert none.stdout.startswith("nothing changed since")


def test_looks_that_found_all_as_before_are_counted_and_not_listed() -> None:
    """An organisation is looked at every few minutes: its changes must not be lost among them."""
    with reading.opened("memory:") as archive:
        reading.take_in(archive, reading.export_of("upgrades-lived-4"))
        rollout = next(each for each in archive.heads() if each.startswith("upgrades/"))
        entries = list(archive.read(rollout))
        end = Instant(entries[-1].at + 1)
        query = ChangeQuery(name=rollout, since=Instant(0), until=end)
        listed = change_list(Journals(archive, rules_of, end), archive, query)
        looks = [each for each in entries if each.fact().line() == "no change"]
    assert looks
    assert listed.looks == len(looks)
    assert {each.seq for each in listed.items if each.rollout}.isdisjoint(e.seq for e in looks)
    surveyed = {each.seq for each in entries if each.kind == "surveyed"}
    assert surveyed & {each.seq for each in listed.items}
