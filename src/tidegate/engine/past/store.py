"""A journal that ends at a moment: what was written later is not there, and nothing is written.

Moments of a chain hardly ever go back (a survey may be dated a little before the entry that it
follows), so where a chain ended is found by halving it: 17 entries are read of 100,000. The end of
a later moment is never before that of an earlier one, whatever the moments in between are.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from tidegate.gates.claims import Claim
from tidegate.journal.chain import Break, JournalEntry, genesis
from tidegate.journal.lease import KeptLease
from tidegate.journal.pieces import Chain
from tidegate.journal.selection import EntryFilter
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.model.time import Instant, format_second
from tidegate.store.archive_port import Archive, ReadOnlyArchive
from tidegate.store.port import Head, TakenPlace, Tell


class PastMoment(msgspec.Struct, frozen=True):
    """A moment of the past; of one partition, it may be right behind one of its entries."""

    at: Instant
    partition: str = ""
    seq: int = 0


class PastStore(ReadOnlyArchive):
    """An archive up to a moment, for readers. Leases are not facts, so there are none."""

    def __init__(
        self,
        archive: Archive,
        moment: PastMoment,
        claims: Callable[[], Iterable[Claim]] = tuple,
    ) -> None:
        """`claims`: the places that recorded decisions knew to be taken."""
        self._archive = archive
        self.moment = moment
        self._claims = claims
        self._chains: dict[str, Chain] | None = None
        self._ends: dict[str, int] = {}

    def _chain(self, partition: str) -> Chain | None:
        if self._chains is None:
            self._chains = {each.partition: each for each in self._archive.chains()}
        return self._chains.get(partition)

    def end(self, partition: str) -> int:
        """The number of the last entry by then; 0: there was none, or it is dropped."""
        found = self._ends.get(partition)
        if found is None:
            found = self._ends[partition] = self._found_end(partition)
        return found

    def dropped(self) -> frozenset[str]:
        """Partitions of which a compaction dropped the first entries."""
        self._chain("")
        return frozenset(each.partition for each in (self._chains or {}).values() if each.base_seq)

    def _found_end(self, partition: str) -> int:
        chain = self._chain(partition)
        if chain is None:
            return 0
        if partition == self.moment.partition:
            seq = min(self.moment.seq, chain.seq)
            return seq if seq > chain.base_seq else 0
        low, high = chain.base_seq, chain.seq
        while low < high:  # the entry `low` was written by then, `high + 1` was not
            middle = (low + high + 1) // 2
            if self._at(partition, middle) <= self.moment.at:
                low = middle
            else:
                high = middle - 1
        return low if low > chain.base_seq else 0

    def _at(self, partition: str, seq: int) -> Instant:
        entry = next(iter(self._archive.read(partition, after=seq - 1, limit=1)), None)
        # It was dropped meanwhile: what follows it is later.
        return entry.at if entry is not None else self.moment.at

    def read(
        self, partition: str, *, after: int = 0, limit: int | None = None
    ) -> Iterator[JournalEntry]:
        """The entries of a partition behind a number, in order, up to the moment."""
        left = self.end(partition) - after
        if left <= 0:
            return
        most = left if limit is None else min(left, limit)
        for entry in self._archive.read(partition, after=after, limit=most):
            if entry.seq > self.end(partition):
                return
            yield entry

    def find(
        self, partition: str, wanted: EntryFilter, *, after: int = 0
    ) -> Iterator[JournalEntry]:
        """The entries that are wanted, up to the moment."""
        end = self.end(partition)
        for entry in self._archive.find(partition, wanted, after=after):
            if entry.seq > end:
                return
            yield entry

    def head(self, partition: str) -> Head:
        """The last entry by then."""
        end = self.end(partition)
        found = next(iter(self._archive.read(partition, after=end - 1, limit=1)), None)
        if not end or found is None:
            return Head(0, genesis(partition))
        return Head(found.seq, found.hash)

    def heads(self) -> dict[str, int]:
        """The last number of every partition that had an entry."""
        return {each: end for each in self._archive.partitions() if (end := self.end(each))}

    def partitions(self) -> list[str]:
        """The partitions that had an entry."""
        return list(self.heads())

    def load(self, partition: str) -> tuple[int, bytes] | None:
        """The projection that is kept, if it is not of a later entry."""
        kept = self._archive.load(partition)
        return kept if kept is not None and kept[0] <= self.end(partition) else None

    def leases(self) -> dict[str, KeptLease]:
        """Which worker led is not recorded."""
        return {}

    def claims(self) -> list[TakenPlace]:
        """Every place that a decision knew to be taken; some may have been given back by then."""
        return [
            TakenPlace(each.name, each.place, each.partition, each.key, each.since or Instant(0))
            for each in self._claims()
        ]

    def verify(self, partition: str, tell: Tell | None = None) -> Break | None:
        """Whether the chain holds, up to its present end."""
        return self._archive.verify(partition, tell)

    def chains(self) -> list[Chain]:
        """Every chain, up to its present end."""
        return self._archive.chains()

    def close(self) -> None:
        """The archive belongs to its opener."""

    def refusal(self) -> Exception:
        """What was is not changed."""
        what = f"the journal of {format_second(self.moment.at)} cannot be changed"
        return UserError((Problem("at", what, "leave the moment out to act now"),))
