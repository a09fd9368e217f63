"""`get clusters`: version, next version, soak left, and why, of every cluster that is managed."""

from tidegate.explain.verdict_part import VerdictPart, verdict_part
from tidegate.kinds.upgrades.app.read.starts import ClusterStarts, NextStart
from tidegate.kinds.upgrades.app.read.view import (
    UpgradeView,
    clusters_called,
    find_cluster,
    rules_notes,
    views_of,
)
from tidegate.kinds.upgrades.app.read.world import FleetDocument, FleetReading
from tidegate.kinds.upgrades.core.explain.summary import ClusterSummary
from tidegate.kinds.upgrades.core.explain.words import phase_word, why_cell
from tidegate.kinds.upgrades.core.rules.fleet import brake_labels
from tidegate.model.document import Part, fields_of, instant_text
from tidegate.model.selector import EVERYTHING, Selector


class PoolBehind(Part, frozen=True, kw_only=True):
    """A node pool on an older version than its control plane."""

    pool: str
    version: str


class ClusterPart(Part, frozen=True, kw_only=True):
    """One cluster: its version, what comes next, and what it waits for."""

    cluster: str
    uuid: str
    org: str
    environment: str
    version: str
    # The older of the control plane and its node pools.
    oldest_version: str
    behind: tuple[PoolBehind, ...]
    # The moment since which it has had its version; null: not known.
    since: str | None
    next: str | None
    soak_left_days: float | None
    # The next moment at which its schedule lets an upgrade start: no date, but a bound of it.
    window_at: str | None
    # When its next step starts; null: it is decided on by other rules than ours.
    expected: NextStart | None
    # In a word or two: waiting, under way, up to date, …
    phase: str
    # The gate that says most on one line, or what happens now.
    summary: str
    problems: tuple[str, ...]


class ClusterRow(ClusterPart, frozen=True, kw_only=True):
    """One cluster of a list, with what its labels say."""

    id: str
    org_name: str
    starts: bool
    # The gate that says most; null: none is shut.
    why: VerdictPart | None
    state: str
    channel: str
    schedule: str | None
    timezone: str | None
    soak_days: int | None
    sector: str | None
    mutexes: tuple[str, ...]
    workloads: tuple[str, ...] | None


class ClusterList(FleetDocument, frozen=True, kw_only=True):
    """Clusters that upgrade by their labels."""

    # The moment in question; null: there is no cluster.
    now: str | None
    items: tuple[ClusterRow, ...]


def list_clusters(
    fleet: FleetReading,
    name: str | None = None,
    selector: Selector = EVERYTHING,
    mode: str | None = None,
) -> ClusterList:
    """All clusters, or those with a name or with labels; UserError if none has the name."""
    some = views_of(fleet, mode)
    found = [(view, summary) for view in some for summary in view.cluster_summaries]
    if name:
        found = clusters_called(some, name) or [find_cluster(some, name)]
        fleet = fleet.only(*(view.reading for view, _ in found))
    starts = ClusterStarts()
    rows = tuple(
        cluster_row(view, summary, starts)
        for view, summary in found
        if selector.matches(brake_labels(summary.fleet.org, summary.member.cluster))
    )
    return ClusterList(
        errors=fleet.errors(),
        notes=(*fleet.notes(), *rules_notes(fleet, mode)),
        now=next((instant_text(view.reading.now) for view in some), None),
        items=rows,
    )


def cluster_row(view: UpgradeView, summary: ClusterSummary, starts: ClusterStarts) -> ClusterRow:
    """One cluster of a list."""
    cluster, policy = summary.member.cluster, summary.member.policy
    return ClusterRow(
        **fields_of(cluster_part(view, summary, starts)),
        id=cluster.ident,
        org_name=summary.fleet.org.name,
        starts=summary.starts,
        why=None if summary.shut is None else verdict_part(summary.shut),
        state=cluster.state,
        channel=cluster.updates_from,
        schedule=policy.schedule,
        timezone=policy.zone or None,
        soak_days=policy.soak_days,
        sector=policy.sector or None,
        mutexes=policy.mutexes,
        workloads=policy.workloads,
    )


def cluster_part(view: UpgradeView, summary: ClusterSummary, starts: ClusterStarts) -> ClusterPart:
    """What every answer about a cluster has."""
    cluster, org = summary.member.cluster, summary.fleet.org
    return ClusterPart(
        cluster=cluster.name,
        uuid=cluster.uuid,
        org=org.id,
        environment=org.env,
        version=cluster.version,
        oldest_version=summary.oldest,
        behind=pools_behind(summary),
        since=instant_text(view.since(summary)),
        next=summary.next or None,
        soak_left_days=float(summary.soak_left) if summary.soak_left else None,
        window_at=instant_text(summary.fires_at),
        expected=starts.of(view, cluster.uuid),
        phase=phase_word(summary),
        summary=why_cell(summary),
        problems=tuple(each.text() for each in summary.member.label_errors),
    )


def pools_behind(summary: ClusterSummary) -> tuple[PoolBehind, ...]:
    """The node pools that are behind their control plane."""
    behind = summary.member.progress.behind
    return tuple(PoolBehind(pool=each.id, version=each.version) for each in behind)
