"""What was not read, each consequence by a world in which it is the only one that holds."""

from typing import Any

import msgspec
import pytest

from tests.upgraded import acts, answer, hosted, shut, told, world
from tidegate.kinds.upgrades.core.world import (
    ManagedCluster,
    Organisation,
    UpgradeWorld,
    only_whole,
)
from tidegate.model.time import Instant

UNREAD = {"a-uuid": "no answer"}
MUTEX = {"labels": {"mutexes": "m"}}


def test_who_was_not_read_is_excluded_alone() -> None:
    """With why; its owner hears nothing, and the others go on."""
    asked = world({"name": "a"}, {"name": "b"}, unread=UNREAD)
    assert (shut(asked, "a"), told(asked)) == (["ClusterUnread"], [])
    assert acts(asked) == ["POST b-id/upgrade_policies 4.12.18"]


def test_mistakes_in_its_labels_are_reported_all_the_same() -> None:
    """They were read, and they are its owner's."""
    bad = {"name": "a", "labels": {"soak-days": "two"}}
    assert told(world(bad, unread=UNREAD)) == told(world(bad)) != []


def test_it_keeps_its_mutexes() -> None:
    """It may be being upgraded."""
    asked = world({"name": "a", **MUTEX}, {"name": "b", **MUTEX}, unread=UNREAD)
    assert (acts(asked), shut(asked, "b")) == ([], ["MutexUnread"])


def test_it_keeps_the_mutexes_of_brakes_and_its_place() -> None:
    """Those that people declare beside the labels, and the limit of its sector."""
    two = [{"name": "a", "labels": {"sector": "s"}}, {"name": "b", "labels": {"sector": "s"}}]
    brakes = {"mutexes": [{"name": "db", "scope": {"everything": True}}]}
    declared = world(*two, unread=UNREAD, brakes=brakes, labels={"sector-deps.s": ""})
    assert shut(declared, "b") == ["MutexHeldUndated"]
    limited = world(*two, unread=UNREAD, labels={"sector-max-parallel-upgrades.s": "1"})
    assert shut(limited, "b") == ["SectorFull"]
    assert "a (not read)" in str(answer(limited)["targets"])


@pytest.mark.parametrize(
    "one, reasons",
    [
        ({"name": "a", "version": "4.12.18"}, []),
        ({"name": "a", "version": "4.12.17"}, ["SectorBehind"]),
        (hosted("a", {}, version="4.12.18"), ["SectorMemberUnread"]),
    ],
)
def test_its_version_counts_for_its_sector(one: dict[str, Any], reasons: list[str]) -> None:
    """Where a control plane is hosted, its node pools may be behind."""
    one = {**one, "labels": {"sector": "stage"}}
    labels = {"sector-deps.prod": "stage"}
    asked = world(one, {"name": "b", "labels": {"sector": "prod"}}, labels=labels, unread=UNREAD)
    assert shut(asked, "b") == reasons


def test_its_version_is_still_reported_to_those_who_inherit() -> None:
    """Left out, the lowest of the others would be too high."""
    asked = world(hosted("a", {}), {"name": "b", "version": "4.12.18"}, unread=UNREAD)
    assert answer(asked)["state"]["prod/o"]["stats"]["min_version"] == "4.12.17"


@pytest.mark.parametrize("most, reasons", [(1, ["FailuresUnread"]), (2, [])])
def test_where_failures_count_it_may_have_failed(most: int, reasons: list[str]) -> None:
    """Missing evidence is never good."""
    asked = world({"name": "a"}, {"name": "b"}, unread=UNREAD)
    asked["orgs"][0]["quarantine_after"] = most
    assert shut(asked, "b") == reasons


def test_nothing_starts_where_not_all_was_read() -> None:
    """No upgrade, no channel, no agreement; who is missing may hold or be behind."""
    gates = [{"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ocp"}]
    one = {"name": "a", "available_upgrades": ["4.13.1"], "available_channels": ["stable-4.13"]}
    for more in ({}, {"approver": True}):
        asked = world(one, gates=gates, **more)
        asked["orgs"][0]["partial"] = "a list changed"
        assert acts(asked) == []
        options = answer(asked)["targets"][0]["options"]
        assert all("OrgPartlyRead" in str(option) for option in options)


def test_what_is_blocked_is_taken_back_where_its_policy_was_read() -> None:
    """In an organisation with gaps too; of who was not read itself nothing is."""
    soon = [{"id": "1", "version": "4.12.18", "state": "scheduled"}]
    asked = world({"name": "a", "upgrade_policies": soon}, labels={"blocked-versions": ".*"})
    asked["orgs"][0]["partial"] = "a list changed"
    assert acts(asked) == ["DELETE a-id/upgrade_policies/1"]
    assert acts(asked | {"unread": UNREAD}) == []


def test_an_organisation_that_was_not_read_is_not_blamed_for_not_publishing() -> None:
    """Those who inherit wait, and hear nothing."""
    asked = world({"name": "a", "labels": {"sector": "s"}})
    asked["orgs"] = [
        {"id": "o", "name": "O", "labels": {"version-data.inherit": "p", "sector-deps.s": ""}},
        {"id": "p", "name": "P", "partial": "a list changed"},
    ]
    assert (shut(asked, "a"), told(asked)) == (["InheritanceUnverified"], [])


def test_rules_that_know_of_no_gaps_leave_such_organisations_alone() -> None:
    """And those without gaps as they are."""
    orgs = (
        Organisation("o", "O"),
        Organisation("p", "P"),
        Organisation("q", "Q", partial="a list changed"),
    )
    clusters = (ManagedCluster("a", "o", "4.12.17"), ManagedCluster("b", "p", "4.12.17"))
    seen = UpgradeWorld(now=Instant(0), orgs=orgs, clusters=clusters, unread=UNREAD)
    whole = only_whole(seen)
    assert [each.registered for each in whole.orgs] == [False, True, False]
    assert msgspec.structs.replace(whole, orgs=orgs) == seen
