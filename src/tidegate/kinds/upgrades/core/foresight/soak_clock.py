"""How long versions will have run: by how many clusters run them, and not cluster by cluster.

    on 4.16.4 under pay: 3 clusters, 2 days so far     a day later: 5 days

What a ledger results in if its clusters are looked at in every round. One that gets another version
soaks the old one until the round before, and the new one from the round on that shows it.
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from tidegate.kinds.upgrades.core.history import Minima
from tidegate.kinds.upgrades.core.rules.soak import DAY, Days, SoakLedger, SoakSnapshot
from tidegate.model.time import Instant

_UNIT = 1000
_Soaked = tuple[str, str]


class SoakClock:
    """What soaks in one organisation, as time goes on."""

    def __init__(self, ledger: SoakLedger) -> None:
        self._reporting = ledger.reporting
        self.days: dict[_Soaked, int] = dict(ledger.days)
        self.sights: dict[str, SoakSnapshot] = dict(ledger.sights)
        self.minima: Minima | None = ledger.minima
        self.at: Instant | None = ledger.checked_at
        # How many clusters soak what right now; clusters that are gone do not.
        self.running: dict[_Soaked, int] = {}
        self._there = {uuid for uuid, one in self.sights.items() if one.at == self.at}
        for uuid in self._there:
            self._count(self.sights[uuid], 1)

    def advance(self, until: Instant) -> None:
        """Let versions soak until a moment."""
        if self.at is None or until <= self.at:
            return
        passed = (until - self.at) // _UNIT
        for key, number in self.running.items():
            self.days[key] = self.days.get(key, 0) + number * passed
        self.at = until

    def leave(self, uuid: str) -> None:
        """A cluster has another version by now: nothing of it soaks until it is seen there."""
        if uuid in self._there:
            self._count(self.sights[uuid], -1)

    def arrive(self, uuid: str, version: str, since: Instant) -> None:
        """A cluster that left is seen on another version, which it may have had for a round."""
        if uuid in self._there:
            found = replace(self.sights[uuid], version=version, since=since)
            self.sights[uuid] = found
            for workload in found.workloads if found.healthy else ():
                self.days.setdefault((version, workload), 0)
            self._count(found, 1)

    def version_of(self, uuid: str) -> str | None:
        """The version a cluster was seen on; None: it is not counted."""
        return self.sights[uuid].version if uuid in self._there else None

    def kept(self) -> "KeptSoak":
        """What has soaked by now, to be read later."""
        return KeptSoak(
            SoakLedger(
                days=dict(self.days),
                sights=dict(self.sights),
                reporting=self._reporting,
                minima=self.minima,
                checked_at=self.at,
            ),
            self._there,
        )

    def outline(self) -> SoakLedger:
        """The same for gates, which ask since when, and not when last."""
        return SoakLedger(days=self.days, sights=self.sights, checked_at=self.at)

    def _count(self, one: SoakSnapshot, number: int) -> None:
        for workload in one.workloads if one.healthy else ():
            key = (one.version, workload)
            self.running[key] = self.running.get(key, 0) + number
            if not self.running[key]:
                del self.running[key]


class KeptSoak(msgspec.Struct, frozen=True):
    """What had soaked at a moment."""

    # Its sights say since when, and not when last.
    outline: SoakLedger
    there: set[str]  # who was seen

    def ledger(self) -> SoakLedger:
        """The ledger that rounds would have resulted in."""
        at = self.outline.checked_at
        sights = {
            uuid: replace(one, at=at) if at is not None and uuid in self.there else one
            for uuid, one in self.outline.sights.items()
        }
        return replace(self.outline, sights=sights)


def soaked_at(
    needed: Iterable[tuple[_Soaked, int]], days: Days, clocks: Sequence[SoakClock], now: Instant
) -> Instant | None:
    """When each of some has run for so many days, at the pace of now; None: not at this pace.

    Now, if each has. `days` are as of the last look of the first clock.
    """
    since, moment = clocks[0].at or now, now
    for key, wanted in needed:
        left = wanted * DAY - days.get(key, 0)
        if left <= 0:
            continue
        on = sum(each.running.get(key, 0) for each in clocks)
        if not on:
            return None
        moment = max(moment, Instant(now + 1), Instant(since + -(-left // on) * _UNIT))
    return moment
