"""Faults at the ports: what other systems do to us, drawn from a seed, in any mixture.

Put `FaultyFleet` around a fleet and `FaultyStore` around a store, and rehearse. A fault is what
real systems do; none of them lies: a reading may be old or incomplete (and say so), but it never
shows a change as done that is not.
"""

import enum
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from tidegate.journal.chain import Break, JournalEntry, JournalNote
from tidegate.journal.lease import KeptLease, Lease, LeaseRequest, Look
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.port import Append, Head, Store, TakenPlace, Tell, append_each


class CallFault(enum.Enum):
    """What can go wrong with one call."""

    # Of a fleet
    LOST_WRITE = "lost write"  # nothing is done, and an error comes back
    LOST_ANSWER = "lost answer"  # it is done, and an error comes back
    NO_ANSWER = "no answer"  # it is done, and nothing ever comes back
    TWICE = "twice"  # it is delivered again, at once and later
    SLOW = "slow"  # it takes long, before it is done or after
    CONFLICT = "conflict"  # the target is not as supposed
    STALE = "stale"  # a reading from a while ago
    PARTIAL = "partial"  # a reading that lacks some targets, and says so
    FLAPPING = "flapping"  # some that are settled report being busy
    OUTAGE = "outage"  # nothing of this partition answers for a while
    # Of a store
    GONE_BEFORE = "database gone before the commit"
    GONE_AFTER = "database gone after the commit"
    OVERTAKEN = "overtaken"  # another writer was first
    FULL = "disk full"  # nothing can be written for a while


OF_ACTING = (
    *(
        CallFault.LOST_WRITE,
        CallFault.LOST_ANSWER,
        CallFault.NO_ANSWER,
        CallFault.TWICE,
        CallFault.SLOW,
    ),
    *(CallFault.CONFLICT, CallFault.OUTAGE),
)
OF_READING = (
    CallFault.LOST_WRITE,
    CallFault.SLOW,
    CallFault.STALE,
    CallFault.PARTIAL,
    CallFault.FLAPPING,
)
OF_STORE_READING = (CallFault.GONE_BEFORE, CallFault.SLOW)
OF_STORE_WRITING = (*OF_STORE_READING, CallFault.GONE_AFTER, CallFault.FULL)
OF_APPENDING = (*OF_STORE_WRITING, CallFault.OVERTAKEN)


class Faults:
    """Which call meets which fault: so many of a thousand, until a moment."""

    def __init__(
        self,
        seed: int,
        clock: Clock,
        permille: Mapping[CallFault, int],
        until: Instant | None = None,
    ) -> None:
        self.random = random.Random(f"faults/{seed}")
        self.clock = clock
        self._permille = dict(permille)
        # None: they never end.
        self._until = until
        self._ends: dict[str, Instant] = {}
        self.met: Counter[CallFault] = Counter()
        # Keys that reached the fleet, from any worker.
        self.told: set[str] = set()

    def draw(self, among: Sequence[CallFault]) -> CallFault | None:
        """The fault a call meets; None: it is well."""
        if self._until is not None and self.clock.now() >= self._until:
            return None
        lot = self.random.randrange(1000)
        for fault in among:
            lot -= self._permille.get(fault, 0)
            if lot < 0:
                self.met[fault] += 1
                return fault
        return None

    def start(self, what: str, seconds: float) -> None:
        """Something lasts from now on; not beyond the end of all faults."""
        end = Instant(self.clock.now() + round(seconds * SECOND))
        self._ends[what] = end if self._until is None else min(end, self._until)

    def lasts(self, what: str) -> bool:
        """Whether it still does."""
        return self._ends.get(what, 0) > self.clock.now()

    def seconds(self, least: float, most: float) -> float:
        """Some stretch of time."""
        return self.random.uniform(least, most)


# Within the time an action is given; what takes longer is `no answer`.
SLOW_S = (0.5, 20.0)


