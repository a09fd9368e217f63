"""Our rules of upgrades in cases no recorded world shows, a claim each."""

from typing import Any

import msgspec
import pytest

from tests.upgraded import NOW, acts, answer, brake, decided, hosted, kept, shut, told, world
from tidegate.kinds.upgrades.core.journal.record import opens_at
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.model.time import SECOND, Instant, parse_instant

# Labels


def test_a_cluster_excluded_still_counts_in_its_sector() -> None:
    """For its workloads; if those cannot be read, for all of them."""
    labels = {"sector-deps.prod": "stage"}
    stage = {"name": "s", "labels": {"sector": "stage", "soak-days": "two"}}
    prod = {"name": "p", "labels": {"sector": "prod"}}
    assert shut(world(stage, prod, labels=labels), "p") == ["SectorBehind"]
    other = {"name": "s", "labels": {"sector": "stage", "workloads": "x", "soak-days": "two"}}
    assert acts(world(other, prod, labels=labels)) == ["POST p-id/upgrade_policies 4.12.18"]
    blank = {"name": "s", "labels": {"sector": "stage", "workloads": " "}}
    assert shut(world(blank, prod, labels=labels), "p") == ["SectorBehind"]


def test_a_cluster_excluded_still_holds_its_mutexes() -> None:
    """Its upgrade is under way, whatever its labels say."""
    busy = [{"id": "1", "version": "4.12.18", "state": "started"}]
    aside = {"name": "a", "labels": {"mutexes": "m", "soak-days": "x"}, "upgrade_policies": busy}
    assert shut(world(aside, {"name": "b", "labels": {"mutexes": "m"}}), "b") == ["MutexUpgrading"]


def test_a_bad_pattern_of_the_organisation_holds_all_of_it() -> None:
    """And every cluster of it is notified."""
    bad = world({"name": "a"}, {"name": "b"}, labels={"blocked-versions": "(?!4)"})
    assert (acts(bad), shut(bad, "a")) == ([], ["OrgLabelsUnreadable"])
    assert len(told(bad)) == 2
    assert "looks ahead or behind" in told(bad)[0]


def test_a_version_that_cannot_be_read_holds_those_behind_it() -> None:
    """A cluster of an earlier sector is excluded; its owner is not notified of what is OCM's."""
    labels = {"sector-deps.prod": "stage"}
    stage = {"name": "s", "version": "4.12", "labels": {"sector": "stage"}}
    asked = world(stage, {"name": "p", "labels": {"sector": "prod"}}, labels=labels)
    assert (shut(asked, "s"), shut(asked, "p")) == (
        ["ClusterUnreadable"],
        ["SectorMemberUnreadable"],
    )
    assert told(asked) == []


def test_a_cluster_that_cannot_be_read_still_holds_its_mutexes() -> None:
    """Its upgrade is under way, whichever version it is on."""
    busy = [{"id": "1", "version": "4.12.18", "state": "started"}]
    odd = {"name": "a", "version": "4.12", "upgrade_policies": busy, "labels": {"mutexes": "m"}}
    assert shut(world(odd, {"name": "b", "labels": {"mutexes": "m"}}), "b") == ["MutexUpgrading"]


def test_sectors_in_a_circle_and_behind_it_hold_and_the_rest_goes_on() -> None:
    """All clusters of the organisation are notified."""
    labels = {"sector-deps.a": "b", "sector-deps.b": "a", "sector-deps.c": "a", "sector-deps.d": ""}
    some = [{"name": sector, "labels": {"sector": sector}} for sector in "abcd"]
    asked = world(*some, labels=labels)
    assert acts(asked) == ["POST d-id/upgrade_policies 4.12.18"]
    assert [shut(asked, name) for name in "abc"] == [["SectorCircle"]] * 3
    assert len(told(asked)) == 4


def test_a_cluster_that_is_not_ready_holds_its_mutexes() -> None:
    """It sleeps in the middle of its upgrade."""
    busy = [{"id": "1", "version": "4.12.18", "state": "started"}]
    odd = {"name": "a", "state": "hibernating", "upgrade_policies": busy}
    asked = world({**odd, "labels": {"mutexes": "m"}}, {"name": "b", "labels": {"mutexes": "m"}})
    assert (shut(asked, "a"), shut(asked, "b")) == (["ClusterNotReady"], ["MutexUpgrading"])


