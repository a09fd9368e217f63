"""A journal on a server, as one process that reads it again and again last saw it.

One look is one or two questions to the server, however many partitions there are: all rows of
partitions, and the entries behind those that are known of the partitions that are followed. What is
read afterwards is in memory, as of that look: the ends of chains, leases, and the last entries of
what was read lately. Anything else is asked of the server, unless the caller wants only what is at
hand: an event loop must not wait for a server.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock, local

from msgspec.structs import replace

from tidegate.journal.chain import Break, JournalEntry, JournalNote, genesis, link
from tidegate.journal.lease import KeptLease
from tidegate.journal.pieces import Chain
from tidegate.journal.selection import EntryFilter
from tidegate.store.archive_port import Archive, JournalSnapshot, ReadOnlyArchive, SeenPartition
from tidegate.store.port import Head, TakenPlace, Tell

# Entries that are kept of a chain at least, once it was read: what a page shows at its end, and a
# few seconds of a rollout under way for those that read it again.
KEPT_MIN = 128
# And at most: what the usual pace of a change is read from, and some more.
KEPT_MAX = 6_000
# What all of them may weigh: those that were not read for longest are forgotten.
BYTES_MAX = 64_000_000
# What an entry weighs beside its body, about.
_ENTRY_BYTES = 400


class NotAtHandError(Exception):
    """What is asked for is not in memory, and the caller does not wait for a server."""


class _Tail:
    """The last entries of a chain, up to the end that was last seen."""

    def __init__(self, entries: list[JournalEntry], end: int, keep: int) -> None:
        self.entries = entries
        self.end = end
        # How many are kept; twice as many are there at most.
        self.keep = keep
        self.weight = _weight(entries)

    @property
    def start(self) -> int:
        """The number before the first entry."""
        return self.end - len(self.entries)

    def grow(self, more: list[JournalEntry]) -> None:
        """Take in what was written since; drop the oldest ones."""
        self.entries += more
        self.end = more[-1].seq
        if len(self.entries) > 2 * self.keep:
            self.entries = self.entries[-self.keep :]
            self.weight = _weight(self.entries)
        else:
            self.weight += _weight(more)


def _weight(entries: list[JournalEntry]) -> int:
    return sum(len(each.body) for each in entries) + _ENTRY_BYTES * len(entries)


class FollowedJournal(ReadOnlyArchive):
    """An archive as of the last look, for readers."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._lock = Lock()
        self._looking = Lock()
        self._mode = local()
        self._seen: dict[str, SeenPartition] = {}
        self._heads: dict[str, int] = {}
        self._leases: dict[str, KeptLease] = {}
        self._claims: list[TakenPlace] | None = None
        # Whether claims were ever asked for: then they are part of every look.
        self._wants_claims = False
        # Ends of chains that this process wrote, until a look has seen them.
        self._ours: dict[str, Chain] = {}
        # By when they were last read, the last one at the end.
        self._tails: OrderedDict[str, _Tail] = OrderedDict()
        self._weight = 0

    @contextmanager
    def at_hand(self) -> Iterator[None]:
        """In this thread, whatever is not in memory is a NotAtHandError."""
        self._mode.at_hand = True
        try:
            yield
        finally:
            self._mode.at_hand = False

    @property
    def is_at_hand(self) -> bool:
        """Whether this thread does not wait."""
        return getattr(self._mode, "at_hand", False)

    def _asked(self) -> Archive:
        """The archive, for what is not in memory."""
        if self.is_at_hand:
            raise NotAtHandError
        return self._archive

    def refresh(self) -> None:
        """See the journal as it is now; one look at a time."""
        with self._looking:
            with self._lock:
                known = {name: each.end for name, each in self._tails.items()}
            found = self._asked().look(known, claims=self._wants_claims)
            with self._lock:
                self._take(found, known)

    def _take(self, found: JournalSnapshot, known: dict[str, int]) -> None:
        seen = found.partitions
        for name, ours in [*self._ours.items()]:
            if name in seen and seen[name].chain.seq < ours.seq:  # it was written meanwhile
                seen = {**seen, name: replace(seen[name], chain=ours)}
            else:
                del self._ours[name]
        self._seen, self._claims = seen, found.claims
        self._heads = {name: each.chain.seq for name, each in seen.items() if each.chain.seq}
        self._leases = {name: each.record for name, each in seen.items() if each.record.lease.token}
        for name, end in known.items():
            self._follow(name, end, found.entries.get(name, []))
        self._forget()

    def wrote(self, partition: str, before: Head, notes: Sequence[JournalNote]) -> None:
        """This process appended notes behind an end: they are seen without a look."""
        written = list(link(before.hash, before.seq + 1, notes))
        with self._lock:
            seen, tail = self._seen.get(partition), self._tails.get(partition)
            if not written or seen is None or seen.chain.seq != before.seq:
                return  # a look has seen it, or will
            last = written[-1]
            chain = self._ours[partition] = replace(seen.chain, seq=last.seq, hash=last.hash)
            self._seen = {**self._seen, partition: replace(seen, chain=chain)}
            self._heads = {**self._heads, partition: last.seq}
            if tail is not None and tail.end == before.seq:
                self._weight -= tail.weight
                tail.grow(written)
                self._weight += tail.weight

    def _follow(self, name: str, end: int, more: list[JournalEntry]) -> None:
        """Take in the entries of a chain behind the end that was known."""
        tail, now = self._tails.get(name), self._heads.get(name, 0)
        if tail is None or tail.end != end:  # it was read meanwhile, or is forgotten
            return
        before = tail.weight
        if more and more[-1].seq == now:
            tail.grow(more)
            self._weight += tail.weight - before
        elif now != end:  # more than one look takes, or it was compacted: read when asked for
            del self._tails[name]
            self._weight -= before

    def _forget(self) -> None:
        while self._weight > BYTES_MAX and len(self._tails) > 1:
            self._weight -= self._tails.popitem(last=False)[1].weight

    def read(
        self, partition: str, *, after: int = 0, limit: int | None = None
    ) -> Iterator[JournalEntry]:
        """The entries of a partition behind a number, up to the end that was last seen."""
        with self._lock:
            end, tail = self._heads.get(partition, 0), self._tails.get(partition)
            if after >= end:
                return
            known: list[JournalEntry] | None = None
            if tail is not None and tail.end == end and after >= tail.start:
                first = after - tail.start
                known = tail.entries[first : None if limit is None else first + limit]
                self._tails.move_to_end(partition)
        yield from self._fetched(partition, after, limit, end) if known is None else known

    def _fetched(
        self, partition: str, after: int, limit: int | None, end: int
    ) -> Iterator[JournalEntry]:
        """Entries that are asked of the server; the last ones are kept, if they are the last."""
        keep = max(KEPT_MIN, min(end - after, KEPT_MAX))
        last: deque[JournalEntry] = deque(maxlen=keep)
        most = end - after if limit is None else min(limit, end - after)
        for entry in self._asked().read(partition, after=after, limit=most):
            if entry.seq > end:
                break
            last.append(entry)
            yield entry
        if last and last[-1].seq == end:
            self._keep(partition, _Tail(list(last), end, keep))

    def _keep(self, partition: str, tail: _Tail) -> None:
        with self._lock:
            known = self._tails.get(partition)
            if known is not None:
                if known.start <= tail.start or tail.end < known.start:
                    return
                # A look went on meanwhile: what is older is put before what it has seen.
                older = tail.entries[: known.start - tail.start]
                tail = _Tail([*older, *known.entries], known.end, max(known.keep, tail.keep))
                self._weight -= known.weight
            self._weight += tail.weight
            self._tails[partition] = tail
            self._tails.move_to_end(partition)
            self._forget()

    def head(self, partition: str) -> Head:
        """The end of a chain."""
        seen = self._seen.get(partition)
        if seen is None:
            return Head(0, genesis(partition))
        return Head(seen.chain.seq, seen.chain.hash)

    def heads(self) -> dict[str, int]:
        """The last number of every partition."""
        return self._heads

    def partitions(self) -> list[str]:
        """The names of all partitions."""
        return list(self._heads)

    def chains(self) -> list[Chain]:
        """Every chain."""
        return [each.chain for each in self._seen.values() if each.chain.seq]

    def leases(self) -> dict[str, KeptLease]:
        """Every lease that was ever given out."""
        return self._leases

    def claims(self) -> list[TakenPlace]:
        """All claims there are."""
        self._wants_claims = True
        known = self._claims
        return self._asked().claims() if known is None else known

    def load(self, partition: str) -> tuple[int, bytes] | None:
        """The projection kept last."""
        return self._asked().load(partition)

    def find(
        self, partition: str, wanted: EntryFilter, *, after: int = 0
    ) -> Iterator[JournalEntry]:
        """The entries that are wanted."""
        return self._asked().find(partition, wanted, after=after)

    def verify(self, partition: str, tell: Tell | None = None) -> Break | None:
        """Whether a chain holds."""
        return self._asked().verify(partition, tell)

    def close(self) -> None:
        """The archive belongs to its opener."""

    def refusal(self) -> Exception:
        """A mistake of ours."""
        return TypeError("what was seen of a journal is not written to: write to the journal")
