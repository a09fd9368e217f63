"""Faults at the ports: what other systems do to us, drawn from a seed, in any mixture.

Put `FaultyFleet` around a fleet and `FaultyStore` around a store, and rehearse. A fault is what
real systems do; none of them lies: a reading may be old or lack somebody (and say so), but it never
shows a change as done that is not.
"""

import asyncio
import enum
import random
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from tidegate.journal.chain import Entry, Note
from tidegate.kinds.rollouts.core.journal.facts import Task
from tidegate.kinds.rollouts.fleet import Fleet, Observation
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.target import Status, Target
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.port import Claim, Head, Lease, Store


class Fault(enum.Enum):
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
    OVERTAKEN = "overtaken"  # somebody else wrote first
    FULL = "disk full"  # nothing can be written for a while


OF_ACTING = (
    *(Fault.LOST_WRITE, Fault.LOST_ANSWER, Fault.NO_ANSWER, Fault.TWICE, Fault.SLOW),
    *(Fault.CONFLICT, Fault.OUTAGE),
)
OF_READING = (Fault.LOST_WRITE, Fault.SLOW, Fault.STALE, Fault.PARTIAL, Fault.FLAPPING)
OF_STORE_READING = (Fault.GONE_BEFORE, Fault.SLOW)
OF_STORE_WRITING = (*OF_STORE_READING, Fault.GONE_AFTER, Fault.FULL)
OF_APPENDING = (*OF_STORE_WRITING, Fault.OVERTAKEN)


class Faults:
    """Which call meets which fault: so many of a thousand, until a moment."""

    def __init__(
        self,
        seed: int,
        clock: Clock,
        permille: Mapping[Fault, int],
        until: Instant | None = None,
    ) -> None:
        self.random = random.Random(f"faults/{seed}")
        self.clock = clock
        self._permille = dict(permille)
        # None: they never end.
        self._until = until
        self._ends: dict[str, Instant] = {}
        self.met: Counter[Fault] = Counter()
        # Keys the fleet was told, by whomever.
        self.told: set[str] = set()

    def draw(self, among: Sequence[Fault]) -> Fault | None:
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


# No reading is older than this. Whatever caches there are, they catch up.
STALE_MAX = Duration(20 * SECOND)
# Within the time an action is given; what takes longer is `no answer`.
SLOW_S = (0.5, 20.0)
OUTAGE_S = (5.0, 90.0)
_READINGS_KEPT = 20


