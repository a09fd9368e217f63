"""Guards of our rules of upgrades, each by a world in which it is the only one that holds."""

from typing import Any

import pytest

from tests.upgraded import NOW, WISHES, acts, answer, kept, shut, told, world

ENFORCED = [{"provider": "telemeter", "enforced": True}]


def state_of(asked: dict[str, Any]) -> dict[str, Any]:
    """What is kept of the organisation."""
    found: dict[str, Any] = answer(asked)["state"]["prod/o"]
    return found


def days(state: dict[str, Any], version: str = "4.12.18") -> float:
    found: float = state["versions"][version]["workloads"]["w"]["soak_days"]
    return found


def test_other_products_do_not_take_part() -> None:
    """Neither are they upgraded, nor excluded, nor reported."""
    assert answer(world({"name": "a", "product": "rhoic"}))["targets"] == []


def test_a_version_that_was_left_out_holds_those_behind_it() -> None:
    """What stands in its place is not read."""
    labels = {"sector-deps.prod": "stage"}
    stage = {"name": "s", "version": "4.12.18", "omit": ["version"], "labels": {"sector": "stage"}}
    asked = world(stage, {"name": "p", "labels": {"sector": "prod"}}, labels=labels)
    assert shut(asked, "p") == ["SectorMemberUnreadable"]


def test_the_id_of_a_cluster_is_a_mutex_too() -> None:
    """A cluster that names it waits for that one, and that one for the cluster that named it."""
    busy = [{"id": "1", "version": "4.12.18", "state": "started"}]
    named = {"name": "b", "labels": {"mutexes": "a-id"}}
    assert shut(world({"name": "a", "upgrade_policies": busy}, named), "b") == ["MutexUpgrading"]
    taken = world({"name": "a"}, {**named, "upgrade_policies": busy})
    assert shut(taken, "a") == ["MutexUpgrading"]


@pytest.mark.parametrize("offered", ["4.12.17", "4.12.16"])
def test_nothing_goes_to_what_it_has_or_back(offered: str) -> None:
    """Even if it is offered."""
    asked = world({"name": "a", "available_upgrades": [offered]})
    assert (acts(asked), shut(asked, "a")) == ([], ["VersionNotNewer"])


def test_a_failed_upgrade_is_distinguished_from_one_under_way() -> None:
    """It stays until a person looks."""
    failed = [{"id": "1", "version": "4.12.18", "state": "failed"}]
    asked = world({"name": "a", "upgrade_policies": failed})
    assert (acts(asked), shut(asked, "a")) == ([], ["UpgradeFailed"])


def test_a_policy_without_a_version_is_not_taken_back() -> None:
    """It is not known what it is for, so no pattern speaks of it."""
    soon = [{"id": "1", "version": "", "state": "scheduled"}]
    asked = world({"name": "a", "upgrade_policies": soon}, labels={"blocked-versions": ".*"})
    assert acts(asked) == []


def inheriting(**minima: Any) -> dict[str, Any]:
    """An organisation with a sector, that inherits from one whose clusters run old versions."""
    orgs = [
        {"id": "o", "name": "O", "labels": {"version-data.inherit": "p", "sector-deps.s": ""}},
        {"id": "p", "name": "P", "labels": {"version-data.publish": "o"}},
    ]
    one = {"name": "a", "labels": {"sector": "s", "workloads": "w"}}
    state = {"prod/p": {"check_in": NOW, "versions": {}, "stats": minima}}
    return world(one, state=state) | {"orgs": orgs}


@pytest.mark.parametrize(
    "minima, reasons",
    [
        ({"min_version": "4.12.1", "min_version_per_workload": {"w": "4.12.18"}}, []),
        (
            {"min_version": "4.12.18", "min_version_per_workload": {"w": "4.12.17"}},
            ["InheritedBehind"],
        ),
        (
            {"min_version": "4.12.17", "min_version_per_workload": {"x": "4.12.19"}},
            ["InheritedBehind"],
        ),
        ({"min_version": "4.12.18", "min_version_per_workload": {"x": "4.12.1"}}, []),
        ({"min_version": "odd", "min_version_per_workload": {}}, ["InheritedBehind"]),
    ],
)
def test_those_it_inherits_from_go_first(minima: dict[str, Any], reasons: list[str]) -> None:
    """By workload where all are known there, else by the lowest of all; the odd holds."""
    assert shut(inheriting(**minima), "a") == reasons
    assert len(acts(inheriting(**minima))) == (not reasons)


def test_soak_is_inherited_for_workloads_that_are_known_here() -> None:
    """Others are not ours to keep."""
    asked = inheriting(min_version="4.12.18", min_version_per_workload={"w": "4.12.18"})
    soak = {"w": {"soak_days": 9.0, "reporting": ["z"]}, "x": {"soak_days": 9.0}}
    asked["state"]["prod/p"]["versions"] = {"4.12.18": {"workloads": soak}}
    asked["clusters"][0]["labels"]["soak-days"] = "5"
    assert acts(asked) == ["POST a-id/upgrade_policies 4.12.18"]
    assert "4.12.18" not in state_of(asked)["versions"]


