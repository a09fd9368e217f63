"""`report`: every cluster with its labels and what soaks; or what has soaked so far."""

from collections.abc import Mapping

from tidegate.kinds.upgrades.app.read.starts import ClusterStarts, NextStart, next_start
from tidegate.kinds.upgrades.app.read.world import (
    FleetDocument,
    FleetReading,
    WorldReading,
    legacy_notes,
)
from tidegate.kinds.upgrades.core.explain.report import (
    CHOSEN,
    ReportLine,
    ReportSection,
    SoakingVersion,
    channel_group,
    history,
    sections,
)
from tidegate.kinds.upgrades.core.explain.words import exclusion
from tidegate.kinds.upgrades.core.foresight.expected import ExpectedStart
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember
from tidegate.model.document import Part, instant_text


class OfferedVersion(Part, frozen=True, kw_only=True):
    """A version a cluster is offered, and how long it has soaked."""

    version: str
    soak_days: float
    # ⏰ its upgrade is to start, 💫 it is under way, 🎉 it is expected next, at this moment.
    mark: str | None
    starts_at: str | None = None
    estimate: bool = False
    # When it will have soaked enough here, if the clusters that run it keep it; null: it has, or
    # none runs it.
    soaked_at: str | None = None


class FaultyLabel(Part, frozen=True, kw_only=True):
    """A label that cannot be used."""

    # Null: it is about more than one label.
    label: str | None
    # Null: it is missing.
    value: str | None
    message: str


class ReportedCluster(Part, frozen=True, kw_only=True):
    """One cluster of the report."""

    cluster: str
    id: str
    uuid: str
    version: str
    channel: str
    schedule: str | None
    # Null: UTC.
    timezone: str | None
    sector: str | None
    mutexes: tuple[str, ...]
    soak_days: int | None
    workloads: tuple[str, ...] | None
    # Whether it is excluded, because its labels cannot be read or it cannot be upgraded.
    set_aside: bool
    soaking: tuple[OfferedVersion, ...]
    # Why it is excluded; null: it is not. And every label at fault.
    excluded: str | None = None
    problems: tuple[FaultyLabel, ...] = ()
    # When its next step starts.
    expected: NextStart | None = None


class ReportedOrganisation(Part, frozen=True, kw_only=True):
    """One organisation of the report."""

    org: str
    name: str
    environment: str
    # Organisations whose soak counts here, by name.
    inherits: tuple[str, ...]
    # Organisations that are inherited from and do not publish to this one.
    unverified: tuple[str, ...]
    clusters: tuple[ReportedCluster, ...]


class FleetReport(FleetDocument, frozen=True, kw_only=True):
    """Every cluster with its labels, and how far each version it is offered has soaked."""

    organizations: tuple[ReportedOrganisation, ...]


class VersionSoak(Part, frozen=True, kw_only=True):
    """How long one version has run under one workload."""

    ocm: str
    version: str
    workload: str
    soak_days: float
    clusters: tuple[str, ...]


class VersionHistory(FleetDocument, frozen=True, kw_only=True):
    """How long each version has run under each workload, in days of clusters."""

    items: tuple[VersionSoak, ...]


def report_fleet(fleet: FleetReading) -> FleetReport:
    """The report of every organisation."""
    starts = ClusterStarts()
    return FleetReport(
        errors=fleet.errors(),
        notes=(*legacy_notes(fleet), *fleet.notes()),
        organizations=tuple(
            _organisation(each, starts.in_reading(reading))
            for reading in fleet.readings
            for each in _sections(reading, starts)
        ),
    )


def report_history(fleet: FleetReading) -> VersionHistory:
    """What has soaked in every organisation: by version, then workload."""
    return VersionHistory(
        errors=fleet.errors(),
        notes=(*legacy_notes(fleet), *fleet.notes()),
        items=tuple(
            VersionSoak(
                ocm=each.ocm,
                version=each.version,
                workload=each.workload,
                soak_days=float(each.days),
                clusters=each.clusters,
            )
            for reading in fleet.readings
            for each in history(reading.plan())
        ),
    )


def _sections(reading: WorldReading, starts: ClusterStarts) -> list[ReportSection]:
    return sections(reading.world, reading.plan(), reading.now, starts.in_reading(reading))


def _organisation(
    section: ReportSection, starts: Mapping[str, ExpectedStart]
) -> ReportedOrganisation:
    org = section.fleet.org
    return ReportedOrganisation(
        org=org.id,
        name=org.name,
        environment=org.env,
        inherits=section.sources,
        unverified=section.fleet.unverified,
        clusters=tuple(_cluster(each, starts) for each in section.lines),
    )


def label_problems(member: FleetMember) -> tuple[FaultyLabel, ...]:
    """Every label of a cluster that cannot be used."""
    return tuple(
        FaultyLabel(
            label=each.label or None,
            value=member.cluster.labels.get(each.label),
            message=each.words,
        )
        for each in member.label_errors
    )


def _cluster(line: ReportLine, starts: Mapping[str, ExpectedStart]) -> ReportedCluster:
    cluster, policy = line.member.cluster, line.member.policy
    expected = next_start(starts[cluster.uuid])
    return ReportedCluster(
        cluster=cluster.name,
        id=cluster.ident,
        uuid=cluster.uuid,
        version=cluster.version,
        channel=channel_group(cluster.updates_from),
        schedule=policy.schedule,
        timezone=policy.zone or None,
        sector=policy.sector or None,
        mutexes=policy.mutexes,
        soak_days=policy.soak_days,
        workloads=policy.workloads,
        set_aside=line.member.excluded is not None,
        soaking=tuple(_offered(one, expected) for one in line.soaking),
        excluded=exclusion(line.member) or None,
        problems=label_problems(line.member),
        expected=expected,
    )


def _offered(one: SoakingVersion, expected: NextStart) -> OfferedVersion:
    chosen = one.mark == CHOSEN
    return OfferedVersion(
        version=one.version,
        soak_days=float(one.days),
        mark=one.mark or None,
        starts_at=expected.starts_at if chosen else None,
        estimate=chosen and expected.estimate,
        soaked_at=instant_text(one.soaked_at),
    )
