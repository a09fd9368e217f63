"""Who is furthest behind in each sector, while clusters move: only those are counted anew."""

from collections.abc import Iterable
from heapq import heappop, heappush

from tidegate.kinds.upgrades.core.rules.fleet import FleetMember
from tidegate.kinds.upgrades.core.rules.sector_order import SlowestMembers, place_of
from tidegate.kinds.upgrades.core.versions import Key

_Place = tuple[Key | tuple[()], str, str]


class SlowestSoFar(SlowestMembers):
    """The slowest of each sector, by workload; a member that moved is put again."""

    def __init__(self, members: Iterable[tuple[int, FleetMember]]) -> None:
        # By sector and workload (None: every workload), those further behind first.
        self._places: dict[tuple[str, str | None], list[tuple[_Place, int]]] = {}
        self._now: dict[int, FleetMember] = {}
        super().__init__(())
        for at, member in members:
            self.put(at, member)

    def put(self, at: int, member: FleetMember) -> None:
        """A member as it is by now."""
        if not member.sector:
            return
        self._now[at] = member
        for workload in workloads_of(member):
            place = (place_of(member), at)
            heappush(self._places.setdefault((member.sector, workload), []), place)

    def of(self, sector: str, workload: str) -> FleetMember | None:
        """The slowest of a sector with a workload; None: it has no cluster with it."""
        one, other = self._first(sector, workload), self._first(sector, None)
        if one is None or other is None:
            return one or other
        return min(one, other, key=place_of)

    def _first(self, sector: str, workload: str | None) -> FleetMember | None:
        places = self._places.get((sector, workload), [])
        while places:
            place, at = places[0]
            if place_of(self._now[at]) == place:
                return self._now[at]
            heappop(places)  # it moved since
        return None


def workloads_of(member: FleetMember) -> tuple[str | None, ...]:
    """What a member counts for in its sector; None: for every workload."""
    return (None,) if member.policy.workloads is None else member.policy.workloads
