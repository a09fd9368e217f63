"""`when` of clusters that upgrade by their labels: the rules, run ahead."""

from collections.abc import Iterable

from msgspec import field

from tidegate.kinds.upgrades.app.read.view import (
    ORGANISATION,
    find_cluster,
    find_organisation,
    views_of,
)
from tidegate.kinds.upgrades.app.read.world import (
    FleetDocument,
    FleetReading,
    WorldReading,
    legacy_notes,
)
from tidegate.kinds.upgrades.app.verdict import (
    GateVerdict,
    gate_verdict,
    instant_text,
)
from tidegate.kinds.upgrades.core.explain.dates import brief, in_date_order
from tidegate.kinds.upgrades.core.foresight.expected import ExpectedUpgrades, UpgradeLeg
from tidegate.kinds.upgrades.core.foresight.forecast import FleetForecast, forecast
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.kinds.upgrades.core.rules.fleet import OrganisationFleet
from tidegate.model.document import Part, fields_of


class ForecastStep(Part, frozen=True, kw_only=True):
    """One step of a cluster, with its dates."""

    do: str
    pool: str | None
    before: str = field(name="from")
    after: str = field(name="to")
    # Null: it was asked for before the moment in question.
    asked_at: str | None
    starts_at: str | None
    done_at: str | None
    # Whether its date depends on how other clusters do, and not on a calendar alone.
    estimate: bool
    by_owner: bool
    # The gates it waits at, in the order they open; and the same in a few words each.
    depends_on: tuple[GateVerdict, ...]
    waits_for: tuple[str, ...]


class NoDate(Part, frozen=True, kw_only=True):
    """What keeps a cluster from a version, so that there is no date for it."""

    version: str | None
    # Whether time alone opens it, later than the horizon.
    beyond: bool
    why: GateVerdict


class ForecastRow(Part, frozen=True, kw_only=True):
    """What is expected of one cluster."""

    cluster: str
    uuid: str
    org: str
    org_name: str
    environment: str
    version: str
    reaches: str
    done_at: str | None
    steps: tuple[ForecastStep, ...]
    # Null: nothing is left to do.
    no_date: NoDate | None


class ClusterForecast(FleetDocument, frozen=True, kw_only=True):
    """What is expected of one cluster."""

    cluster: str
    uuid: str
    org: str
    org_name: str
    environment: str
    version: str
    reaches: str
    done_at: str | None
    steps: tuple[ForecastStep, ...]
    no_date: NoDate | None


class ClusterForecastList(FleetDocument, frozen=True, kw_only=True):
    """What is expected of clusters: by organisation, those that begin first first."""

    items: tuple[ForecastRow, ...]


def forecast_cluster(fleet: FleetReading, name: str, pace: UpgradePace) -> ClusterForecast:
    """One cluster by name, external id or id; UserError if there is not exactly one."""
    view, summary = find_cluster(views_of(fleet), name)
    found = ahead(view.reading, pace).expected[summary.member.cluster.uuid]
    return ClusterForecast(
        errors=fleet.errors(),
        notes=(*legacy_notes(fleet), *fleet.notes()),
        **fields_of(_row(summary.fleet, found)),
    )


def forecast_clusters(fleet: FleetReading, name: str, pace: UpgradePace) -> ClusterForecastList:
    """Every cluster of one organisation (upgrades/ENV/ORG), or of all of them."""
    readings, key = fleet.readings, None
    if name:
        view, found, _ = find_organisation(views_of(fleet), name)
        readings, key = (view.reading,), found.key
    rows = tuple(row for reading in readings for row in _rows(ahead(reading, pace), key))
    notes = (*legacy_notes(fleet), *fleet.notes())
    return ClusterForecastList(errors=fleet.errors(), notes=notes, items=rows)


def is_one_cluster(name: str) -> bool:
    """Whether a name is that of a cluster, and not of an organisation or of nothing."""
    return bool(name) and not name.startswith(ORGANISATION)


def ahead(reading: WorldReading, pace: UpgradePace) -> FleetForecast:
    """The rules, run ahead on a reading."""
    return forecast(reading.world, reading.now, pace)


def _rows(outlook: FleetForecast, key: str | None) -> Iterable[ForecastRow]:
    for fleet in outlook.plan.fleets:
        if key in (None, fleet.key):
            mine = (outlook.expected[each.cluster.uuid] for each in fleet.members)
            yield from (_row(fleet, each) for each in in_date_order(mine))


def _row(fleet: OrganisationFleet, expected: ExpectedUpgrades) -> ForecastRow:
    cluster, held = expected.cluster, expected.held
    return ForecastRow(
        cluster=cluster.name,
        uuid=cluster.uuid,
        org=fleet.org.id,
        org_name=fleet.org.name,
        environment=fleet.org.env,
        version=cluster.version,
        reaches=expected.version,
        done_at=instant_text(expected.done_at),
        steps=tuple(_step(each) for each in expected.legs),
        no_date=None
        if held is None
        else NoDate(
            version=expected.wanted or None, beyond=expected.beyond, why=gate_verdict(held)
        ),
    )


def _step(leg: UpgradeLeg) -> ForecastStep:
    return ForecastStep(
        do=leg.doing.value,
        pool=leg.pool or None,
        before=leg.before,
        after=leg.version,
        asked_at=instant_text(leg.asked_at),
        starts_at=instant_text(leg.starts_at),
        done_at=instant_text(leg.ends_at),
        estimate=leg.estimate,
        by_owner=leg.by_owner,
        depends_on=tuple(gate_verdict(each) for each in leg.opened),
        waits_for=tuple(brief(each) for each in leg.opened),
    )