def test_one_external_id_for_two_clusters_holds_both() -> None:
    """Identity is the external id, so it is not known which is which."""
    twice = world({"name": "a", "external_id": "u"}, {"name": "b", "external_id": "u"})
    assert (acts(twice), shut(twice, "a")) == ([], ["ClusterUnreadable"])


# Windows


@pytest.mark.parametrize(
    "labels, starts",
    [
        ({"schedule": "6 10 * * *"}, None),
        ({"schedule": "7 10 * * *"}, "2023-05-10T10:07:00Z"),
        ({"schedule": "0 12 * * *"}, "2023-05-10T12:00:00Z"),
        ({"schedule": "1 12 * * *"}, None),
        ({"schedule": "0 13 * * *", "schedule-timezone": "Europe/Berlin"}, "2023-05-10T11:00:00Z"),
        ({"schedule": "0 11 * * *", "schedule-timezone": "Europe/Berlin"}, None),
    ],
)
def test_the_window_is_more_than_six_minutes_and_at_most_two_hours_off(
    labels: dict[str, str], starts: str | None
) -> None:
    """In UTC, or in the zone of the label."""
    writes = answer(world({"name": "a", "labels": labels}))["writes"]
    assert [body["next_run"] for _, _, body in writes] == ([] if starts is None else [starts])


def test_what_waits_for_its_window_knows_until_when() -> None:
    """Two hours before its schedule fires; a schedule of years gone by fires never again."""
    later = world({"name": "a", "labels": {"schedule": "0 3 * * 0"}})
    target = answer(later)["targets"][0]
    (window,) = (v for v in target["options"][0]["verdicts"] if v["gate"] == "window")
    assert (window["until"], window["facts"]["fires"]) == (
        "2023-05-14T01:00:00Z",
        "2023-05-14T03:00:00Z",
    )
    over = world({"name": "a", "labels": {"schedule": "0 3 * * * 0 2022"}})
    assert shut(over, "a") == ["ScheduleOver"]
    (text,) = told(over)
    assert text.endswith('schedule: "0 3 * * * 0 2022" never fires again; write one that does')
    over["clusters"][0]["state"] = "hibernating"
    assert not told(over)


# Node pools


def test_a_node_pool_follows_at_the_next_window_by_the_order_of_ids() -> None:
    """One at a time; the control plane goes on when all have caught up."""
    one = hosted("h", {"b": "4.12.16", "a": "4.12.16", "c": "4.12.17"})
    (write,) = answer(world(one))["writes"]
    assert write[1].endswith("/h-id/node_pools/a/upgrade_policies")
    assert (write[2]["version"], write[2]["upgrade_type"]) == ("4.12.17", "NodePool")
    assert write[2]["next_run"] == "2023-05-10T10:07:00Z"
    assert shut(world(one), "h", "4.12.18") == ["PoolsBehind"]


@pytest.mark.parametrize(
    "more, reason",
    [
        ({"labels": {"blocked-versions": r"^4\.12\.17$"}}, "VersionBlocked"),
        ({"brakes": brake("holds")}, "Held"),
        ({"brakes": brake("blocks", revision="4.12.17")}, "Blocked"),
        ({"brakes": brake("freezes", **{"from": NOW, "to": "2023-05-10T11:00:00Z"})}, "Frozen"),
    ],
)
def test_node_pools_obey_blocks_holds_and_freezes(more: dict[str, Any], reason: str) -> None:
    """As everyone does."""
    asked = world(hosted("h", {"a": "4.12.16"}), **more)
    assert (acts(asked), shut(asked, "h")) == ([], [reason])


def test_a_cluster_keeps_its_mutexes_until_its_pools_have_caught_up() -> None:
    """A peer on a lower version does not slip in between, even while the pools wait."""
    half = hosted("h", {"a": "4.12.17"}, version="4.12.19", labels={"mutexes": "m"})
    peer = {"name": "b", "version": "4.12.16", "labels": {"mutexes": "m"}}
    assert acts(world(half, peer)) == ["POST h-id/node_pools/a/upgrade_policies 4.12.19"]
    waiting = {**half, "labels": {"mutexes": "m", "schedule": "0 3 * * 0"}}
    assert (acts(world(waiting, peer)), shut(world(waiting, peer), "b")) == ([], ["MutexUpgrading"])


