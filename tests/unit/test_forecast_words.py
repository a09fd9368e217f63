"""What a forecast says of clusters without a date and of those under way; how soak goes on."""

import random
from typing import Any

import msgspec
import pytest

from tests.upgraded import NOW, brake, hosted, kept, world
from tidegate.gates.brakes import Brakes
from tidegate.gates.budget import Budget
from tidegate.gates.claims import Claim
from tidegate.gates.health import Evidence, HealthGate
from tidegate.gates.scope import Scope
from tidegate.kinds.upgrades.core.foresight.expected import ExpectedUpgrades
from tidegate.kinds.upgrades.core.foresight.forecast import FleetForecast, forecast
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.kinds.upgrades.core.rules.soak import (
    SoakLedger,
    SoakObservation,
    SoakSnapshot,
    carried,
    fold,
)
from tidegate.kinds.upgrades.wire.modes import read_upgrades
from tidegate.model.limit import Limit
from tidegate.model.time import SECOND, Duration, Instant, format_second, parse_instant

MINUTE = 60 * SECOND


def ahead(asked: dict[str, Any], pace: UpgradePace | None = None, **more: Any) -> FleetForecast:
    """The forecast of a world as lines have it."""
    read = msgspec.structs.replace(read_upgrades(asked).world, **more)
    return forecast(read, read.now, pace)


def of(asked: dict[str, Any], name: str = "a", **more: Any) -> ExpectedUpgrades:
    """What is expected of one cluster."""
    every = ahead(asked, **more).expected.values()
    return next(each for each in every if each.cluster.name == name)


def steps(expected: ExpectedUpgrades) -> list[str]:
    """The steps of a cluster, a line each."""
    return [
        f"{format_second(leg.starts_at)} {leg.doing.value} {leg.pool or leg.before}→{leg.version}"
        for leg in expected.legs
    ]


def reasons(expected: ExpectedUpgrades) -> list[str]:
    """The gates that the first step waited at, by when they opened."""
    return [each.reason.value for each in expected.legs[0].opened]


def test_a_cluster_that_may_go_goes_in_seven_minutes_and_takes_an_hour() -> None:
    """The first whole minute that is more than six off."""
    found = of(world({"name": "a"}))
    assert steps(found) == ["2023-05-10T10:07:00Z upgrade 4.12.17→4.12.18"]
    assert found.done_at == parse_instant("2023-05-10T11:07:00Z")
    assert (found.held, found.version, found.legs[0].opened) == (None, "4.12.18", ())


def test_versions_on_the_way_are_steps_of_their_own() -> None:
    """A canary goes to the newest; what waits for soak may go by what soaks first."""
    canary = {"name": "a", "available_upgrades": ["4.12.18", "4.12.19"]}
    old = {
        "name": "b",
        "labels": {"soak-days": "1"},
        "available_upgrades": ["4.12.18", "4.12.19"],
    }
    state = kept(0.99, NOW)
    there = {
        "name": "c",
        "version": "4.12.18",
        "available_upgrades": ["4.12.19"],
        "labels": {"schedule": "0 0 1 * *"},
    }
    asked = world(canary, old, there, state=state)
    found = of(asked, "b")
    assert [leg.version for leg in found.legs] == ["4.12.18", "4.12.19"]
    assert reasons(found) == ["VersionSoaking"]
    assert found.legs[1].before == "4.12.18"


@pytest.mark.parametrize(
    "change, reason, wanted",
    [
        ({"labels": {"soak-days": "two"}}, "LabelsUnreadable", ""),
        ({"state": "hibernating"}, "ClusterNotReady", "4.12.18"),
        ({"labels": {"soak-days": "1"}}, "VersionSoaking", "4.12.18"),
        ({"upgrade_policies": [{"state": "failed", "version": "4.12.18"}]}, "UpgradeFailed", ""),
        ({"upgrade_policies": [{"schedule_type": "automatic"}]}, "UpgradedByOwner", "4.12.18"),
        ({"labels": {"blocked-versions": ".*"}}, "VersionBlocked", "4.12.18"),
        ({"labels": {"schedule": "0 0 1 1 * 0 2020"}}, "LabelsUnreadable", ""),
    ],
)
def test_what_no_clock_opens_has_no_date_and_is_named(
    change: dict[str, Any], reason: str, wanted: str
) -> None:
    """No step is made up; the first gate that is shut is reported."""
    found = of(world({"name": "a", **change}))
    assert found.legs == []
    assert found.held is not None
    assert (found.held.reason.value, found.beyond) == (reason, False)
    assert found.wanted == (wanted or found.wanted)


