"""Law: all answers have the same date for a step, or one says of a moment that it is not before it.

`when`, `why`, `get clusters`, `upgrades status` and `report` of one and the same reading: the next
step of a cluster, its version, its moment and its doubt are equal in all. Where an answer looks
less far than `when`, it says "not before", and `when` has nothing earlier.
"""

from typing import Any

import pytest

from tests.property.fleet_worlds import fleet_world
from tests.sim import sized
from tidegate.explain.pace import DatePace
from tidegate.kinds.upgrades.app.clusters import ClusterRow, list_clusters
from tidegate.kinds.upgrades.app.explanation import explain_cluster, explain_organisations
from tidegate.kinds.upgrades.app.forecast import ClusterForecastList, ForecastRow, forecast_fleet
from tidegate.kinds.upgrades.app.owners.status import upgrade_status
from tidegate.kinds.upgrades.app.read.document import read_world_document
from tidegate.kinds.upgrades.app.read.starts import NextStart
from tidegate.kinds.upgrades.app.read.world import FleetReading
from tidegate.kinds.upgrades.app.report import report_fleet
from tidegate.kinds.upgrades.core.explain.report import CHOSEN
from tidegate.kinds.upgrades.core.foresight import forecast as foresight
from tidegate.kinds.upgrades.core.step import StepKind

UPGRADES = (StepKind.UPGRADE.value, StepKind.POOL.value)
# Fleets that reach every branch that the first 40 reach; the rest is for `make sim`.
SEEDS = sorted({37, 20, 7, 24, 25, 8, 10, 27, 39, 28, 11, 0, *range(sized(0, 0, 500))})


def reading(asked: dict[str, Any]) -> FleetReading:
    """A world as lines have it."""
    return FleetReading((read_world_document(asked, "a test"),))


def dates(fleet: FleetReading) -> dict[str, ForecastRow]:
    """What `when` says, by cluster."""
    found = forecast_fleet(fleet, "", DatePace())
    assert isinstance(found, ClusterForecastList)
    return {each.uuid: each for each in found.items}


def agree(start: NextStart | None, row: ForecastRow) -> str:
    """An answer and `when` about one cluster; which of the three it is."""
    assert start is not None
    first = next((each for each in row.steps if each.do in UPGRADES), None)
    if start.not_before is not None:
        assert (start.version, start.starts_at, start.estimate) == (None, None, False)
        assert first is None or (first.starts_at or "") >= start.not_before
        return "bound"
    if first is None:
        assert (start.version, start.pool, start.starts_at) == (None, None, None)
        return "none"
    said = (start.version, start.pool, start.starts_at, start.estimate)
    assert said == (first.after, first.pool, first.starts_at, first.estimate)
    return "date"


def check(asked: dict[str, Any]) -> list[str]:
    """Every answer about a world, held against `when`."""
    fleet = reading(asked)
    when = dates(fleet)
    met = []
    listed = list_clusters(fleet).items
    for row in listed:
        met.append(agree(row.expected, when[row.uuid]))
        _bounds(row, when[row.uuid])
    for org in explain_organisations(fleet).items:
        met += [agree(each.expected, when[each.uuid]) for each in org.targets]
    for status in upgrade_status(fleet).items:
        met += [agree(each.expected, when[each.uuid]) for each in status.clusters]
    for each in listed[:2]:
        met.append(agree(explain_cluster(fleet, each.uuid).expected, when[each.uuid]))
    for reported in report_fleet(fleet).organizations:
        for one in reported.clusters:
            met.append(agree(one.expected, when[one.uuid]))
            marked = [each for each in one.soaking if each.mark == CHOSEN]
            assert len(marked) <= 1
            steps = [each for each in when[one.uuid].steps if each.do in UPGRADES][:1]
            for mark in marked:
                said = (mark.version, mark.starts_at, mark.estimate)
                assert said == (steps[0].after, steps[0].starts_at, steps[0].estimate)
    return met


def _bounds(row: ClusterRow, when: ForecastRow) -> None:
    """A schedule, and what a clock opens for sure, are not before what `when` says of a step."""
    steps = [each for each in when.steps if each.do in UPGRADES]
    if not steps or steps[0].asked_at is None or steps[0].starts_at is None:
        return
    if row.window_at is not None and row.next == steps[0].after:
        assert row.window_at <= steps[0].starts_at


def test_all_answers_have_one_date_for_a_cluster() -> None:
    """Shared mutexes, sectors, limits, soak, brakes, channels: drawn from a seed."""
    met = [one for seed in SEEDS for one in check(fleet_world(seed))]
    assert {"date", "none"} <= set(met)


def test_an_answer_that_looks_less_far_says_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """With next to no looks allowed, bounds take the place of dates, and none is contradicted."""
    monkeypatch.setattr(foresight, "DECISIONS_LEAST", 1)
    monkeypatch.setattr(foresight, "DECISIONS_EACH", 0)
    met = [one for seed in SEEDS for one in check(fleet_world(seed))]
    assert {"date", "bound"} <= set(met)


def test_clusters_that_share_a_mutex_have_one_date_each() -> None:
    """The case that was seen: four answers for the second of two."""
    labels = {"soak-days": "0", "workloads": "w", "schedule": "0 12 * * *", "mutexes": "m"}
    base = {"org": "o", "version": "4.16.3", "available_upgrades": ["4.16.4"], "labels": labels}
    asked = {
        "now": "2026-03-02T08:00:00Z",
        "orgs": [{"id": "o", "name": "O"}],
        "clusters": [{**base, "name": name} for name in ("a", "b")],
    }
    check(asked)
    starts = [each.expected for each in list_clusters(reading(asked)).items]
    told = [each.starts_at for each in starts if each is not None]
    assert told == ["2026-03-02T12:00:00Z", "2026-03-03T12:00:00Z"]