def test_two_half_upgraded_clusters_do_not_wait_for_each_other() -> None:
    """They share a mutex and a sector with room for one: the first in order goes on."""
    labels = {"sector-max-parallel-upgrades.s": "1"}
    some = [hosted(name, {"a": "4.12.16"}, labels={"mutexes": "m", "sector": "s"}) for name in "xy"]
    asked = world(*some, labels=labels)
    assert acts(asked) == ["POST x-id/node_pools/a/upgrade_policies 4.12.17"]
    assert shut(asked, "y") == ["SectorFull", "MutexUpgrading"]


def test_a_mutex_has_one_holder_in_a_sector_with_a_limit() -> None:
    """A limit of two lets two go at once, unless they share a mutex; whatever it is in percent."""
    some = [{"name": name, "labels": {"mutexes": "m", "sector": "s"}} for name in "ab"]
    free = {"name": "c", "labels": {"sector": "s"}}
    last = {"name": "d", "labels": {"sector": "s"}}
    for limit in ("2", "50%"):
        labels = {"sector-max-parallel-upgrades.s": limit}
        asked = world(*some, free, last, labels=labels)
        assert acts(asked) == [f"POST {name}-id/upgrade_policies 4.12.18" for name in "ac"]
        assert shut(asked, "b") == ["MutexUpgrading"]
        assert shut(asked, "d") == ["SectorFull"]


def test_a_mutex_is_not_taken_beside_node_pools_that_are_behind() -> None:
    """A cluster of a sector with a limit, and one half upgraded outside it, never go together."""
    labels = {"sector-max-parallel-upgrades.s": "1"}
    limited = {"name": "a", "labels": {"mutexes": "db", "sector": "s"}}
    half = hosted("h", {"p": "4.12.16"}, labels={"mutexes": "db"})
    asked = world(limited, half, labels=labels)
    assert acts(asked) == ["POST h-id/node_pools/p/upgrade_policies 4.12.17"]
    assert shut(asked, "a") == ["MutexUpgrading"]


def test_a_sector_with_a_limit_respects_holders_outside_it() -> None:
    """World 28: x1 has the mutex in another sector. AUS starts y1; we do not."""
    labels = {"sector-deps.x": "", "sector-deps.y": "", "sector-max-parallel-upgrades.y": "1"}
    busy = {"upgrade_policies": [{"id": "1", "version": "4.12.18", "state": "started"}]}
    some: list[dict[str, Any]] = [
        {"name": "x1", "labels": {"mutexes": "m", "sector": "x"}, **busy},
        {"name": "x2", "labels": {"mutexes": "m", "sector": "x"}},
        {"name": "y1", "labels": {"mutexes": "m", "sector": "y"}},
        {"name": "none", "labels": {"mutexes": "m"}},
    ]
    asked = world(*some, labels=labels)
    assert acts(asked) == []
    for name in ("x2", "y1", "none"):
        assert shut(asked, name) == ["MutexUpgrading"]


# What is under way


@pytest.mark.parametrize(
    "policy, reasons",
    [
        ({"state": "completed"}, []),
        ({"state": "cancelled"}, []),
        ({"state": "failed"}, ["MutexUpgradeFailed"]),
        ({"state": "started"}, ["MutexUpgrading"]),
        ({}, ["MutexUpgrading"]),
        ({"schedule_type": "automatic", "state": "started"}, ["MutexUpgrading"]),
        ({"schedule_type": "automatic", "next_run": "2023-05-10T12:00:00Z"}, ["MutexUpgrading"]),
        ({"schedule_type": "automatic", "next_run": "2023-05-10T12:00:01Z"}, []),
        ({"schedule_type": "automatic", "schedule": "0 11 * * *"}, ["MutexUpgrading"]),
        ({"schedule_type": "automatic", "schedule": "0 13 * * *"}, []),
    ],
)
def test_what_locks_a_mutex(policy: dict[str, str], reasons: list[str]) -> None:
    """What is over never does, what failed says so, the owner's own only when it is due."""
    busy = [{"id": "1", "version": "4.12.18", **policy}]
    one = {"name": "a", "labels": {"mutexes": "m"}, "upgrade_policies": busy}
    one["available_upgrades"] = []
    assert shut(world(one, {"name": "b", "labels": {"mutexes": "m"}}), "b") == reasons


