"""Who holds which mutex, and how many of a sector are being upgraded, while one plan is made.

A cluster holds its mutexes from the moment an upgrade is asked for until its node pools have caught
up. A mutex has one holder, in a sector with a limit too; the limit counts all clusters of the
sector, whether they have a mutex or not. Whatever the plan starts is counted at once.
"""

from collections.abc import Iterable, Mapping
from heapq import nsmallest

from tidegate.kinds.upgrades.core.declared.organisation_policy import OrganisationPolicy
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.reason import Reason
from tidegate.model.verdict import Verdict, verdict

_Others = Iterable[FleetMember]
# A verdict names this many clusters; more would not fit on a line.
_NAMES_MAX = 3


class UpgradeLocks:
    """The mutexes and sectors of one organisation."""

    def __init__(
        self,
        members: Iterable[FleetMember],
        org_policy: OrganisationPolicy,
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        """Of all members; or, with the `sizes` of sectors, of those that are being changed."""
        self._orders = org_policy
        self._holders: dict[str, FleetMember] = {}
        self._busy: dict[str, dict[str, FleetMember]] = {}  # by sector, then external id
        self._sizes: dict[str, int] = dict(sizes or {})
        # What was said already. Who holds what only grows, so how many do tells one answer from
        # another; each of them is checked by itself.
        self._said: dict[tuple[object, ...], Verdict] = {}
        lagging: list[FleetMember] = []
        for each in members:
            if each.sector and sizes is None:
                self._sizes[each.sector] = self._sizes.get(each.sector, 0) + 1
            if each.progress.is_busy:
                self.take(each)
            elif each.progress.behind:
                lagging.append(each)
        # Between its control plane and its node pools a cluster keeps what it has. Where several
        # are in between, the first in order goes first, so that they never wait for each other.
        for each in lagging:
            self.keep(each)

    def take(self, member: FleetMember) -> None:
        """The member is upgraded: it has its mutexes, and a place in its sector."""
        for mutex in (member.cluster.ident, *member.mutexes):
            self._holders.setdefault(mutex, member)
        if member.sector:
            self._busy.setdefault(member.sector, {})[member.cluster.uuid] = member

    def keep(self, member: FleetMember) -> None:
        """The member is half upgraded: it keeps its mutexes, and its place where there is room."""
        for mutex in (member.cluster.ident, *member.mutexes):
            self._holders.setdefault(mutex, member)
        if member.sector and (limit := self.limit(member.sector)) is not None:
            busy = self._busy.setdefault(member.sector, {})
            if len(busy) < limit:
                busy[member.cluster.uuid] = member

    def mutexes(self, member: FleetMember) -> tuple[Verdict, ...]:
        """Whether it may have its mutexes: one verdict each, and one if its own id is taken."""
        found: list[Verdict] = []
        for mutex in member.mutexes:
            holder = self._holders.get(mutex)
            if holder is None or holder is member:
                found.append(self._once(BrakeReason.MutexFree, mutex))
            else:
                found.append(self._held(mutex, holder))
        own = self._holders.get(member.cluster.ident)
        if own is not None and own is not member:
            found.append(self._held(member.cluster.ident, own))
        return tuple(found)

    def _held(self, mutex: str, holder: FleetMember) -> Verdict:
        progress, reason = holder.progress, UpgradeReason.MutexUpgrading
        if progress.is_stuck:
            reason = UpgradeReason.MutexUpgradeFailed
        elif progress.unread and not (progress.under_way or progress.addons):
            reason = UpgradeReason.MutexUnread
        return self._once(reason, mutex, holder.called)

    def _once(self, reason: Reason, *facts: int | str) -> Verdict:
        """A verdict, one for all who hear the same."""
        key = (reason, *facts)
        if key not in self._said:
            self._said[key] = verdict(reason, *facts)
        return self._said[key]

    def _full(self, reason: Reason, facts: tuple[int | str, ...], others: _Others) -> Verdict:
        """The same with the first few clusters in it, made once for so many."""
        key = (reason, *facts)
        if key not in self._said:
            self._said[key] = verdict(reason, *facts, shown_names(others))
        return self._said[key]

    def slots(self, member: FleetMember) -> tuple[Verdict, ...]:
        """Whether its sector has room for it; nothing where there is no limit."""
        sector = member.sector
        if not sector:
            return ()
        if sector in self._orders.closed:
            return (verdict(UpgradeReason.SectorLimitUnreadable, sector),)
        limit = self.limit(sector)
        if limit is None:
            return ()
        if limit == 0:
            return (verdict(UpgradeReason.SectorZero, sector),)
        busy = self._busy.get(sector, {})
        used = len(busy) - (member.cluster.uuid in busy)
        if used < limit:
            return (self._once(UpgradeReason.SectorRoom, sector, used, limit),)
        if used != len(busy):
            return (
                verdict(UpgradeReason.SectorFull, sector, used, limit, shown_names(busy.values())),
            )
        return (self._full(UpgradeReason.SectorFull, (sector, used, limit), busy.values()),)

    def limit(self, sector: str, size: int | None = None) -> int | None:
        """How many of a sector, or of so many of it, may be upgraded at once; None: all."""
        limit = self._orders.limits.get(sector)
        return (
            None
            if limit is None
            else limit.of(self._sizes.get(sector, 0) if size is None else size)
        )


def shown_names(members: Iterable[FleetMember]) -> tuple[str, ...]:
    """The first few by name, and whether there are more."""
    names = nsmallest(_NAMES_MAX + 1, map(_named, members))
    return (*names[:_NAMES_MAX], "…") if len(names) > _NAMES_MAX else tuple(names)


def _named(member: FleetMember) -> str:
    return f"{member.called} (not read)" if member.progress.unread else member.called