class FaultyStore:
    """A store that fails as databases do."""

    def __init__(
        self, store: Store, faults: Faults, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._store = store
        self._faults = faults
        self._sleep = sleep

    @contextmanager
    def _call(self, among: Sequence[CallFault]) -> Iterator[None]:
        """One call: it may fail before it is made, or after."""
        if CallFault.FULL in among and self._faults.lasts("disk"):
            raise OutsideError("the disk is full")
        fault = self._faults.draw(among)
        match fault:
            case CallFault.FULL:
                self._faults.start("disk", self._faults.seconds(1.0, 60.0))
                raise OutsideError("the disk is full")
            case CallFault.GONE_BEFORE:
                raise OutsideError("the database is gone")
            case CallFault.OVERTAKEN:
                raise StaleError("another writer was first")
            case CallFault.SLOW:
                self._sleep(self._faults.seconds(*SLOW_S))
            case _:
                pass
        yield
        if fault is CallFault.GONE_AFTER:
            raise OutsideError("the database went away, and may have committed")

    def append(
        self,
        partition: str,
        notes: Sequence[JournalNote],
        *,
        after: Head | None = None,
        token: int | None = None,
        claims: Sequence[TakenPlace] = (),
        frees: Sequence[str] = (),
    ) -> Head:
        """Write facts."""
        with self._call(OF_APPENDING):
            return self._store.append(
                partition, notes, after=after, token=token, claims=claims, frees=frees
            )

    def append_many(self, appends: Sequence[Append]) -> list[Head | StaleError]:
        """Several appends, one after the other; each is written or refused by itself."""
        return append_each(self, appends)

    def read(
        self, partition: str, *, after: int = 0, limit: int | None = None
    ) -> Iterator[JournalEntry]:
        """Read entries; the connection may break in the middle."""
        with self._call(OF_STORE_READING):
            yield from self._store.read(partition, after=after, limit=limit)

    def verify(self, partition: str, tell: Tell | None = None) -> Break | None:
        """Where a chain does not hold."""
        return self._store.verify(partition, tell)

    def head(self, partition: str) -> Head:
        """The end of a chain."""
        with self._call(OF_STORE_READING):
            return self._store.head(partition)

    def heads(self) -> dict[str, int]:
        """The end of every chain."""
        with self._call(OF_STORE_READING):
            return self._store.heads()

    def partitions(self) -> list[str]:
        """All names."""
        with self._call(OF_STORE_READING):
            return self._store.partitions()

    def save(self, partition: str, seq: int, state: bytes) -> None:
        """Keep a projection."""
        with self._call(OF_STORE_WRITING):
            self._store.save(partition, seq, state)

    def load(self, partition: str) -> tuple[int, bytes] | None:
        """The projection kept last."""
        with self._call(OF_STORE_READING):
            return self._store.load(partition)

    def lease(
        self,
        partition: str,
        holder: str,
        now: Instant,
        term: Duration,
        look: Look | None = None,
    ) -> Lease | None:
        """Take or renew a lease."""
        with self._call(OF_STORE_WRITING):
            return self._store.lease(partition, holder, now, term, look)

    def release(self, lease: Lease, look: Look | None = None) -> None:
        """Give a lease back."""
        with self._call(OF_STORE_WRITING):
            self._store.release(lease, look)

    def renew(
        self, holder: str, looks: Mapping[str, Look], now: Instant, term: Duration
    ) -> dict[str, KeptLease]:
        """Renew many leases."""
        with self._call(OF_STORE_WRITING):
            return self._store.renew(holder, looks, now, term)

    def take_many(
        self, holder: str, looks: Mapping[str, Look], now: Instant, term: Duration
    ) -> dict[str, Lease]:
        """Take many leases."""
        with self._call(OF_STORE_WRITING):
            return self._store.take_many(holder, looks, now, term)

    def release_many(self, leases: Sequence[tuple[Lease, Look]]) -> None:
        """Give many leases back."""
        with self._call(OF_STORE_WRITING):
            self._store.release_many(leases)

    def wish(self, partitions: Sequence[str], wish: LeaseRequest, now: Instant) -> None:
        """Ask for leases of others."""
        with self._call(OF_STORE_WRITING):
            self._store.wish(partitions, wish, now)

    def leases(self) -> dict[str, KeptLease]:
        """Every lease."""
        with self._call(OF_STORE_READING):
            return self._store.leases()

    def claims(self) -> list[TakenPlace]:
        """All claims."""
        with self._call(OF_STORE_READING):
            return self._store.claims()

    def compact(
        self,
        partition: str,
        note: JournalNote,
        *,
        keep_after: int,
        after: Head | None = None,
        token: int | None = None,
    ) -> Head:
        """Drop old entries."""
        with self._call(OF_APPENDING):
            return self._store.compact(
                partition, note, keep_after=keep_after, after=after, token=token
            )

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()