@pytest.mark.parametrize(
    "policy, deleted",
    [
        ({"state": "pending"}, True),
        ({"state": "scheduled"}, True),
        ({"state": "started"}, False),
        ({"state": "delayed"}, False),
        ({}, False),
        ({"state": "scheduled", "schedule_type": "automatic"}, False),
    ],
)
def test_an_upgrade_to_a_blocked_version_is_taken_back_before_it_starts(
    policy: dict[str, str], deleted: bool
) -> None:
    """By a label or by a block; one that has begun, or may have, is left."""
    soon = {"id": "7", "version": "4.12.18", "next_run": "2023-05-10T11:00:00Z", **policy}
    one = {"name": "a", "upgrade_policies": [soon]}
    expected = ["DELETE a-id/upgrade_policies/7"] if deleted else []
    assert acts(world(one, labels={"blocked-versions": "18$"})) == expected
    assert acts(world(one, brakes=brake("blocks", revision="4.12.18"))) == expected
    assert acts(world(one)) == []


def test_two_pools_that_upgrade_at_once_are_no_mistake() -> None:
    """Two policies for one and the same pool are."""
    busy = [{"id": "1", "version": "4.12.17", "state": "started"}]
    one = hosted("h", {})
    pools = [{"id": i, "version": "4.12.16", "upgrade_policies": busy} for i in ("a", "b")]
    assert told(world({**one, "node_pools": pools})) == []
    twice = [{"id": "a", "version": "4.12.16", "upgrade_policies": [*busy, *busy]}]
    assert "delete all but one" in told(world({**one, "node_pools": twice}))[0]


# Versions


def test_a_pre_release_goes_to_who_is_on_one_or_on_a_candidate_channel() -> None:
    """And to no other."""
    offered = {"available_upgrades": ["4.13.0-rc.2"]}
    there = {"name": "a", "version": "4.13.0-rc.1", **offered}
    candidate = {"name": "b", "channel": "candidate-4.13", **offered}
    asked = world(there, candidate, {"name": "c", "channel": "stable-4.13", **offered})
    assert sorted(path.split("/")[0] for path in (act.split()[1] for act in acts(asked))) == [
        "a-id",
        "b-id",
    ]
    assert shut(asked, "c") == ["PreReleaseUnwanted"]


def test_the_newest_that_passes_is_chosen_and_the_others_say_so() -> None:
    """A newer one that is blocked says why; older ones say what was chosen."""
    offered = {"available_upgrades": ["4.12.18", "4.12.20", "4.12.19"]}
    asked = world({"name": "a", **offered}, labels={"blocked-versions": "20$"})
    assert acts(asked) == ["POST a-id/upgrade_policies 4.12.19"]
    assert shut(asked, "a", "4.12.20") == ["VersionBlocked"]
    assert shut(asked, "a", "4.12.18") == ["NewerVersionChosen"]


def test_of_those_that_share_a_mutex_the_lowest_version_goes_first() -> None:
    """Then the fewest soak days, then the name; however they are listed."""
    offered = {"available_upgrades": ["4.12.19"]}
    days = kept(9.0, NOW)["prod/o"]["versions"]
    state = {"prod/o": {"check_in": NOW, "versions": {"4.12.19": days["4.12.18"]}}}

    def first(**clusters: tuple[str, str]) -> str:
        some = [
            {"name": name, "version": version, "labels": {"mutexes": "m", "soak-days": soak}}
            for name, (version, soak) in clusters.items()
        ]
        (only,) = acts(world(*({**each, **offered} for each in some), state=state))
        return only.split()[1].removesuffix("-id/upgrade_policies")

    assert first(a=("4.12.18", "0"), b=("4.12.17", "3")) == "b"
    assert first(a=("4.12.17", "3"), b=("4.12.17", "1")) == "b"
    assert first(b=("4.12.17", "1"), a=("4.12.17", "1")) == "a"


# Soak


@pytest.mark.parametrize(
    "check_in, days",
    [
        ("2023-05-10T08:00:00Z", 1 + 2 / 24),
        ("2023-05-10T07:59:59Z", 1.0),
        ("2023-04-30T10:00:00Z", 1.0),
        ("2023-05-10T12:00:00Z", 1.0),
    ],
)
def test_what_was_not_watched_did_not_soak(check_in: str, days: float) -> None:
    """Two hours are the most between two looks; a clock that went back takes nothing away."""
    on = {"name": "a", "version": "4.12.18", "available_upgrades": []}
    state = answer(world(on, state=kept(1.0, check_in)))["state"]["prod/o"]
    assert state["versions"]["4.12.18"]["workloads"]["w"]["soak_days"] == pytest.approx(days)


