"""What is under way on a cluster, by the upgrade policies OpenShift Cluster Manager has for it.

completed, cancelled     over: holds nothing
failed                   holds, and says so
automatic, far off       the owner's own: holds nothing, but nothing is put beside it
automatic, within 2 h    as if it had started
everything else          under way
"""

import enum

import msgspec

from tidegate.kinds.upgrades.core.schedule.schedule import CLUSTER, read_schedule
from tidegate.kinds.upgrades.core.versions import key_of
from tidegate.kinds.upgrades.core.world import ClusterPool, ManagedCluster, OcmUpgrade
from tidegate.model.cron.cron import next_after
from tidegate.model.time import SECOND, Instant, parse_instant

_COMPLETED = "completed"
_CANCELLED = "cancelled"
_OVER = (_COMPLETED, _CANCELLED)
_BEGUN = ("started", "delayed")
_FAILED = "failed"
_AUTOMATIC = "automatic"
_NOT_BEGUN = ("pending", "scheduled")


class PolicyStage(enum.Enum):
    """The stage of one OCM policy."""

    OVER = "over"
    OWNERS = "aside"  # the owner's own, not yet due
    UNDER_WAY = "under way"
    FAILED = "failed"


class UpgradeProgress(msgspec.Struct, frozen=True):
    """What is under way on a cluster."""

    # Each with the node pool it is for; empty: the cluster, or its control plane.
    under_way: tuple[tuple[OcmUpgrade, str], ...] = ()
    failed: tuple[tuple[OcmUpgrade, str], ...] = ()
    owner_scheduled: bool = False  # the owner has an upgrade of its own, not yet due
    doubled: tuple[str, ...] = ()  # the versions of policies for one and the same thing
    behind: tuple[ClusterPool, ...] = ()  # node pools behind their control plane, by id
    due_at: Instant | None = None  # when the owner's own counts as under way; None: not known
    unread: bool = False  # there may be more than this, so it counts as being changed
    # Upgrades of its add-ons, each with the add-on.
    addons: tuple[tuple[OcmUpgrade, str], ...] = ()
    addons_failed: tuple[tuple[OcmUpgrade, str], ...] = ()

    @property
    def is_busy(self) -> bool:
        """Whether something is being done to it, or went wrong, or may, for all we know."""
        busy = self.under_way or self.failed or self.addons or self.addons_failed
        return bool(busy or self.unread)

    @property
    def is_stuck(self) -> bool:
        """Whether something went wrong, and needs its owner."""
        return bool(self.failed or self.addons_failed)

    @property
    def occupies(self) -> bool:
        """Whether the cluster is being changed, or stuck in it."""
        return bool(self.is_busy or self.behind)


_NOTHING = UpgradeProgress()


def progress_of(
    cluster: ManagedCluster, now: Instant, *, readable: bool = True, unread: bool = False
) -> UpgradeProgress:
    """What is under way on a cluster; node pools are behind only where versions can be read."""
    pooled = cluster.is_hosted and cluster.node_pools
    if not (unread or cluster.upgrade_policies or pooled or cluster.addons):
        return _NOTHING
    parts = [("", cluster.upgrade_policies)]
    pools = sorted(cluster.node_pools, key=lambda pool: pool.id) if cluster.is_hosted else []
    parts += [(pool.id, pool.upgrade_policies) for pool in pools]
    stages, doubled = _staged(parts, now)
    addons = sorted(cluster.addons, key=lambda addon: addon.id)
    theirs, _ = _staged([(addon.id, addon.upgrade_plans) for addon in addons], now)
    behind = [pool for pool in pools if readable and key_of(pool.version) < key_of(cluster.version)]
    return UpgradeProgress(
        under_way=tuple(stages[PolicyStage.UNDER_WAY]),
        failed=tuple(stages[PolicyStage.FAILED]),
        owner_scheduled=bool(stages[PolicyStage.OWNERS]),
        doubled=doubled,
        behind=tuple(behind),
        due_at=min(
            (
                moment
                for one, _ in (*stages[PolicyStage.OWNERS], *theirs[PolicyStage.OWNERS])
                if (moment := _due_at(one, now))
            ),
            default=None,
        ),
        unread=unread,
        addons=tuple(theirs[PolicyStage.UNDER_WAY]),
        addons_failed=tuple(theirs[PolicyStage.FAILED]),
    )


_Parts = list[tuple[str, tuple[OcmUpgrade, ...]]]
_Staged = dict[PolicyStage, list[tuple[OcmUpgrade, str]]]


def _staged(parts: _Parts, now: Instant) -> tuple[_Staged, tuple[str, ...]]:
    """The upgrades of each part by how far they are, and the versions of two at once."""
    stages = {stage: list[tuple[OcmUpgrade, str]]() for stage in PolicyStage}
    doubled: tuple[str, ...] = ()
    for part, upgrades in parts:
        alive = [
            (one, stage)
            for one in sorted(upgrades, key=lambda each: each.id or "")
            if (stage := stage_of(one, now)) is not PolicyStage.OVER
        ]
        if len(alive) > 1:
            doubled = doubled or tuple(sorted(one.version or "?" for one, _ in alive))
        for one, stage in alive:
            stages[stage].append((one, part))
    return stages, doubled


def stage_of(upgrade: OcmUpgrade, now: Instant) -> PolicyStage:
    """The stage of one OCM policy."""
    if upgrade.state in _OVER:
        return PolicyStage.OVER
    if upgrade.state == _FAILED:
        return PolicyStage.FAILED
    if upgrade.schedule_type != _AUTOMATIC or upgrade.state in _BEGUN or _is_due(upgrade, now):
        return PolicyStage.UNDER_WAY
    return PolicyStage.OWNERS


def is_automatic(upgrade: OcmUpgrade) -> bool:
    """Whether OpenShift Cluster Manager makes it by itself, again and again."""
    return upgrade.schedule_type == _AUTOMATIC and upgrade.state != _CANCELLED


def is_left_over(plan: OcmUpgrade) -> bool:
    """Whether an upgrade of an add-on is over, or automatic and has not begun."""
    automatic = plan.schedule_type == _AUTOMATIC and plan.state not in (*_BEGUN, _FAILED)
    return automatic or plan.state == _COMPLETED


def can_be_taken_back(upgrade: OcmUpgrade) -> bool:
    """Whether it was asked for by hand or by us, and has surely not begun."""
    return upgrade.schedule_type != _AUTOMATIC and upgrade.state in _NOT_BEGUN


def _is_due(upgrade: OcmUpgrade, now: Instant) -> bool:
    """Whether it begins within two hours; one that does not say when is not due."""
    due_at = _due_at(upgrade, now)
    return due_at is not None and due_at <= now


def _due_at(upgrade: OcmUpgrade, now: Instant) -> Instant | None:
    """Two hours before it begins; None: it does not say when that is."""
    try:
        if upgrade.next_run is not None:
            return Instant(parse_instant(upgrade.next_run) - CLUSTER.most)
        if upgrade.schedule is not None:
            fires = next_after(read_schedule(upgrade.schedule.strip()), now - SECOND)
            return None if fires is None else Instant(fires - CLUSTER.most)
    except ValueError:
        return None
    return None
