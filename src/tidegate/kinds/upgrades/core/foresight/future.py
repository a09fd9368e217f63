"""A world as time goes on: upgrades end, versions soak, agreements are given, and nothing else.

No version comes out, no label changes, no upgrade fails and no cluster becomes unhealthy. What a
cluster is offered once it is upgraded, or on another channel, is what others on that version and
channel are offered today. Where there is none, it is a guess: what it is offered today, and what
others on that channel are, as far as it is newer and at most one minor ahead.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from heapq import heappop, heappush

import msgspec
from msgspec.structs import replace

from tidegate.gates.brakes import Brakes
from tidegate.kinds.upgrades.core.foresight.offers import KnownOffers
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.kinds.upgrades.core.rules.progress import PolicyStage, is_left_over, stage_of
from tidegate.kinds.upgrades.core.rules.soak import SoakLedger, key_or_least
from tidegate.kinds.upgrades.core.schedule.schedule import read_schedule
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.core.versions import VersionError, minor_of
from tidegate.kinds.upgrades.core.world import (
    ClusterAddon,
    ClusterPool,
    ManagedCluster,
    OcmUpgrade,
    UpgradeWorld,
    with_addon,
)
from tidegate.model.cron.cron import next_after
from tidegate.model.plan import Action
from tidegate.model.time import Duration, Instant, format_second, parse_instant

_AUTOMATIC = "automatic"
_BEGUN = ("started", "delayed")


class UpgradeUnderWay(msgspec.Struct, frozen=True):
    """One upgrade that is under way, or will be."""

    starts_at: Instant
    ends_at: Instant
    uuid: str
    pool: str  # empty: the cluster, or its control plane
    version: str
    ident: str
    by_owner: bool = False  # OpenShift Cluster Manager begins it by itself
    addon: str = ""  # the add-on it is of; empty: the cluster, or what `pool` says


class UnknownOffers(msgspec.Struct, frozen=True):
    """A cluster is on a channel, and no other cluster shows what that offers it."""

    channel: str
    since: Instant


class FleetFuture:
    """A world, and what is under way in it."""

    def __init__(self, world: UpgradeWorld, now: Instant, pace: UpgradePace) -> None:
        self._world = replace(world, brakes=_of_others(world.brakes))
        self._began = now
        self._pace = pace
        self._clusters = _as_managed(world)
        self._at = {each.uuid: at for at, each in enumerate(world.clusters)}
        # Which of them are not what they were at the last look.
        self._changed: set[int] = set()
        self._offers = KnownOffers(world.clusters)
        self._unknown: dict[str, UnknownOffers] = {}
        self._due: list[tuple[Instant, int, UpgradeUnderWay]] = []
        self._foreseen = 0
        self.ledgers: dict[str, SoakLedger] = dict(world.ledgers)
        for cluster in self._clusters:
            self._foresee(cluster, now)

    def at(self, at: int) -> ManagedCluster:
        """The cluster at a place of the world, as it is by now."""
        return self._clusters[at]

    def changed(self) -> set[int]:
        """The places of clusters that changed since this was asked last."""
        found, self._changed = self._changed, set()
        return found

    def cluster(self, uuid: str) -> ManagedCluster:
        """A cluster as it is by now."""
        return self._clusters[self._at[uuid]]

    def world(self, now: Instant) -> UpgradeWorld:
        """The world as it is by now."""
        return replace(
            self._world,
            now=now,
            read_at=self._world.read_at if now == self._began else None,
            clusters=tuple(self._clusters),
            ledgers=self.ledgers,
            brakes=_kept_fresh(self._world.brakes, now - self._began),
        )

    def is_old(self, now: Instant) -> bool:
        """Whether clusters were read some time before this moment."""
        return now == self._began and self._world.read_at is not None

    def doubled(self) -> frozenset[str]:
        """External ids that several clusters have."""
        counts = Counter(each.uuid for each in self._clusters)
        return frozenset(uuid for uuid, number in counts.items() if number > 1)

    def under_way(self) -> list[UpgradeUnderWay]:
        """What is under way, whatever ends first."""
        return [each for _, _, each in sorted(self._due)]

    def next_end(self) -> Instant | None:
        """When the next upgrade ends; None: none is under way."""
        return self._due[0][0] if self._due else None

    def settle(self, now: Instant) -> bool:
        """Let every upgrade end that does by now; whether any did."""
        ended = False
        while self._due and self._due[0][0] <= now:
            self._end(heappop(self._due)[2])
            ended = True
        return ended

    def carry_out(self, action: Action, now: Instant) -> UpgradeUnderWay | None:
        """Do what a plan says; the upgrade that comes of it, if one does."""
        step, cluster = action.change, self.cluster(action.target)
        if not isinstance(step, UpgradeStep) or step.revision is None:
            return None
        if step.doing is StepKind.CHANNEL:
            moved = replace(cluster, channel=step.revision)
            self._unknown[cluster.uuid] = UnknownOffers(step.revision, now)
            self._put(self._offered(moved))
        elif step.doing is StepKind.AGREE:
            self._put(replace(cluster, gate_agreements=(*cluster.gate_agreements, step.ident)))
        elif step.doing is StepKind.CANCEL:
            self._drop(cluster, step.pool, step.ident)
        elif step.doing is StepKind.CANCEL_ADDON:
            self._drop_plan(cluster, step.addon, step.ident)
        else:
            return self._start(cluster, step, step.starts_at if step.starts_at is not None else now)
        return None

    def _start(
        self, cluster: ManagedCluster, step: UpgradeStep, starts_at: Instant
    ) -> UpgradeUnderWay:
        upgrade = OcmUpgrade(
            id=f"foreseen-{self._foreseen}",
            version=step.revision or "",
            state="scheduled",
            next_run=format_second(starts_at),
        )
        if step.addon:
            self._put(with_addon(cluster, step.addon, partial(_with_plan, upgrade)))
        elif step.pool:
            pools = tuple(
                replace(pool, upgrade_policies=(*pool.upgrade_policies, upgrade))
                if pool.id == step.pool
                else pool
                for pool in cluster.node_pools
            )
            self._put(replace(cluster, node_pools=pools))
        else:
            self._put(replace(cluster, upgrade_policies=(*cluster.upgrade_policies, upgrade)))
        ends_at = Instant(starts_at + self._takes(cluster, step.pool, step.addon))
        return self._remember(
            UpgradeUnderWay(
                starts_at,
                ends_at,
                cluster.uuid,
                step.pool,
                upgrade.version,
                upgrade.id,
                addon=step.addon,
            )
        )

    def _remember(self, under: UpgradeUnderWay) -> UpgradeUnderWay:
        self._foreseen += 1  # of two that end together, the one that was foreseen first
        heappush(self._due, (under.ends_at, self._foreseen, under))
        return under

    def _takes(self, cluster: ManagedCluster, pool: str, addon: str = "") -> Duration:
        if addon:
            return self._pace.addon
        if pool:
            return self._pace.pool
        return self._pace.control_plane if cluster.is_hosted else self._pace.classic

    def _foresee(self, cluster: ManagedCluster, now: Instant) -> None:
        """When what is under way today ends: after its usual time, or at the next look."""
        for upgrade, pool in _parts(cluster):
            if stage_of(upgrade, now) in (PolicyStage.OVER, PolicyStage.FAILED):
                continue
            by_owner = upgrade.schedule_type == _AUTOMATIC
            starts_at = _starts_at(upgrade, now)
            if starts_at is None and by_owner and upgrade.state not in _BEGUN:
                continue  # its moment is not known; it holds no cluster up
            begins = now if starts_at is None else starts_at
            if upgrade.state not in _BEGUN:
                begins = max(begins, now)
            ends_at = max(begins + self._takes(cluster, pool), now + self._pace.round)
            version = self._newest_patch(cluster) if by_owner else upgrade.version
            self._remember(
                UpgradeUnderWay(
                    begins, Instant(ends_at), cluster.uuid, pool, version, upgrade.id, by_owner
                )
            )
        self._foresee_addons(cluster, now)

    def _foresee_addons(self, cluster: ManagedCluster, now: Instant) -> None:
        """The same for its add-ons; what is automatic and has not begun is deleted."""
        for addon in cluster.addons:
            for plan in addon.upgrade_plans:
                if stage_of(plan, now) is PolicyStage.UNDER_WAY and not is_left_over(plan):
                    begins = max(_starts_at(plan, now) or now, now)
                    ends = Instant(begins + self._pace.addon)
                    facts = (begins, ends, cluster.uuid, "", plan.version, plan.id)
                    self._remember(UpgradeUnderWay(*facts, addon=addon.id))

    def _newest_patch(self, cluster: ManagedCluster) -> str:
        """Where an automatic upgrade leads: to the newest of the same minor; empty: nowhere."""
        try:
            own = minor_of(cluster.version)
            mine = [each for each in cluster.available_upgrades if minor_of(each) == own]
        except VersionError:
            return ""
        return max(mine, key=key_or_least, default="")

    def _end(self, under: UpgradeUnderWay) -> None:
        cluster = self.cluster(under.uuid)
        if under.addon:
            self._drop_plan(cluster, under.addon, under.ident)
            there = partial(_moved, under.version)
            self._put(with_addon(self.cluster(under.uuid), under.addon, there))
            return
        self._drop(cluster, under.pool, under.ident, rests=under.by_owner)
        cluster = self.cluster(under.uuid)
        if under.pool:
            pools = tuple(
                replace(pool, version=under.version) if pool.id == under.pool else pool
                for pool in cluster.node_pools
            )
            self._put(replace(cluster, node_pools=pools))
        elif under.version:
            self._put(self._offered(replace(cluster, version=under.version)))

    def _offered(self, cluster: ManagedCluster) -> ManagedCluster:
        """A cluster with what it is offered where it is now."""
        offers = self._offers.of(cluster)
        if offers is None:
            offers = self._offers.guess(cluster)
        else:
            self._unknown.pop(cluster.uuid, None)
        return replace(cluster, available_upgrades=offers)

    def unknown(self, uuid: str) -> UnknownOffers | None:
        """The channel whose offers to a cluster are a guess; None: they are known."""
        return self._unknown.get(uuid)

    def _drop(self, cluster: ManagedCluster, pool: str, ident: str, *, rests: bool = False) -> None:
        """An upgrade policy is gone; one of the owner's own rests, for we foresee it once."""

        def without(upgrades: tuple[OcmUpgrade, ...]) -> tuple[OcmUpgrade, ...]:
            left = tuple(each for each in upgrades if each.id != ident)
            resting = [each for each in upgrades if each.id == ident and rests]
            return (*left, *(replace(each, **_RESTING) for each in resting))

        if not pool:
            self._put(replace(cluster, upgrade_policies=without(cluster.upgrade_policies)))
            return
        pools: tuple[ClusterPool, ...] = tuple(
            replace(each, upgrade_policies=without(each.upgrade_policies))
            if each.id == pool
            else each
            for each in cluster.node_pools
        )
        self._put(replace(cluster, node_pools=pools))

    def _drop_plan(self, cluster: ManagedCluster, addon: str, ident: str) -> None:
        self._put(with_addon(cluster, addon, partial(_without_plan, ident)))

    def _put(self, cluster: ManagedCluster) -> None:
        at = self._at[cluster.uuid]
        self._clusters[at] = cluster
        self._changed.add(at)