def test_a_workload_named_twice_soaks_once() -> None:
    """An hour of one cluster is an hour."""
    on = {"name": "a", "version": "4.12.18", "labels": {"workloads": "w,w"}}
    state = answer(world(on, state=kept(1.0, "2023-05-10T09:00:00Z")))["state"]["prod/o"]
    days = state["versions"]["4.12.18"]["workloads"]["w"]["soak_days"]
    assert days == pytest.approx(1 + 1 / 24)


def test_soak_left_is_reported_with_an_estimate() -> None:
    """By how many run the version now."""
    on = {"name": "a", "version": "4.12.18", "available_upgrades": []}
    waits = {"name": "b", "labels": {"soak-days": "2"}}
    asked = world(on, waits, state=kept(1.5, NOW))
    target = next(each for each in answer(asked)["targets"] if each["cluster"] == "b")
    (soak,) = (v for v in target["options"][0]["verdicts"] if v["gate"] == "soak")
    assert soak["message"] == "w has run 1.50 of 2 cluster-days on 4.12.18, 1 cluster on it now"
    assert soak["until"] == "2023-05-10T22:00:00Z"


def test_soak_is_expected_from_the_last_look_on_and_not_from_now() -> None:
    """While no one looks nothing soaks: the moment stays, and once past there is none to wait for.

    Counted from now on, with a microsecond left there would be another moment every microsecond.
    """
    on = {"name": "a", "version": "4.12.18", "available_upgrades": []}
    waits = {"name": "b", "labels": {"soak-days": "2"}}
    read, _ = decided(world(on, waits, state=kept(1.5, NOW)))
    looked = msgspec.structs.replace(read, read_at=read.now)
    expected = parse_instant("2023-05-10T22:00:00Z")
    for hours, until in ((0, expected), (1, expected), (11, expected), (12, None), (13, None)):
        now = Instant(read.now + hours * 3600 * SECOND)
        plan = decide(looked, now)
        (soak,) = (v for v in plan.options[0].verdicts if v.reason is VersionReason.VersionSoaking)
        assert (soak.until, opens_at([plan], now)) == (until, until)


def test_names_that_are_not_unique_are_not_taken_over() -> None:
    """It is not known which of the two reported."""
    on = {"name": "a", "version": "4.12.18", "available_upgrades": []}
    two = world({**on, "external_id": "1"}, {**on, "external_id": "2"})
    state = answer(two | {"state": kept(1.0, "2023-05-10T09:00:00Z")})["state"]["prod/o"]
    assert state["versions"]["4.12.18"]["workloads"]["w"]["soak_days"] == 1.0


def test_an_unverified_source_gives_no_soak_and_holds_sectors() -> None:
    """Not even those that publish count while one does not; clusters without a sector go on."""
    orgs = [
        {
            "id": "o",
            "name": "O",
            "labels": {"version-data.inherit": "p,q", "sector-deps.s": ""},
        },
        {"id": "p", "name": "P", "labels": {"version-data.publish": "o"}},
        {"id": "q", "name": "Q", "labels": {"version-data.publish": "x"}},
    ]
    theirs = {"prod/p": kept(9.0, NOW)["prod/o"]}
    soaks = {"name": "soaks", "labels": {"soak-days": "1"}}
    sector = {"name": "sector", "labels": {"sector": "s"}}
    asked = world(soaks, sector, {"name": "free"}, state=theirs) | {"orgs": orgs}
    assert acts(asked) == ["POST free-id/upgrade_policies 4.12.18"]
    assert shut(asked, "soaks") == ["VersionSoaking"]
    assert shut(asked, "sector") == ["InheritanceUnverified"]
    orgs[2]["labels"] = {"version-data.publish": "o, x"}
    assert len(acts(asked)) == 3


# Health