def test_a_channel_waits_for_mutexes_and_for_upgrades_that_lack_an_agreement() -> None:
    """As AUS does."""
    busy = [{"id": "1", "version": "4.12.18", "state": "started"}]
    other = {"name": "b", "labels": {"mutexes": "m"}, "upgrade_policies": busy}
    next_one = {"available_upgrades": [], "available_channels": ["stable-4.13"]}
    one = {"name": "a", "labels": {"mutexes": "m"}, **next_one}
    assert (acts(world(one, other)), shut(world(one, other), "a")) == ([], ["MutexUpgrading"])
    gates = [{"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ocp"}]
    gated = {"name": "a", **next_one, "available_upgrades": ["4.13.1"]}
    assert acts(world(gated, gates=gates)) == []


@pytest.mark.parametrize(
    "cluster, more, grown",
    [
        ({}, {}, True),
        ({"state": "hibernating"}, {}, False),
        ({"alerts": ["Down"]}, {}, True),
        ({"alerts": ["Down"]}, {"health_checks": ENFORCED}, False),
        ({"fails": True}, {"health_checks": ENFORCED}, False),
        ({"fails": True}, {}, True),
    ],
)
def test_only_who_is_seen_well_soaks(
    cluster: dict[str, Any], more: dict[str, Any], grown: bool
) -> None:
    """Asleep, alerting under an enforced check, or not to be asked: nothing is added."""
    fails = bool(cluster.pop("fails", False))
    on = {"name": "a", "version": "4.12.18", **cluster}
    asked = world(on, state=kept(1.0, "2023-05-10T09:00:00Z"), telemeter_fail=fails)
    asked["orgs"][0] |= more
    assert (days(state_of(asked)) > 1.0) is grown


def test_who_sleeps_is_not_reported() -> None:
    """As ever: it is notified when it wakes."""
    bad = {"name": "a", "labels": {"soak-days": "two"}}
    assert (len(told(world(bad))), told(world({**bad, "state": "hibernating"}))) == (1, [])


def test_the_list_of_a_cluster_comes_before_that_of_its_organisation() -> None:
    """`none` on the cluster agrees to nothing."""
    gates = [{"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ocp"}]
    one = {"name": "a", "available_upgrades": ["4.13.1"]}
    none = {**one, "labels": {"version-gate-approvals": "none"}}
    labels = {"version-gate-approvals": "api.openshift.com/gate-ocp"}
    assert len(acts(world(one, gates=gates, approver=True, labels=labels))) == 1
    assert acts(world(none, gates=gates, approver=True, labels=labels)) == []


@pytest.mark.parametrize(
    "alert, holds",
    [("2023-05-10T09:00:00Z", True), ("2023-05-10T08:59:59Z", False), ("odd", True)],
)
def test_an_alert_since_the_version_changed_is_young(alert: str, holds: bool) -> None:
    """Last seen on another version: it may have changed right after that look."""
    seen = {"at": "2023-05-10T09:00:00Z", "version": "4.12.16", "since": "2023-01-01T00:00:00Z"}
    state = kept(0, "2023-05-10T09:00:00Z", observed={"a-uuid": seen})
    asked = world({"name": "a", "alerts": ["X"], "alerts_since": {"X": alert}}, state=state)
    asked["orgs"][0]["health_checks"] = ENFORCED
    assert shut(asked, "a") == (["AlertsYoung"] if holds else [])


def test_a_name_two_clusters_have_expedites_neither() -> None:
    """It is not known which was meant; by a label both are."""
    slow = {**WISHES, "schedule": "0 3 * * 0"}
    two = [{"name": "same", "id": i, "external_id": i, "labels": slow} for i in ("x", "y")]
    said = {"version": "4.12.18", "owner": "s", "reason": "r", "expires": "2023-05-10T12:00:00Z"}
    by_name = [{**said, "scope": {"targets": ["same"]}}]
    by_label = [{**said, "scope": {"selector": {"matchLabels": {"org": "o"}}}}]
    assert acts(world(*two, brakes={"expedites": by_name})) == []
    assert len(acts(world(*two, brakes={"expedites": by_label}))) == 2


def test_the_first_doubled_part_is_reported() -> None:
    """One word about one of them is enough to begin with."""
    twice = [{"id": "1", "version": "4.12.18"}, {"id": "2", "version": "4.12.18"}]
    pools = [{"id": "a", "version": "4.12.16", "upgrade_policies": [*twice, *twice]}]
    one = {"name": "h", "product": "rosa", "hypershift": True, "upgrade_policies": twice}
    target = answer(world({**one, "node_pools": pools}))["targets"][0]
    assert target["options"][0]["verdicts"][0]["facts"]["count"] == 2
