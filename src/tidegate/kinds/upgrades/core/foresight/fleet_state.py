"""One organisation as time goes on: its clusters, who is being changed, and what soaks."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from tidegate.kinds.upgrades.core.foresight.slowest import SlowestSoFar, workloads_of
from tidegate.kinds.upgrades.core.foresight.soak_clock import SoakClock
from tidegate.kinds.upgrades.core.history import Minima
from tidegate.kinds.upgrades.core.rules.addons import AddonUpgrades
from tidegate.kinds.upgrades.core.rules.brake_gates import BrakeGates
from tidegate.kinds.upgrades.core.rules.cluster_pass import PassGates, UpgradePass
from tidegate.kinds.upgrades.core.rules.fleet import (
    FleetMember,
    OrganisationFleet,
    member_of,
    priority,
    wrong_of,
)
from tidegate.kinds.upgrades.core.rules.former_locks import LOCKS
from tidegate.kinds.upgrades.core.rules.gates import FleetCounts, VersionGates, counts_of
from tidegate.kinds.upgrades.core.rules.locks import UpgradeLocks
from tidegate.kinds.upgrades.core.rules.observations import minima_of
from tidegate.kinds.upgrades.core.rules.sector_order import SectorOrder
from tidegate.kinds.upgrades.core.rules.soak import Days, SoakLedger
from tidegate.kinds.upgrades.core.world import LATEST, ManagedCluster, UpgradeWorld
from tidegate.model.time import Instant

_AUTOMATIC = "automatic"
_BEGUN = ("started", "delayed")


class FleetChange(msgspec.Struct, frozen=True):
    """What a look shows of one cluster that the look before did not."""

    at: int  # its place in the world
    before: FleetMember
    after: FleetMember

    @property
    def frees(self) -> bool:
        """Whether another cluster may get a mutex, or room, that it had or kept."""
        one, other = self.before.progress, self.after.progress
        return one.occupies and (one.is_busy, bool(one.behind)) != (
            other.is_busy,
            bool(other.behind),
        )


class FleetState:
    """The clusters of one organisation, by their places in the world."""

    def __init__(
        self,
        fleet: OrganisationFleet,
        members: Iterable[tuple[int, FleetMember]],
        ledger: SoakLedger,
        doubled: frozenset[str],
    ) -> None:
        self.fleet = replace(fleet, members=())
        self.members: dict[int, FleetMember] = dict(members)
        self.clock = SoakClock(ledger)
        self.slowest = SlowestSoFar(self.members.items())
        self._doubled = doubled
        self._busy = {at: each for at, each in self.members.items() if each.progress.occupies}
        self._sizes: dict[str, int] = {}
        for each in self.members.values():
            if each.sector:
                self._sizes[each.sector] = self._sizes.get(each.sector, 0) + 1
        self._having = Counter(
            mutex for each in self.members.values() for mutex in set(each.mutexes)
        )
        counted = counts_of(fleet, ledger)
        self._counts = FleetCounts(self.clock.running, counted.failed, counted.unread)
        # Whose own upgrades begin at a moment of their own.
        self.timed = {at for at, each in self.members.items() if is_timed(each.cluster)}

    def renew(
        self, at: int, cluster: ManagedCluster, unread: str | None, now: Instant
    ) -> FleetChange | None:
        """Look at a cluster again; None: it is as it was."""
        before = self.members[at]
        if cluster.uuid in self._doubled:
            return None  # which of them moved is not known, and none is decided on
        wrong = wrong_of(cluster, {cluster.uuid: 1})
        after = member_of(cluster, self.fleet.org_policy, before.unique, wrong, unread, now)
        if after == before:
            return None
        self.members[at] = after
        self.slowest.put(at, after)
        self._busy.pop(at, None)
        if after.progress.occupies:
            self._busy[at] = after
        self.timed.discard(at)
        if is_timed(cluster):
            self.timed.add(at)
        return FleetChange(at, before, after)

    def observe(self, changes: Iterable[FleetChange], now: Instant, before: Instant) -> set[str]:
        """Let versions soak until now; the versions of which more or fewer clusters do."""
        clusters = {each.at: each.after.cluster for each in changes}.values()
        moved = [
            each
            for each in clusters
            if self.clock.version_of(each.uuid) not in (None, each.version)
        ]
        versions: set[str] = set()
        for cluster in moved:
            versions |= {self.clock.version_of(cluster.uuid) or "", cluster.version}
            self.clock.leave(cluster.uuid)
        self.clock.advance(now)
        for cluster in moved:
            self.clock.arrive(cluster.uuid, cluster.version, before)
        return versions

    def minima(self) -> Minima | None:
        """The lowest versions its clusters run, for those who inherit them."""
        return minima_of(self.whole())

    def whole(self) -> OrganisationFleet:
        """The organisation with all its clusters."""
        return replace(self.fleet, members=tuple(sorted(self.members.values(), key=priority)))

    def occupied(self) -> OrganisationFleet:
        """The organisation with those of its clusters that are being changed."""
        return replace(self.fleet, members=tuple(sorted(self._busy.values(), key=priority)))

    def locks(self, world: UpgradeWorld) -> UpgradeLocks:
        """Who has which mutex, and which sectors are full."""
        policy = self.fleet.org_policy
        if world.edition is not LATEST:
            return LOCKS[world.edition](self.whole().members, policy)
        return UpgradeLocks(self.occupied().members, policy, self._sizes)

    def begin(
        self,
        world: UpgradeWorld,
        soak: tuple[Days, Minima | None],
        locks: UpgradeLocks,
        braking: BrakeGates,
        addons: AddonUpgrades | None,
        now: Instant,
    ) -> UpgradePass:
        """Go through some of its clusters."""
        days, minima = soak
        gates = PassGates(
            VersionGates(world, self.fleet, days, self.clock.outline(), now, self._counts),
            SectorOrder(self.fleet, minima, self.slowest),
            locks,
        )
        return UpgradePass(world, self.fleet, gates, braking, addons, now)

    def in_order(self, some: Iterable[int]) -> list[int]:
        """Clusters in the order in which they are decided on."""
        return sorted(some, key=lambda at: priority(self.members[at]))

    def is_shared(self, mutex: str) -> bool:
        """Whether several clusters have a mutex."""
        return self._having[mutex] > 1

    def is_crowded(self, sector: str) -> bool:
        """Whether a sector has a limit, and several clusters that it is for."""
        return sector in self.fleet.org_policy.limits and self._sizes.get(sector, 0) > 1


def freed(change: FleetChange) -> Sequence[str]:
    """The mutexes that a cluster had or kept."""
    return (change.before.cluster.ident, *change.before.mutexes)


def moved_in(change: FleetChange) -> Iterator[tuple[str, str | None]]:
    """The sectors and workloads in which another cluster may be the slowest by now."""
    member = change.after
    if member.sector and member.key != change.before.key:
        for workload in workloads_of(member):
            yield member.sector, workload


def is_timed(cluster: ManagedCluster) -> bool:
    """Whether its owner's own upgrade begins by itself, so that time alone changes it."""
    return any(
        each.schedule_type == _AUTOMATIC and each.state not in _BEGUN for each in cluster.upgrades
    )