def test_an_alert_is_a_brake_only_where_it_is_younger_than_the_version() -> None:
    """Where it is not known which came first, it holds; shown it is always."""
    org = {"id": "o", "name": "O", "health_checks": [{"provider": "telemeter", "enforced": True}]}
    seen = {"at": "2023-05-10T09:00:00Z", "version": "4.12.17", "since": "2023-05-01T00:00:00Z"}
    state = kept(0, "2023-05-10T09:00:00Z", observed={"a-uuid": seen})

    def asked(**since: str) -> dict[str, Any]:
        one = {"name": "a", "alerts": ["Down"], "alerts_since": since}
        return world(one, state=state) | {"orgs": [org]}

    assert shut(asked(), "a") == ["AlertsYoung"]
    assert shut(asked(Down="2023-05-02T00:00:00Z"), "a") == ["AlertsYoung"]
    old = asked(Down="2023-04-30T00:00:00Z")
    assert acts(old) == ["POST a-id/upgrade_policies 4.12.18"]
    verdicts = answer(old)["targets"][0]["options"][0]["verdicts"]
    assert "AlertsShown" in [each["reason"] for each in verdicts]


def test_an_enforced_source_that_is_down_holds_and_no_one_is_notified() -> None:
    """It is our outage."""
    org = {"id": "o", "name": "O", "health_checks": [{"provider": "telemeter", "enforced": True}]}
    asked = world({"name": "a"}, telemeter_fail=True) | {"orgs": [org]}
    assert (acts(asked), shut(asked, "a"), told(asked)) == ([], ["HealthUnasked"], [])


# Brakes


@pytest.mark.parametrize(
    "brakes, reason",
    [
        (brake("holds"), "Held"),
        (brake("holds", scope={"targets": ["a"]}), "Held"),
        (brake("holds", scope={"selector": {"matchLabels": {"org": "o"}}}), "Held"),
        (brake("holds", scope={"kinds": ["upgrades"]}), "Held"),
        (brake("pins"), "Pinned"),
        (brake("blocks", revision="4.12.*"), "Blocked"),
        (brake("freezes", **{"from": NOW, "to": "2023-05-10T10:01:00Z"}), "Frozen"),
        (
            brake("freezes", **{"from": "2023-05-10T10:06:00Z", "to": "2023-05-10T10:08:00Z"}),
            "Frozen",
        ),
    ],
)
def test_brakes_hold_upgrades(brakes: dict[str, Any], reason: str) -> None:
    """A freeze also where only the start would fall into it."""
    asked = world({"name": "a"}, brakes=brakes)
    assert (acts(asked), shut(asked, "a")) == ([], [reason])


def test_brakes_on_others_hold_nothing() -> None:
    """Other kinds, other names, other labels."""
    for scope in (
        {"kinds": ["policies"]},
        {"targets": ["b"]},
        {"selector": {"matchLabels": {"sector": "x"}}},
    ):
        assert len(acts(world({"name": "a"}, brakes=brake("holds", scope=scope)))) == 1


def test_a_budget_is_shared_by_all_organisations() -> None:
    """One cluster is upgraded; of the others one may be, wherever it is."""
    busy = [{"id": "1", "version": "4.12.18", "state": "started"}]
    some: list[dict[str, Any]] = [
        {"name": "a", "upgrade_policies": busy},
        {"name": "b"},
        {"name": "c", "org": "p"},
    ]
    budget = {"budgets": [{"name": "all", "max": 2, "scope": {"everything": True}}]}
    asked = world(*some, brakes=budget)
    asked["orgs"].append({"id": "p", "name": "P"})
    assert acts(asked) == ["POST b-id/upgrade_policies 4.12.18"]
    assert shut(asked, "c") == ["SharedBudgetSpent"]


def test_a_brake_that_cannot_be_read_refuses_the_line() -> None:
    """It lets nothing through."""
    from tidegate.model.errors import UserError

    with pytest.raises(UserError):
        answer(world({"name": "a"}, brakes={"holds": [{"name": "x"}]}))


# Channels and gates


@pytest.mark.parametrize(
    "more, patched",
    [
        ({}, True),
        ({"labels": {"blocked-versions": r"^4\.13\.0$"}}, False),
        ({"brakes": brake("blocks", revision="4.13.*")}, False),
        ({"brakes": brake("holds")}, False),
    ],
)
def test_a_channel_is_not_switched_where_its_first_version_is_blocked(
    more: dict[str, Any], patched: bool
) -> None:
    """By a label or a block; and not in a hold."""
    one = {"name": "a", "available_upgrades": [], "available_channels": ["stable-4.13"]}
    assert acts(world(one, **more)) == (["PATCH a-id"] if patched else [])


