"""`when` of clusters that upgrade by their labels: the rules, run ahead."""

from collections.abc import Iterable

import msgspec
from msgspec import field

from tidegate.explain.pace import DatePace
from tidegate.explain.verdict_part import VerdictPart, verdict_part
from tidegate.kinds.upgrades.app.read.view import (
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
from tidegate.kinds.upgrades.core.explain.dates import brief, in_date_order
from tidegate.kinds.upgrades.core.foresight.expected import ExpectedUpgrades, UpgradeLeg
from tidegate.kinds.upgrades.core.foresight.forecast import FleetForecast, forecast
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.kinds.upgrades.core.rules.fleet import OrganisationFleet
from tidegate.kinds.upgrades.core.service import ORGANISATION
from tidegate.model.document import Part, fields_of, instant_text
from tidegate.model.time import SECOND, Duration, format_duration, format_instant

_DAY = 24 * 60 * 60 * SECOND


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
    # Whether its date depends on more than a calendar: other clusters, how long upgrades take, …
    estimate: bool
    by_owner: bool
    # The gates it waits at, in the order they open; and the same in a few words each.
    depends_on: tuple[VerdictPart, ...]
    waits_for: tuple[str, ...]
    # What else its date, or its version, depends on, in a few words each.
    doubts: tuple[str, ...] = ()


class UnknownStep(Part, frozen=True, kw_only=True):
    """What a cluster does next is not known: no other shows what its channel offers it."""

    channel: str
    # Nothing but the steps that are listed happens before this.
    not_before: str


class NoDate(Part, frozen=True, kw_only=True):
    """What keeps a cluster from a version, so that there is no date for it."""

    version: str | None
    # Whether time alone opens it, later than the horizon.
    beyond: bool
    why: VerdictPart


class ForecastPace(Part, frozen=True, kw_only=True):
    """How long upgrades are assumed to take."""

    cluster: str
    control_plane: str
    pool: str
    days: int
    # How that is known: assumed, or as given.
    known_from: str


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
    # Null: what it is offered is known.
    unknown: UnknownStep | None = None


class ClusterForecast(FleetDocument, frozen=True, kw_only=True):
    """What is expected of one cluster."""

    pace: ForecastPace
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
    unknown: UnknownStep | None = None


class ClusterForecastList(FleetDocument, frozen=True, kw_only=True):
    """What is expected of clusters: by organisation, those that begin first first."""

    pace: ForecastPace
    items: tuple[ForecastRow, ...]


def forecast_fleet(
    fleet: FleetReading, name: str, pace: DatePace
) -> ClusterForecast | ClusterForecastList:
    """One cluster (by name, external id or id), an organisation (upgrades/ENV/ORG), or all.

    UserError if there is not exactly one of the name.
    """
    if name and not name.startswith(ORGANISATION):
        return _one_cluster(fleet, name, pace)
    assumed, readings, key = upgrade_pace(pace), fleet.readings, None
    if name:
        view, found, _ = find_organisation(views_of(fleet), name)
        readings, key = (view.reading,), found.key
    rows = tuple(row for reading in readings for row in _rows(ahead(reading, assumed), key))
    notes = (*legacy_notes(fleet), *fleet.notes())
    return ClusterForecastList(
        errors=fleet.errors(), notes=notes, pace=_pace_part(pace), items=rows
    )


def _one_cluster(fleet: FleetReading, name: str, pace: DatePace) -> ClusterForecast:
    view, summary = find_cluster(views_of(fleet), name)
    found = ahead(view.reading, upgrade_pace(pace)).expected[summary.member.cluster.uuid]
    return ClusterForecast(
        errors=fleet.errors(),
        notes=(*legacy_notes(fleet), *fleet.notes()),
        pace=_pace_part(pace),
        **fields_of(_row(summary.fleet, found)),
    )


def upgrade_pace(pace: DatePace) -> UpgradePace:
    """How long upgrades are assumed to take, with what the person who asks knows better."""
    usual = UpgradePace()
    return msgspec.structs.replace(
        usual,
        classic=pace.apply_time or usual.classic,
        control_plane=pace.apply_time or usual.control_plane,
        pool=pace.pool_time or usual.pool,
        horizon=Duration(pace.days * _DAY),
    )


def _pace_part(pace: DatePace) -> ForecastPace:
    assumed = upgrade_pace(pace)
    return ForecastPace(
        cluster=format_duration(assumed.classic),
        control_plane=format_duration(assumed.control_plane),
        pool=format_duration(assumed.pool),
        days=pace.days,
        known_from="as given" if pace.apply_time is not None else "assumed",
    )


def ahead(reading: WorldReading, pace: UpgradePace) -> FleetForecast:
    """The rules, run ahead on a reading."""
    return forecast(reading.world, reading.now, pace)


def _rows(outlook: FleetForecast, key: str | None) -> Iterable[ForecastRow]:
    for fleet in outlook.plan.fleets:
        if key in (None, fleet.key):
            mine = (outlook.expected[each.cluster.uuid] for each in fleet.members)
            yield from (_row(fleet, each) for each in in_date_order(mine))


def _row(fleet: OrganisationFleet, expected: ExpectedUpgrades) -> ForecastRow:
    cluster, held, unknown = expected.cluster, expected.held, expected.unknown
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
            version=expected.wanted or None, beyond=expected.beyond, why=verdict_part(held)
        ),
        unknown=None
        if unknown is None
        else UnknownStep(channel=unknown.channel, not_before=format_instant(unknown.since)),
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
        depends_on=tuple(verdict_part(each) for each in leg.opened),
        waits_for=tuple(brief(each) for each in leg.opened),
        doubts=leg.doubts,
    )