def test_a_missing_agreement_stops_where_it_is_not_given_and_nowhere_else() -> None:
    """The kind of gate that is approved by default holds nothing; another has no date."""
    gate = {"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ocp"}
    offers = ["4.12.18", "4.13.1"]
    asked = world({"name": "a", "available_upgrades": offers}, gates=[gate])
    assert [leg.version for leg in of(asked).legs] == ["4.13.1"]
    refusing = {
        "name": "a",
        "available_upgrades": offers,
        "labels": {"version-gate-approvals": "x"},
    }
    found = of(world(refusing, gates=[gate]))
    assert [leg.version for leg in found.legs] == ["4.12.18"]
    assert found.held is not None
    assert (found.held.reason.value, found.wanted) == ("AgreementMissing", "4.13.1")


def test_pools_follow_one_by_one_and_each_is_a_step() -> None:
    """A hosted control plane takes half an hour, a pool twenty minutes."""
    found = of(world(hosted("a", {"p": "4.12.17", "q": "4.12.17"})))
    assert steps(found) == [
        "2023-05-10T10:07:00Z upgrade 4.12.17→4.12.18",
        "2023-05-10T10:47:00Z pool p→4.12.18",
        "2023-05-10T11:17:00Z pool q→4.12.18",
    ]


def test_what_is_under_way_ends_after_its_usual_time_or_at_the_next_look() -> None:
    """And what waits for its mutex goes then."""
    policy = {"id": "p", "version": "4.12.18", "state": "started"}
    first = {"name": "a", "labels": {"mutexes": "m"}}
    second = {"name": "b", "labels": {"mutexes": "m"}}
    for began, goes in (("09:40", "10:47"), ("01:00", "10:17")):
        under = {**policy, "next_run": f"2023-05-10T{began}:00Z"}
        found = of(world({**first, "upgrade_policies": [under]}, second), "b")
        assert steps(found) == [f"2023-05-10T{goes}:00Z upgrade 4.12.17→4.12.18"]
        assert reasons(found) == ["MutexUpgrading"]
        assert found.legs[0].estimate


def test_an_owners_own_upgrade_is_foreseen_once_and_not_as_ours() -> None:
    """It goes to the newest of its minor when it says, and keeps its mutexes for the while."""
    policy = {"schedule_type": "automatic", "next_run": "2023-05-10T12:00:00Z", "state": "pending"}
    own = {"name": "a", "upgrade_policies": [policy], "labels": {"mutexes": "m"}}
    own["available_upgrades"] = ["4.12.18", "4.12.19", "4.13.0"]
    found = of(world(own, {"name": "b", "labels": {"mutexes": "m"}}))
    assert steps(found) == ["2023-05-10T12:00:00Z upgrade 4.12.17→4.12.19"]
    assert found.legs[0].by_owner
    assert found.held is not None
    assert found.held.reason.value == "UpgradedByOwner"


def test_a_version_that_an_owners_own_upgrade_reaches_is_not_without_a_date() -> None:
    """Nothing newer is offered, so nothing is left to do."""
    policy = {"schedule_type": "automatic", "next_run": "2023-05-10T12:00:00Z", "state": "pending"}
    own = {"name": "a", "upgrade_policies": [policy], "available_upgrades": ["4.12.18", "4.12.19"]}
    found = of(world(own))
    assert steps(found) == ["2023-05-10T12:00:00Z upgrade 4.12.17→4.12.19"]
    assert (found.wanted, found.held) == ("", None)


def test_behind_the_horizon_there_is_no_date_and_that_is_said() -> None:
    """A window in a year is not worth a date; that time alone opens it is."""
    found = of(world({"name": "a", "labels": {"schedule": "0 0 1 1 *"}}))
    assert found.held is not None
    assert (found.legs, found.held.reason.value, found.beyond) == ([], "OutsideWindow", True)


def test_what_is_where_it_should_be_waits_for_nothing() -> None:
    """Blocked versions and pre-releases are not waited for by a cluster that reached the end."""
    asked = world(
        {"name": "a", "available_upgrades": ["4.12.18", "4.13.0-rc.1", "4.14.0"]},
        labels={"blocked-versions": "^4.14"},
    )
    assert [leg.version for leg in of(asked).legs] == ["4.12.18"]
    assert of(asked).held is None


def test_what_is_offered_behind_a_step_is_what_others_there_are_offered() -> None:
    """With the agreements that labels approve, given when a way leads there, and not before."""
    gate = {"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ocp"}
    never = {"schedule": "0 0 1 1 *"}
    there = {"name": "b", "version": "4.12.18", "labels": never, "available_upgrades": ["4.13.1"]}
    found = of(world({"name": "a"}, there, gates=[gate]))
    assert [leg.version for leg in found.legs] == ["4.12.18", "4.13.1"]
    assert [leg.version for leg in of(world({"name": "a"}, gates=[gate])).legs] == ["4.12.18"]


def test_a_time_in_a_freeze_gives_way_to_the_next_one_behind_it() -> None:
    """At 12:00 the next time is 12:30, behind a freeze that has not begun: it is taken."""
    nights = {"from": "2023-05-10T12:03:00Z", "to": "2023-05-10T12:28:00Z"}
    asked = world({"name": "a", "labels": {"schedule": "5,30 12 * * *"}})
    asked["brakes"] = brake("freezes", **nights)
    found = of(asked)
    assert steps(found) == ["2023-05-10T12:30:00Z upgrade 4.12.17→4.12.18"]
    assert found.legs[0].asked_at == parse_instant("2023-05-10T12:00:00Z")