class FaultyFleet:
    """A fleet that fails as fleets do."""

    def __init__(self, fleet: Fleet, faults: Faults) -> None:
        self._fleet = fleet
        self._faults = faults
        self._readings: dict[str, deque[tuple[Instant, Observation]]] = {}
        self._late: set[asyncio.Task[None]] = set()

    async def partitions(self) -> list[str]:
        """The rollouts there are."""
        if self._faults.draw((Fault.LOST_WRITE,)) is not None:
            raise OutsideError("the fleet does not answer")
        return await self._fleet.partitions()

    async def observe(self, partition: str) -> Observation:
        """A reading: none, an old one, one that lacks some, one that flaps, or a good one."""
        self._check_outage(partition)
        fault = self._faults.draw(OF_READING)
        if fault is Fault.LOST_WRITE:
            raise OutsideError(f"{partition}: the fleet does not answer")
        if fault is Fault.SLOW:
            await asyncio.sleep(self._faults.seconds(*SLOW_S))
        seen = await self._fleet.observe(partition)
        kept = self._readings.setdefault(partition, deque(maxlen=_READINGS_KEPT))
        kept.append((self._faults.clock.now(), seen))
        match fault:
            case Fault.STALE:
                return self._stale(partition)
            case Fault.PARTIAL:
                return self._partial(seen)
            case Fault.FLAPPING:
                return self._flapping(seen)
            case _:
                return seen

    async def act(self, partition: str, task: Task) -> str:
        """Carry a task out, or not, or twice, and say so, or not."""
        self._check_outage(partition)
        fault = self._faults.draw(OF_ACTING)
        match fault:
            case Fault.OUTAGE:
                self._faults.start(partition, self._faults.seconds(*OUTAGE_S))
                self._check_outage(partition)
            case Fault.LOST_WRITE:
                raise OutsideError(f"{task.target}: connection reset")
            case Fault.CONFLICT if task.key not in self._faults.told:
                # Who was told under this key before has it, and does not call it a conflict.
                raise StaleError(f"{task.target}: somebody else changes it")
            case Fault.SLOW:
                await asyncio.sleep(self._faults.seconds(*SLOW_S))
            case _:
                pass
        self._faults.told.add(task.key)
        answer = await self._fleet.act(partition, task)
        match fault:
            case Fault.LOST_ANSWER:
                raise OutsideError(f"{task.target}: connection reset")
            case Fault.NO_ANSWER:
                await asyncio.Event().wait()
            case Fault.TWICE:
                await self._fleet.act(partition, task)
                again = asyncio.create_task(self._again(partition, task))
                self._late.add(again)
                again.add_done_callback(self._late.discard)
            case _:
                pass
        return answer

    async def changes(self) -> AsyncIterator[str]:
        """What may have changed: some of it is never told, and sometimes the line breaks."""
        async for partition in self._fleet.changes():
            fault = self._faults.draw((Fault.LOST_WRITE, Fault.LOST_ANSWER))
            if fault is Fault.LOST_ANSWER:
                raise OutsideError("the fleet hung up")
            if fault is None and not self._faults.lasts(partition):
                yield partition

    async def _again(self, partition: str, task: Task) -> None:
        """Deliver a task once more when nobody waits for it any longer."""
        await asyncio.sleep(self._faults.seconds(1.0, 120.0))
        try:
            await self._fleet.act(partition, task)
        except (OutsideError, StaleError):
            return  # nobody is there to be told

    def _check_outage(self, partition: str) -> None:
        if self._faults.lasts(partition):
            raise OutsideError(f"{partition}: the fleet is down")

    def _stale(self, partition: str) -> Observation:
        oldest = self._faults.clock.now() - STALE_MAX
        old = [seen for at, seen in self._readings[partition] if at >= oldest]
        return self._faults.random.choice(old)

    def _partial(self, seen: Observation) -> Observation:
        kept = tuple(one for one in seen.reports if self._faults.random.random() < 0.6)
        return msgspec.structs.replace(seen, reports=kept, complete=False)

    def _flapping(self, seen: Observation) -> Observation:
        return msgspec.structs.replace(seen, reports=tuple(map(self._flap, seen.reports)))

    def _flap(self, one: Target) -> Target:
        if one.status is not Status.Succeeded or self._faults.random.random() < 0.7:
            return one
        return Target(one.name, Status.Progressing, self._faults.clock.now(), one.revision)


class FaultyStore:
    """A store that fails as databases do."""

    def __init__(
        self, store: Store, faults: Faults, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._store = store
        self._faults = faults
        self._sleep = sleep

    @contextmanager
    def _call(self, among: Sequence[Fault]) -> Iterator[None]:
        """One call: it may fail before it is made, or after."""
        if Fault.FULL in among and self._faults.lasts("disk"):
            raise OutsideError("the disk is full")
        fault = self._faults.draw(among)
        match fault:
            case Fault.FULL:
                self._faults.start("disk", self._faults.seconds(1.0, 60.0))
                raise OutsideError("the disk is full")
            case Fault.GONE_BEFORE:
                raise OutsideError("the database is gone")
            case Fault.OVERTAKEN:
                raise StaleError("somebody else wrote first")
            case Fault.SLOW:
                self._sleep(self._faults.seconds(*SLOW_S))
            case _:
                pass
        yield
        if fault is Fault.GONE_AFTER:
            raise OutsideError("the database went away, and may have committed")

    def append(
        self,
        partition: str,
        notes: Sequence[Note],
        *,
        after: Head | None = None,
        token: int | None = None,
        claims: Sequence[Claim] = (),
        frees: Sequence[str] = (),
    ) -> Head:
        """Write facts."""
        with self._call(OF_APPENDING):
            return self._store.append(
                partition, notes, after=after, token=token, claims=claims, frees=frees
            )

    def read(self, partition: str, *, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """Read entries; the connection may break in the middle."""
        with self._call(OF_STORE_READING):
            yield from self._store.read(partition, after=after, limit=limit)

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

    def lease(self, partition: str, holder: str, now: Instant, term: Duration) -> Lease | None:
        """Take or renew a lease."""
        with self._call(OF_STORE_WRITING):
            return self._store.lease(partition, holder, now, term)

    def release(self, lease: Lease) -> None:
        """Give a lease back."""
        with self._call(OF_STORE_WRITING):
            self._store.release(lease)

    def claims(self) -> list[Claim]:
        """All claims."""
        with self._call(OF_STORE_READING):
            return self._store.claims()

    def compact(
        self,
        partition: str,
        note: Note,
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
