"""Which sectors must have a version before a cluster may: workload by workload, none passed early.

A sector waits for those it depends on; where one has no cluster with the workload, those behind it
count in its place. A cluster whose workloads cannot be read counts for all of them, and one whose
version cannot be read is behind everything; so is one whose node pools could not be read. What the
organisations it inherits from run comes first, too.
"""

from collections.abc import Iterable

from tidegate.kinds.upgrades.core.history import Minima
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember, OrganisationFleet
from tidegate.kinds.upgrades.core.rules.soak import key_or_least
from tidegate.kinds.upgrades.core.sectors import awaited
from tidegate.kinds.upgrades.core.versions import Key, key_of
from tidegate.model.verdict import Verdict, verdict

NO_SECTOR = verdict(VersionReason.NoSectorBefore)


class SlowestMembers:
    """The cluster of each sector that is furthest behind, workload by workload."""

    def __init__(self, members: Iterable[FleetMember]) -> None:
        self._lowest: dict[tuple[str, str], FleetMember] = {}
        self._unsure: dict[str, FleetMember] = {}  # by sector: one that counts for every workload
        for member in members:
            if member.sector:
                self._count(member)

    def of(self, sector: str, workload: str) -> FleetMember | None:
        """The slowest of a sector with a workload; None: it has no cluster with it."""
        one, other = self._lowest.get((sector, workload)), self._unsure.get(sector)
        return _lower(one, other) if other is not None else one

    def _count(self, member: FleetMember) -> None:
        workloads = member.policy.workloads
        if workloads is None:
            self._unsure[member.sector] = _lower(self._unsure.get(member.sector), member)
            return
        for workload in workloads:
            key = (member.sector, workload)
            self._lowest[key] = _lower(self._lowest.get(key), member)


class SectorOrder:
    """What goes first, in one organisation; asked once for all that are alike."""

    def __init__(
        self,
        fleet: OrganisationFleet,
        minima: Minima | None,
        slowest: SlowestMembers | None = None,
    ) -> None:
        self._fleet = fleet
        self._minima = minima
        self._slowest = slowest if slowest is not None else SlowestMembers(fleet.members)
        self._before: dict[tuple[str, str], tuple[str, ...]] = {}
        self._said: dict[tuple[str, tuple[str, ...], str], Verdict] = {}

    def verdict(self, member: FleetMember, version: str) -> Verdict:
        """Whether all clusters that go first have the version."""
        workloads = member.policy.workloads or ()
        if not member.sector:
            return NO_SECTOR
        key = (member.sector, workloads, version)
        if key not in self._said:
            self._said[key] = self._say(member.sector, workloads, version)
        return self._said[key]

    def _say(self, sector: str, workloads: tuple[str, ...], version: str) -> Verdict:
        org_policy = self._fleet.org_policy
        if sector in org_policy.circling:
            return verdict(VersionReason.SectorCircle, sector, org_policy.circle_of(sector))
        if self._fleet.unverified:
            return verdict(VersionReason.InheritanceUnverified, self._fleet.unverified)
        wanted = key_of(version)
        if (behind := self._inherited(workloads, version, wanted)) is not None:
            return behind
        gone: set[str] = set()
        for workload in workloads:
            for name in self._sectors_before(sector, workload):
                slowest = self._slowest.of(name, workload)
                gone.add(name)
                if slowest is not None and (slowest.key is None or slowest.key < wanted):
                    return _behind(name, workload, slowest, version)
        return (
            verdict(VersionReason.SectorsHaveIt, tuple(sorted(gone)), version)
            if gone
            else NO_SECTOR
        )

    def _inherited(self, workloads: tuple[str, ...], version: str, wanted: Key) -> Verdict | None:
        if self._minima is None:
            return None
        lowest = self._minima.min_version_per_workload
        known = all(each in lowest for each in workloads)
        for each in workloads:
            held = lowest[each] if known else self._minima.min_version
            if wanted > key_or_least(held):
                return verdict(VersionReason.InheritedBehind, each, held, version)
        return None

    def _sectors_before(self, sector: str, workload: str) -> tuple[str, ...]:
        key = (sector, workload)
        if key not in self._before:
            sectors = self._fleet.org_policy.sectors
            found: Iterable[str] = awaited(
                sectors[sector], sectors, lambda name: self._slowest.of(name, workload) is not None
            )
            self._before[key] = tuple(sorted(found))
        return self._before[key]


def _lower(one: FleetMember | None, other: FleetMember) -> FleetMember:
    """The cluster that is further behind; of two alike the first by name."""
    if one is None:
        return other
    return min(one, other, key=place_of)


def place_of(member: FleetMember) -> tuple[Key | tuple[()], str, str]:
    """Where it stands; a version that cannot be read is behind all others."""
    return (member.key or (), member.called, member.cluster.uuid)


def _behind(sector: str, workload: str, slowest: FleetMember, version: str) -> Verdict:
    if slowest.key is None:
        unread = slowest.progress.unread
        reason = (
            VersionReason.SectorMemberUnread if unread else VersionReason.SectorMemberUnreadable
        )
        return verdict(reason, sector, slowest.called)
    cluster = slowest.cluster
    versions = [cluster.version, *(pool.version for pool in slowest.progress.behind)]
    held = min(versions, key=key_of)
    return verdict(VersionReason.SectorBehind, sector, slowest.called, workload, held, version)
