"""`upgrades status`: an organisation on one screen: blocks, inheritance, sectors, clusters."""

from collections import Counter
from collections.abc import Mapping

from tidegate.kinds.upgrades.app.clusters import ClusterRow, cluster_row
from tidegate.kinds.upgrades.app.owners.sectors import declared_by
from tidegate.kinds.upgrades.app.owners.version_blocks import VersionBlock, version_block
from tidegate.kinds.upgrades.app.read.starts import ClusterStarts
from tidegate.kinds.upgrades.app.read.view import UpgradeView, rules_notes, views_of
from tidegate.kinds.upgrades.app.read.world import FleetDocument, FleetReading
from tidegate.kinds.upgrades.core.declared.patterns import split_patterns
from tidegate.kinds.upgrades.core.explain.summary import ClusterSummary
from tidegate.kinds.upgrades.core.explain.words import phase_word
from tidegate.kinds.upgrades.core.labels.label_edit import BLOCKED
from tidegate.kinds.upgrades.core.labels.labels import SECTOR_MAX_PARALLEL
from tidegate.kinds.upgrades.core.rules.fleet import OrganisationFleet
from tidegate.kinds.upgrades.core.sectors import Sector, behind
from tidegate.kinds.upgrades.core.versions import sort_versions
from tidegate.model.document import Part, fields_of, instant_text


class InheritedOrganisation(Part, frozen=True, kw_only=True):
    """An organisation whose soak this one inherits."""

    org: str
    name: str
    # Whether it publishes its soak to this one; null: its labels cannot be seen.
    publishes: bool | None
    # Whether its soak counts here: only where all that this one inherits from publish to it.
    counts: bool


class SectorStatus(Part, frozen=True, kw_only=True):
    """A sector: what it waits for, and which versions its clusters are on."""

    sector: str
    depends_on: tuple[str, ...]
    # As it is written; null: no limit.
    max_parallel: str | None
    clusters: int
    # How many of them are being upgraded, half upgraded, or stuck in it.
    under_way: int
    # How many of its clusters are on each version, the lowest first.
    versions: dict[str, int]
    # Sectors that depend on it, if nothing else declares it.
    declared_by: tuple[str, ...]
    # Sectors that wait for each other, and so keep it from every version.
    circle: tuple[str, ...]


class StatusCluster(ClusterRow, frozen=True, kw_only=True):
    """One cluster of the screen."""

    # When its next version will have soaked, if the clusters that run it keep it; null: it has,
    # or none runs it.
    soaked_at: str | None


class OrganisationStatus(Part, frozen=True, kw_only=True):
    """One organisation."""

    org: str
    name: str
    environment: str
    # By whose rules it is served: strict, compat.
    rules: str
    # How many clusters are in each phase.
    phases: dict[str, int]
    # What is wrong with its own labels.
    problems: tuple[str, ...]
    blocks: tuple[VersionBlock, ...]
    inherits: tuple[InheritedOrganisation, ...]
    publishes: tuple[str, ...]
    sectors: tuple[SectorStatus, ...]
    # By sector, those that go first first.
    clusters: tuple[StatusCluster, ...]


class UpgradeStatus(FleetDocument, frozen=True, kw_only=True):
    """Organisations whose clusters upgrade by their labels."""

    # The moment in question; null: there is no organisation.
    now: str | None
    items: tuple[OrganisationStatus, ...]


def upgrade_status(fleet: FleetReading, mode: str | None = None) -> UpgradeStatus:
    """Every organisation that was read."""
    some, starts = views_of(fleet, mode), ClusterStarts()
    return UpgradeStatus(
        errors=fleet.errors(),
        notes=(*fleet.notes(), *rules_notes(fleet, mode)),
        now=next((instant_text(view.reading.now) for view in some), None),
        items=tuple(
            _organisation(view, of, mine, starts, mode)
            for view in some
            for of, mine in view.by_fleet()
        ),
    )


def _organisation(
    view: UpgradeView,
    fleet: OrganisationFleet,
    mine: list[ClusterSummary],
    starts: ClusterStarts,
    mode: str | None,
) -> OrganisationStatus:
    org, sectors = fleet.org, _in_order(fleet.org_policy.sectors)
    rank = {name: at for at, name in enumerate(sectors)}
    ordered = sorted(
        mine, key=lambda one: (rank.get(one.member.sector, len(rank)), one.member.called)
    )
    clusters = [each.cluster for each in fleet.members]
    patterns = split_patterns(org.labels.get(BLOCKED))
    return OrganisationStatus(
        org=org.id,
        name=org.name,
        environment=org.env,
        rules=mode or view.reading.rules.value,
        phases=dict(Counter(map(phase_word, ordered))),
        problems=tuple(each.text() for each in fleet.label_errors),
        blocks=tuple(version_block(each, clusters) for each in patterns),
        inherits=_inherited(view, fleet),
        publishes=fleet.org_policy.publish,
        sectors=tuple(_sector(fleet, each, mine) for each in sectors.values()),
        clusters=tuple(_cluster(view, each, starts) for each in ordered),
    )


def _inherited(view: UpgradeView, fleet: OrganisationFleet) -> tuple[InheritedOrganisation, ...]:
    names = {each.id: each.name for each in view.reading.world.orgs}
    return tuple(
        InheritedOrganisation(
            org=each,
            name=names.get(each, each),
            publishes=None if each in view.reading.assumed else each not in fleet.unverified,
            counts=not fleet.unverified,
        )
        for each in fleet.org_policy.inherit
    )


def _in_order(sectors: Mapping[str, Sector]) -> dict[str, Sector]:
    """Those that wait for fewer others first."""
    ranks = {name: (len(behind(name, sectors)), name) for name in sectors}
    return {name: sectors[name] for name in sorted(sectors, key=ranks.__getitem__)}


def _sector(fleet: OrganisationFleet, of: Sector, every: list[ClusterSummary]) -> SectorStatus:
    labels = fleet.org.labels
    mine = [each for each in every if each.member.sector == of.name]
    counts = Counter(each.oldest for each in mine)
    known = sort_versions(each.oldest for each in mine if each.member.key is not None)
    return SectorStatus(
        sector=of.name,
        depends_on=of.dependencies,
        max_parallel=labels.get(SECTOR_MAX_PARALLEL + of.name, "").strip() or None,
        clusters=len(mine),
        under_way=sum(each.member.progress.occupies for each in mine),
        versions={version: counts[version] for version in dict.fromkeys((*known, *counts))},
        declared_by=declared_by(labels, of.name),
        circle=fleet.org_policy.circle_of(of.name),
    )


def _cluster(view: UpgradeView, summary: ClusterSummary, starts: ClusterStarts) -> StatusCluster:
    row = cluster_row(view, summary, starts)
    return StatusCluster(**fields_of(row), soaked_at=instant_text(summary.soaked_at))