def test_gates_are_agreed_to_by_labels_of_the_cluster_only() -> None:
    """The organisation's list is the default for clusters that have labels of their own."""
    gates = [{"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ingress"}]
    labels = {"version-gate-approvals": "api.openshift.com/gate-ingress"}
    one = {"name": "a", "available_upgrades": ["4.13.1"]}
    asked = world(one, {"name": "b"}, gates=gates, approver=True, labels=labels)
    asked["clusters"].append({**asked["clusters"][0], "name": "c", "labels": {}})
    assert acts(asked) == ["POST a-id/gate_agreements"]
    assert acts(world(one, gates=gates, approver=True)) == []


# What is urgent, and what is suspected


def expedite(**more: Any) -> dict[str, Any]:
    """One version, everywhere, for two hours."""
    base = {"version": "4.12.18", "scope": {"everything": True}, "owner": "sec", "reason": "CVE"}
    return {"brakes": {"expedites": [{**base, "expires": "2023-05-10T12:00:00Z", **more}]}}


SLOW = {"soak-days": "9", "schedule": "0 3 * * 0"}


def test_an_expedited_version_skips_soak_and_window() -> None:
    """It starts at the first minute that can be asked for; no other version is expedited."""
    one = {"name": "a", "labels": SLOW, "available_upgrades": ["4.12.18", "4.12.19"]}
    (write,) = answer(world(one, **expedite()))["writes"]
    assert (write[2]["version"], write[2]["next_run"]) == ("4.12.18", "2023-05-10T10:07:00Z")
    assert shut(world(one, **expedite()), "a", "4.12.19") == ["OutsideWindow", "VersionSoaking"]


@pytest.mark.parametrize(
    "more",
    [
        {"version": "4.12.1"},
        {"expires": NOW},
        {"scope": {"targets": ["b"]}},
        {"scope": {"selector": {"matchLabels": {"org": "p"}}}},
    ],
)
def test_an_expedite_reaches_only_what_it_names(more: dict[str, Any]) -> None:
    """Its version, its scope, its time."""
    asked = world({"name": "a", "labels": SLOW}, **expedite(**more))
    assert (acts(asked), shut(asked, "a")) == ([], ["OutsideWindow", "VersionSoaking"])


def test_an_expedite_passes_no_mutex_sector_hold_freeze_or_block() -> None:
    """It is urgent, not above the rules."""
    busy = [{"id": "1", "version": "4.12.18", "state": "started"}]
    other = {"name": "b", "labels": {"mutexes": "m", "sector": "s"}, "upgrade_policies": busy}
    one = {"name": "a", "labels": {**SLOW, "mutexes": "m", "sector": "t"}}
    labels = {"sector-deps.t": "s", "blocked-versions": "18$"}
    freeze = brake("freezes", **{"from": NOW, "to": "2023-05-10T11:00:00Z"})
    brakes = brake("holds") | freeze | expedite()["brakes"]
    asked = world(one, other, labels=labels, brakes=brakes)
    assert shut(asked, "a") == [
        "MutexUpgrading",
        "VersionBlocked",
        "SectorBehind",
        "Held",
        "Frozen",
    ]


@pytest.mark.parametrize("missing", ["expires", "owner", "reason", "version", "scope"])
def test_an_expedite_says_what_who_why_where_and_until_when(missing: str) -> None:
    """Or the line is refused."""
    from tidegate.model.errors import UserError

    asked = expedite()
    del asked["brakes"]["expedites"][0][missing]
    with pytest.raises(UserError):
        answer(world({"name": "a"}, **asked))


def test_only_upgrades_are_expedited() -> None:
    """Another kind means something else."""
    from tidegate.model.errors import UserError

    with pytest.raises(UserError, match="only upgrades are expedited"):
        answer(world({"name": "a"}, **expedite(scope={"kinds": ["policies"]})))
    assert (
        len(acts(world({"name": "a", "labels": SLOW}, **expedite(scope={"kinds": ["upgrades"]}))))
        == 1
    )


@pytest.mark.parametrize("most, reasons", [(0, []), (1, ["VersionQuarantined"]), (2, [])])
def test_a_version_whose_upgrades_fail_is_kept_from_others_where_asked_for(
    most: int, reasons: list[str]
) -> None:
    """With the clusters it failed on; none is kept from it unless the organisation is."""
    failed = [{"id": "1", "version": "4.12.18", "state": "failed"}]
    asked = world({"name": "a", "upgrade_policies": failed}, {"name": "b"})
    asked["orgs"][0]["quarantine_after"] = most
    assert shut(asked, "b") == reasons
