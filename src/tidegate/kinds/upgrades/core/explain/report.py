"""The fleet report: every cluster with its labels, and how far each version it may have has soaked.

    4.12.18 (3.04 🎉 ~2026-03-10T12:00Z), 4.12.19 (0)

The number is in days of clusters, of the workload that is furthest behind. ⏰ its upgrade is to
start, 💫 it is under way (❗️ for more than six hours); 🎉 this version is expected next, as `when`
foresees it. Blocked versions are left out.
"""

from collections.abc import Iterator, Mapping

import msgspec

from tidegate.kinds.upgrades.core.declared.patterns import first_found
from tidegate.kinds.upgrades.core.explain.summary import ClusterSummary, cluster_summaries
from tidegate.kinds.upgrades.core.explain.words import by_fleet
from tidegate.kinds.upgrades.core.foresight.expected import ExpectedStart
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember, OrganisationFleet
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.rules.soak import Days, days_text, inherited
from tidegate.kinds.upgrades.core.versions import VersionError, key_of, sort_versions
from tidegate.kinds.upgrades.core.world import OcmUpgrade, UpgradeWorld
from tidegate.model.time import SECOND, Instant, parse_instant

WAITS, GOES, CHOSEN = "⏰", "💫", "🎉"
_LONG_AFTER = 6 * 60 * 60 * SECOND
_MANUAL = "manual"


class SoakingVersion(msgspec.Struct, frozen=True):
    """One version a cluster is offered, and how far it is."""

    version: str
    days: str
    mark: str = ""
    # When it will have soaked enough for the cluster, as its gate says; None: that is not known.
    soaked_at: Instant | None = None


class ReportLine(msgspec.Struct, frozen=True):
    """One cluster of the report."""

    member: FleetMember
    soaking: tuple[SoakingVersion, ...]


class ReportSection(msgspec.Struct, frozen=True):
    """One organisation of the report."""

    fleet: OrganisationFleet
    lines: tuple[ReportLine, ...]
    # The names of organisations whose soak counts here.
    sources: tuple[str, ...]


class SoakLine(msgspec.Struct, frozen=True):
    """What one workload has soaked on one version, and who was seen there."""

    ocm: str
    version: str
    workload: str
    days: str
    clusters: tuple[str, ...]


def sections(
    world: UpgradeWorld,
    plan: UpgradePlan,
    now: Instant,
    starts: Mapping[str, ExpectedStart],
) -> list[ReportSection]:
    """The report, organisation by organisation, clusters by name."""
    called = {f"{each.env}/{each.id}": each.name for each in world.orgs}
    found: list[ReportSection] = []
    for fleet, mine in by_fleet(plan, cluster_summaries(plan)):
        sources = [world.ledgers[key] for key in fleet.sources if key in world.ledgers]
        soak, _ = inherited(plan.ledgers[fleet.key], sources)
        ordered = sorted(mine, key=lambda each: (each.member.called, each.position))
        lines = tuple(
            ReportLine(each.member, _soaking(each, soak, starts, now)) for each in ordered
        )
        names = tuple(called.get(key, key.partition("/")[2]) for key in fleet.sources)
        found.append(ReportSection(fleet, lines, names))
    return found


def history(plan: UpgradePlan) -> Iterator[SoakLine]:
    """What has soaked, an organisation's own: by version, then workload."""
    for fleet in plan.fleets:
        ledger = plan.ledgers[fleet.key]
        for version, workload in sorted(ledger.days, key=_version_first):
            reported = ledger.reporting.get((version, workload), ())
            days = days_text(ledger.days[version, workload])
            yield SoakLine(fleet.key, version, workload, days, tuple(sorted(reported)))


def _version_first(key: tuple[str, str]) -> tuple[object, ...]:
    try:
        return (0, key_of(key[0]), key[1])
    except VersionError:
        return (1, key[0], key[1])


def channel_group(channel: str) -> str:
    """`stable` of `stable-4.12`."""
    return channel.rpartition("-")[0] or channel


def _soaking(
    summary: ClusterSummary, soak: Days, starts: Mapping[str, ExpectedStart], now: Instant
) -> tuple[SoakingVersion, ...]:
    member = summary.member
    if member.excluded is not None:
        return ()
    marks = _marks(summary, starts.get(member.cluster.uuid, ExpectedStart()), now)
    dates = _dates(summary)
    patterns = (*member.policy.blocked, *summary.fleet.org_policy.blocked)
    return tuple(
        SoakingVersion(
            version, _days(member, soak, version), marks.get(version, ""), dates.get(version)
        )
        for version in _offered(member)
        if first_found(patterns, version) is None
    )


def _offered(member: FleetMember) -> list[str]:
    """What it may go to, lowest first; while a node pool is behind, that of its control plane."""
    offered = set(member.cluster.available_upgrades)
    if member.progress.behind:
        offered.add(member.cluster.version)
    return sort_versions(each for each in offered if _is_version(each))


def _is_version(text: str) -> bool:
    try:
        key_of(text)
    except VersionError:
        return False
    return True


def _days(member: FleetMember, soak: Days, version: str) -> str:
    """Days of the workload that is furthest behind, never rounded up: 3.04, 2.5, 0."""
    least = min(soak.get((version, each), 0) for each in member.policy.workloads or ("",))
    return days_text(least).rstrip("0").rstrip(".")


def _marks(summary: ClusterSummary, start: ExpectedStart, now: Instant) -> Mapping[str, str]:
    """What is under way, or the version that is expected next."""
    manual = [one for one, _ in summary.member.progress.under_way if one.schedule_type == _MANUAL]
    if manual:
        return {one.version: _mark(one, now) for one in manual}
    return {} if start.leg is None else {start.leg.version: CHOSEN}


def _dates(summary: ClusterSummary) -> Mapping[str, Instant]:
    """When each version will have soaked, by the verdicts on it."""
    return {
        option.change.revision or "": each.until
        for option in summary.options
        for each in option.verdicts
        if each.reason is VersionReason.VersionSoaking and each.until is not None
    }


def _mark(upgrade: OcmUpgrade, now: Instant) -> str:
    try:
        started = None if upgrade.next_run is None else parse_instant(upgrade.next_run)
    except ValueError:
        started = None
    if started is None:
        return GOES
    if started > now:
        return WAITS
    if now - started <= _LONG_AFTER:
        return GOES
    tenths = (now - started) * 10 // (60 * 60 * SECOND)
    return f"{GOES} - started {tenths // 10}.{tenths % 10}h ago❗️"