def _with_plan(plan: OcmUpgrade, addon: ClusterAddon) -> ClusterAddon:
    return replace(addon, upgrade_plans=(*addon.upgrade_plans, plan))


def _without_plan(ident: str, addon: ClusterAddon) -> ClusterAddon:
    left = tuple(each for each in addon.upgrade_plans if each.id != ident)
    return replace(addon, upgrade_plans=left)


def _moved(version: str, addon: ClusterAddon) -> ClusterAddon:
    return replace(addon, version=version)


_RESTING = {"state": "pending", "next_run": None, "schedule": None}


def _parts(cluster: ManagedCluster) -> Iterator[tuple[OcmUpgrade, str]]:
    """Every upgrade policy, with the node pool it is for."""
    for upgrade in cluster.upgrade_policies:
        yield upgrade, ""
    for pool in cluster.node_pools if cluster.is_hosted else ():
        for upgrade in pool.upgrade_policies:
            yield upgrade, pool.id


def _starts_at(upgrade: OcmUpgrade, now: Instant) -> Instant | None:
    """When an upgrade starts, or did; None: it does not say."""
    try:
        if upgrade.next_run is not None:
            return parse_instant(upgrade.next_run)
        if upgrade.schedule is not None:
            return next_after(read_schedule(upgrade.schedule.strip()), now)
    except ValueError:
        return None
    return None


def _as_managed(world: UpgradeWorld) -> list[ManagedCluster]:
    """All clusters; add-ons only where they are managed."""
    equipped = {each.id for each in world.orgs if each.addons}
    return [
        each if not each.addons or each.org in equipped else replace(each, addons=())
        for each in world.clusters
    ]


def _of_others(brakes: Brakes) -> Brakes:
    """Our own places of shared budgets follow from what is under way, as that changes."""
    own = f"{PARTITION}/"
    claims = tuple(each for each in brakes.claims if not each.partition.startswith(own))
    return replace(brakes, claims=claims)


def _kept_fresh(brakes: Brakes, passed: int) -> Brakes:
    """Evidence stays what it is, seen anew at every look."""
    if not brakes.health:
        return brakes
    gates = tuple(
        replace(gate, evidence=replace(seen, seen_at=Instant(seen.seen_at + passed)))
        if (seen := gate.evidence) is not None and seen.seen_at is not None
        else gate
        for gate in brakes.health
    )
    return replace(brakes, health=gates)
