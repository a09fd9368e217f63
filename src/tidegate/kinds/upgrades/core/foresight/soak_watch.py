"""When versions that clusters wait for will have run for long enough, at the pace of now."""

from collections.abc import Collection, Sequence

from tidegate.kinds.upgrades.core.foresight.soak_clock import SoakClock, soaked_at
from tidegate.kinds.upgrades.core.foresight.watch import WatchKey
from tidegate.kinds.upgrades.core.rules.soak import Days
from tidegate.model.time import Instant


class SoakWatch:
    """What soaks, by version, days and workloads; a pace that changes moves the moment."""

    def __init__(self) -> None:
        # None: not at this pace.
        self._moments: dict[WatchKey, Instant | None] = {}

    def next_moment(self) -> Instant | None:
        """When the next of them has soaked; None: none does."""
        return min((each for each in self._moments.values() if each is not None), default=None)

    def add(self, key: WatchKey, days: Days, clocks: Sequence[SoakClock], now: Instant) -> None:
        """A cluster waits for this."""
        if key not in self._moments:
            self._moments[key] = _soaked_at(key, days, clocks, now)

    def is_waited_for(self, fleet: int, versions: Collection[str], now: Instant) -> bool:
        """Whether something is due, or goes at another pace, of an organisation."""
        return any(
            key[1] == fleet and (key[2][0] in versions or (moment is not None and moment <= now))
            for key, moment in self._moments.items()
        )

    def soaked(
        self, fleet: int, days: Days, clocks: Sequence[SoakClock], now: Instant
    ) -> list[WatchKey]:
        """What has soaked for long enough by now, which is forgotten; of the others, when."""
        found = []
        for key in [key for key in self._moments if key[1] == fleet]:
            self._moments[key] = _soaked_at(key, days, clocks, now)
            if self._moments[key] == now:
                found.append(key)
                del self._moments[key]
        return found


def _soaked_at(
    key: WatchKey, days: Days, clocks: Sequence[SoakClock], now: Instant
) -> Instant | None:
    version, needed, *workloads = key[2]
    return soaked_at([((version, each), int(needed)) for each in workloads], days, clocks, now)
