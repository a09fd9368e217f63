"""Add-ons by the labels of their clusters: each rule by a world in which it alone holds."""

from typing import Any

import pytest

from tests.upgraded import NOW, acts, answer, brake, hosted, shut, told, world
from tidegate.kinds.upgrades.app.explanation import explain_cluster
from tidegate.kinds.upgrades.app.read.document import read_world_document
from tidegate.kinds.upgrades.app.read.world import FleetReading
from tidegate.kinds.upgrades.cli.text.why import cluster_tree

PLANS = "/api/addons_mgmt/v1/clusters/a-id/upgrade_plans"


def having(*addons: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The cluster `a` with add-ons, and nothing newer for itself."""
    base = {"id": "log", "version": "1.2.0", "latest": "1.3.0"}
    mine = [{**base, **each} for each in addons or ({},)]
    return {"name": "a", "available_upgrades": [], "addons": mine, **more}


def asking(*clusters: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A world whose organisation asks for its add-ons."""
    asked = world(*clusters, **more)
    asked["orgs"][0]["addons"] = True
    return asked


def plan(**more: Any) -> dict[str, Any]:
    """An upgrade of an add-on."""
    return {"id": "p", "version": "1.3.0", "state": "scheduled", **more}


def addon(asked: dict[str, Any], name: str = "a") -> list[str]:
    """What holds the first upgrade of an add-on of a cluster."""
    target = next(each for each in answer(asked)["targets"] if each["cluster"] == name)
    option = next(each for each in target["options"] if each.get("do") == "addon")
    return [each["reason"] for each in option["verdicts"] if each["outcome"] != "pass"]


def writes(asked: dict[str, Any]) -> list[Any]:
    """What is asked of OCM."""
    return [each for each in answer(asked)["writes"] if "service_logs" not in each[1]]


def test_an_add_on_gets_its_newest_version() -> None:
    """Six minutes from now; where the organisation does not ask for it, nothing happens."""
    body = {
        "version": "1.3.0",
        "type": "manual",
        "addon_id": "log",
        "cluster_id": "a-id",
        "next_run": "2023-05-10T10:06:00Z",
    }
    assert writes(asking(having())) == [["POST", PLANS, body]]
    assert writes(world(having())) == []
    assert writes(asking(having({"latest": "1.2.0"}))) == []
    assert writes(asking(having({"latest": None}))) == []


@pytest.mark.parametrize(
    "schedule, reasons",
    [
        ("1 10 * * *", ["AddonOutsideWindow"]),  # not more than a minute off
        ("2 10 * * *", []),
        ("10 10 * * *", []),
        ("11 10 * * *", ["AddonOutsideWindow"]),  # more than ten
    ],
)
def test_the_schedule_fires_within_ten_minutes(schedule: str, reasons: list[str]) -> None:
    """More than one minute from now, and at most ten."""
    assert addon(asking(having(labels={"schedule": schedule}))) == reasons


def test_a_version_soaks_by_itself() -> None:
    """By add-on, version and workload, in a history of its own."""
    asked = asking(having(labels={"soak-days": "2"}))
    assert addon(asked) == ["VersionSoaking"]
    soak = {"1.3.0": {"workloads": {"w": {"soak_days": 2.0, "reporting": ["z"]}}}}
    kept = {"check_in": "2023-05-10T09:00:00Z", "versions": soak}
    assert addon(asked | {"state": {"prod/o": kept}}) == ["VersionSoaking"]
    assert addon(asked | {"state": {"prod/o/log": kept}}) == []


def test_soak_grows_where_the_version_runs() -> None:
    """Looked at twice; asleep or not ready it does not."""
    asked = asking(having({"version": "1.3.0"}))
    kept = answer({**asked, "now": "2023-05-10T09:00:00Z"})["state"]
    later = answer({**asked, "state": kept})["state"]["prod/o/log"]
    assert later["versions"]["1.3.0"]["workloads"]["w"]["soak_days"] == 1 / 24
    assert later["stats"]["min_version"] == "1.3.0"
    for ill in (
        having({"version": "1.3.0"}, state="hibernating"),
        having({"version": "1.3.0", "state": "failed"}),
    ):
        found = answer({**asking(ill), "state": kept})["state"]["prod/o/log"]
        assert found["versions"]["1.3.0"]["workloads"]["w"]["soak_days"] == 0


@pytest.mark.parametrize(
    "pattern, blocked",
    [("log/1.3", True), (r"^log/1\.3\.", True), ("log/1.2", False), (".*", False), ("1.3", False)],
)
def test_patterns_that_begin_with_its_id_block_it(pattern: str, blocked: bool) -> None:
    """The cluster's own, and the organisation's; others speak of clusters."""
    reasons = ["VersionBlocked"] if blocked else []
    assert addon(asking(having(labels={"blocked-versions": pattern}))) == reasons
    assert addon(asking(having(), labels={"blocked-versions": pattern})) == reasons


def test_the_cluster_goes_first() -> None:
    """One thing at a time: then its add-ons by their ids."""
    both = asking(having({}, {"id": "zed"}, available_upgrades=["4.12.18"]))
    assert acts(both) == ["POST a-id/upgrade_policies 4.12.18"]
    assert addon(both) == ["ClusterFirst"]
    two = answer(asking(having({"id": "zed"}, {})))
    assert [each[2]["addon_id"] for each in two["writes"]] == ["log"]
    assert "EarlierAddonFirst" in str(two["targets"])


@pytest.mark.parametrize("state, reason", [("started", "AddonUnderWay"), ("failed", "AddonFailed")])
def test_the_cluster_waits_for_its_add_ons(state: str, reason: str) -> None:
    """And so does every other that shares a mutex; a failed plan keeps both."""
    busy = having({"upgrade_plans": [plan(state=state)]}, available_upgrades=["4.12.18"])
    busy["labels"] = {"mutexes": "m"}
    asked = asking(busy, {"name": "b", "labels": {"mutexes": "m"}})
    assert (writes(asked), shut(asked, "a")) == ([], [reason])
    other = {"started": "MutexUpgrading", "failed": "MutexUpgradeFailed"}[state]
    assert shut(asked, "b") == [other]
    assert acts(asked | {"orgs": world()["orgs"]}) != []


def test_an_add_on_waits_for_its_cluster_and_for_mutexes() -> None:
    """For an upgrade under way, for node pools that are behind, for what has the mutex."""
    busy = [{"id": "1", "version": "4.12.18", "state": "started"}]
    assert addon(asking(having(upgrade_policies=busy))) == ["UpgradeUnderWay"]
    behind = {**having(), **hosted("a", {"p": "4.12.16"}, labels={"schedule": "0 3 * * 0"})}
    assert addon(asking(behind))[0] == "PoolsBehind"
    other = {"name": "b", "labels": {"mutexes": "m"}, "upgrade_policies": busy}
    assert addon(asking(having(labels={"mutexes": "m"}), other)) == ["MutexUpgrading"]


def test_what_starts_holds_its_mutexes_at_once() -> None:
    """Of two that share one, the first in order goes, be it for an add-on."""
    two = [
        {**having(labels={"mutexes": "m"}), "name": name, "version": version}
        for name, version in (("a", "4.12.16"), ("b", "4.12.17"))
    ]
    asked = asking(*two)
    assert [each[1].split("/")[5] for each in writes(asked)] == ["a-id"]
    assert addon(asked, "b") == ["MutexUpgrading"]


def test_sectors_go_by_the_versions_of_the_add_on() -> None:
    """Not by those of clusters, which is why AUS's sectors are void here."""
    labels = {"sector-deps.prod": "stage"}
    late = {**having(labels={"sector": "prod"}), "version": "4.12.10"}
    stage = {"name": "s", "labels": {"sector": "stage"}, "available_upgrades": []}

    def first(*addons: dict[str, Any]) -> dict[str, Any]:
        return asking(late, {**stage, "addons": list(addons)}, labels=labels)

    assert addon(first({"id": "log", "version": "1.2.0"})) == ["SectorBehind"]
    assert addon(first({"id": "log", "version": "1.3.0"})) == []
    assert addon(first()) == []
    assert addon(first({"id": "log", "version": "odd"})) == ["SectorMemberUnreadable"]
    assert addon(first() | {"unread": {"s-uuid": "no answer"}}) == ["SectorMemberUnread"]


@pytest.mark.parametrize(
    "one, kept",
    [
        (plan(state="completed"), False),
        (plan(schedule_type="automatic"), False),
        (plan(schedule_type="automatic", state="started"), True),
        (plan(schedule_type="automatic", state="failed"), True),
        (plan(state="cancelled"), True),
        (plan(), True),
        (plan(id="", state="completed"), True),
    ],
)
def test_plans_that_are_over_or_automatic_are_deleted(one: dict[str, Any], kept: bool) -> None:
    """What has begun is left alone, and so is ours; nothing is put beside it in that round."""
    found = writes(asking(having({"upgrade_plans": [one]})))
    drops = [] if kept else [["DELETE", f"{PLANS}/p", {}]]
    assert [each for each in found if each[0] == "DELETE"] == drops
    assert any(each[0] == "POST" for each in found) == (one["state"] == "cancelled")


def test_a_plan_to_a_version_that_is_blocked_by_now_is_taken_back() -> None:
    """By a label, or by a block; one that has begun is left."""
    soon = having({"upgrade_plans": [plan()]})
    drop = [["DELETE", f"{PLANS}/p", {}]]
    assert writes(asking(soon, labels={"blocked-versions": "log/1.3"})) == drop
    assert writes(asking(soon, brakes=brake("blocks", revision="log/1.*"))) == drop
    begun = having({"upgrade_plans": [plan(state="started")]})
    assert writes(asking(begun, labels={"blocked-versions": "log/1.3"})) == []


def test_two_plans_of_one_add_on_hold_it_and_are_reported() -> None:
    """Of two add-ons they are no mistake."""
    twice = asking(having({"upgrade_plans": [plan(), plan(id="q", version="1.2.9")]}))
    assert (writes(twice), "TwoUpgrades" in addon(twice)) == ([], True)
    assert told(twice) == [
        "- there are upgrade plans of add-on log for 1.2.9, 1.3.0 at once; delete all but one"
    ]


@pytest.mark.parametrize(
    "one, reasons",
    [
        ({"state": "installing"}, ["AddonNotReady"]),
        ({"latest": "1.1.0"}, ["VersionNotNewer"]),
        ({"latest": "odd"}, ["VersionUnreadable"]),
        ({"version": "odd"}, ["VersionUnreadable"]),
        ({"latest": "1.3.0-rc.1"}, []),
    ],
)
def test_odd_add_ons_wait(one: dict[str, Any], reasons: list[str]) -> None:
    """Pre-releases are no odd ones: an add-on has no channels."""
    assert addon(asking(having(one))) == reasons


def test_brakes_bind_add_ons_too() -> None:
    """Holds, freezes at both moments, blocks by add-on and version; an expedite skips the rest."""
    assert addon(asking(having(), brakes=brake("holds"))) == ["Held"]
    soon = {"from": "2023-05-10T10:05:00Z", "to": "2023-05-10T11:00:00Z"}
    assert addon(asking(having(), brakes=brake("freezes", **soon))) == ["Frozen"]
    assert addon(asking(having(), brakes=brake("blocks", revision="log/*"))) == ["Blocked"]
    assert addon(asking(having(), brakes=brake("blocks", revision="1.3.0"))) == []
    slow = having(labels={"soak-days": "9", "schedule": "0 3 * * 0"})
    urgent = brake("expedites", version="log/1.3.0", expires="2023-05-10T12:00:00Z")
    assert addon(asking(slow)) == ["AddonOutsideWindow", "VersionSoaking"]
    assert addon(asking(slow, brakes=urgent)) == []
    assert addon(asking(slow, brakes=urgent | brake("holds"))) == ["Held"]


def test_failed_plans_quarantine_their_version() -> None:
    """Where the organisation asks for it, and for that add-on alone."""
    failed = {**having({"upgrade_plans": [plan(state="failed")]}), "name": "f"}
    asked = asking(having(), failed)
    asked["orgs"][0]["quarantine_after"] = 1
    assert addon(asked) == ["VersionQuarantined"]
    other = asking(having({"id": "zed"}), failed)
    other["orgs"][0]["quarantine_after"] = 1
    assert addon(other) == []


def test_what_was_refused_waits() -> None:
    """That add-on alone."""
    lately = {"addon/log/1.3.0": {"at": NOW, "tries": 1, "detail": "no"}}
    asked = asking(having({}, {"id": "zed"}), refused={"a-uuid": lately})
    assert addon(asked) == ["RefusedLately"]
    assert [each[2]["addon_id"] for each in writes(asked)] == ["zed"]


def test_the_versions_others_run_are_inherited_by_add_on() -> None:
    """From the history of the same add-on there."""
    asked = asking(having(labels={"sector": "s", "soak-days": "3"}))
    asked["orgs"] = [
        {
            "id": "o",
            "name": "O",
            "addons": True,
            "labels": {"version-data.inherit": "p", "sector-deps.s": ""},
        },
        {"id": "p", "name": "P", "labels": {"version-data.publish": "o"}},
    ]
    soak = {"1.3.0": {"workloads": {"w": {"soak_days": 3.0}}}}
    stats = {"min_version": "1.3.0", "min_version_per_workload": {"w": "1.3.0"}}
    theirs = {"check_in": NOW, "versions": soak, "stats": stats}
    assert addon(asked) == ["VersionSoaking"]
    assert addon(asked | {"state": {"prod/p/log": theirs}}) == []
    low = theirs | {"stats": {"min_version": "1.2.0", "min_version_per_workload": {"w": "1.2.0"}}}
    assert addon(asked | {"state": {"prod/p/log": low}}) == ["InheritedBehind"]


def test_what_is_done_to_add_ons_is_reported_in_the_tree_of_a_cluster() -> None:
    """Each as an option of its own, with its gates."""
    left = [plan(id="q", version="1.2.5", state="completed")]
    asked = asking(having({"upgrade_plans": left}))
    found = explain_cluster(FleetReading((read_world_document(asked, "a test"),)), "a")
    lines = "\n".join(cluster_tree(found, found.now))
    assert "delete a plan of add-on log for 1.2.5: now" in lines
    assert "add-on log to 1.3.0: " in lines
    assert "a plan of add-on log for 1.2.5 is in the way: completed" in lines