def test_our_own_places_of_a_budget_are_free_once_we_are_done() -> None:
    """A claim of ours is known by what is under way; one of others stays."""
    under = {"id": "p", "version": "4.12.18", "state": "started", "next_run": NOW}
    asked = world({"name": "a", "upgrade_policies": [under]}, {"name": "b"})
    budget = Budget(name="one", limit=Limit(1))
    for partition, count in (("upgrades/prod/o", 1), ("integrations/x", 0)):
        claim = Claim(name="budget/one", target="a", partition=partition)
        brakes = Brakes(budgets=(budget,), claims=(claim,))
        assert len(of(asked, "b", brakes=brakes).legs) == count


def test_what_should_have_begun_begins_now() -> None:
    """An upgrade policy whose time is past, and that has not started."""
    late = {"id": "p", "version": "4.12.18", "state": "scheduled"}
    late["next_run"] = "2023-05-10T08:00:00Z"
    found = of(world({"name": "a", "upgrade_policies": [late]}))
    assert found.legs[0].starts_at == parse_instant(NOW)
    assert found.done_at == parse_instant("2023-05-10T11:00:00Z")


def test_evidence_stays_as_fresh_as_it_is() -> None:
    """Good five minutes ago is taken as good then, too; too old is too old."""
    asked = world({"name": "a", "labels": {"schedule": "0 3 * * *"}})
    for minutes, count in ((5, 1), (20, 0)):
        seen = Evidence(seen_at=Instant(parse_instant(NOW) - minutes * MINUTE), revision="4.12.18")
        gate = HealthGate(name="h", scope=Scope(), max_age=Duration(10 * MINUTE), evidence=seen)
        assert len(of(asked, brakes=Brakes(health=(gate,))).legs) == count


def test_a_look_that_is_old_is_gone_on_from() -> None:
    """What was read half an hour ago soaks on from there."""
    there = {"name": "b", "version": "4.12.18", "available_upgrades": []}
    asked = world({"name": "a", "labels": {"soak-days": "1"}}, there)
    read_at = Instant(parse_instant(NOW) - 30 * MINUTE)
    assert steps(of(asked, read_at=read_at)) == ["2023-05-11T09:37:00Z upgrade 4.12.17→4.12.18"]


def test_what_is_stopped_is_so_behind_the_horizon_too() -> None:
    """That others have no date yet does not make one that failed wait for time."""
    failed = {"name": "a", "upgrade_policies": [{"state": "failed", "version": "4.12.18"}]}
    late = {"name": "b", "labels": {"schedule": "0 0 1 1 *"}}
    assert of(world(failed, late), "b").beyond
    assert not of(world(failed, late)).beyond


def test_nothing_is_rechecked_where_nothing_can_open() -> None:
    """Weeks of soak with a window every day are a few looks, not one a day."""
    there = {"name": "b", "version": "4.12.18", "available_upgrades": []}
    waits = {"name": "a", "labels": {"soak-days": "30", "schedule": "0 3 * * *"}}
    found = ahead(world(waits, there))
    assert len(found.expected["a-uuid"].legs) == 1
    assert found.looks <= 5


def test_the_order_in_which_clusters_come_changes_nothing() -> None:
    """The same dates, in any order of the list."""
    some = [
        {"name": f"c{i}", "labels": {"mutexes": f"m{i % 3}", "soak-days": str(i % 2)}}
        for i in range(9)
    ]
    other = list(some)
    random.Random(1).shuffle(other)
    one, two = (
        {e.cluster.name: e.legs for e in ahead(world(*each)).expected.values()}
        for each in (some, other)
    )
    assert one == two


def test_carrying_soak_on_is_folding_look_after_look() -> None:
    """For as long as nothing changes: what is gone, or ill, adds nothing."""
    began = parse_instant(NOW)

    def seen(at: Instant) -> list[SoakObservation]:
        sights = {"a": ("4.12.18", True), "b": ("4.12.18", False), "c": ("4.12.19", True)}
        return [
            SoakObservation(
                name, name, True, SoakSnapshot(at=at, version=v, workloads=("w", "x"), healthy=well)
            )
            for name, (v, well) in sights.items()
        ]

    gone = SoakSnapshot(
        at=Instant(began - MINUTE), version="4.12.18", workloads=("w",), healthy=True
    )
    start = fold(SoakLedger(sights={"gone": gone}), seen(began), None)
    looked = start
    for number in range(1, 31):
        looked = fold(looked, seen(Instant(began + number * 10 * MINUTE)), None)
    assert carried(start, Instant(began + 300 * MINUTE)) == looked
    assert carried(start, began) == start
