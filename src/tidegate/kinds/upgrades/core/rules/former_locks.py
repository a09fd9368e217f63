"""Mutexes as they were shared in the first edition of these rules: only to decide old plans again.

In a sector with a limit its clusters shared their mutexes up to that limit, and did not count
others, as in the Advanced Upgrade Service. An owner of a mutex found two clusters with it upgraded
at once, so a mutex has one holder now (`locks.py`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from tidegate.kinds.upgrades.core.declared.organisation_policy import OrganisationPolicy
from tidegate.kinds.upgrades.core.reasons.sharing_reasons import SharingReason
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember
from tidegate.kinds.upgrades.core.rules.locks import UpgradeLocks, shown_names
from tidegate.kinds.upgrades.core.world import Edition
from tidegate.model.verdict import Verdict, verdict


class SharedLocks(UpgradeLocks):
    """The mutexes and sectors of one organisation, mutexes shared up to the limit of a sector."""

    def __init__(
        self,
        members: Iterable[FleetMember],
        org_policy: OrganisationPolicy,
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        every = tuple(members)
        # By sector and mutex: who has it, and how many would like to.
        self._sharing: dict[tuple[str, str], dict[str, FleetMember]] = {}
        self._likely = Counter(
            (each.sector, mutex) for each in every if each.sector for mutex in each.mutexes
        )
        super().__init__(every, org_policy, sizes)

    def take(self, member: FleetMember) -> None:
        """The member is upgraded: it has its mutexes, and a place in its sector."""
        super().take(member)
        for mutex in member.mutexes if member.sector else ():
            self._shares(member.sector, mutex)[member.cluster.uuid] = member

    def keep(self, member: FleetMember) -> None:
        """The member is half upgraded: it keeps what it has, as far as there is room."""
        for mutex in member.mutexes if member.sector else ():
            shares, limit = self._shares(member.sector, mutex), self._share(member.sector, mutex)
            if limit is not None and len(shares) < limit:
                shares[member.cluster.uuid] = member
        super().keep(member)

    def mutexes(self, member: FleetMember) -> tuple[Verdict, ...]:
        """Whether it may have its mutexes: one verdict each, and one if its own id is taken."""
        if member.sector and self.limit(member.sector) is not None:
            return tuple(self._shared(member, mutex) for mutex in member.mutexes)
        return super().mutexes(member)

    def _shares(self, sector: str, mutex: str) -> dict[str, FleetMember]:
        return self._sharing.setdefault((sector, mutex), {})

    def _share(self, sector: str, mutex: str) -> int | None:
        """How many clusters of a sector may have a mutex at once; None: it has no limit."""
        return self.limit(sector, self._likely[sector, mutex])

    def _shared(self, member: FleetMember, mutex: str) -> Verdict:
        """Whether a sector with a limit has room for one more with a mutex."""
        sector = member.sector
        limit = self._share(sector, mutex) or 0
        shares = self._shares(sector, mutex)
        others = [each for one, each in shares.items() if one != member.cluster.uuid]
        facts = (mutex, len(others), limit, sector)
        if len(others) < limit:
            return verdict(SharingReason.MutexShared, *facts)
        return verdict(SharingReason.MutexShareFull, *facts, shown_names(others))


LOCKS: Mapping[Edition, type[UpgradeLocks]] = {
    Edition.SHARED_MUTEXES: SharedLocks,
    Edition.ONE_HOLDER: UpgradeLocks,
}
"""Who holds which mutex, by the edition of the rules a plan was decided with."""
