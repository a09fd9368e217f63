"""A worker tends many partitions: one at a time each, some at once, nobody waiting for another.

A partition is looked at when its fleet may have changed, when somebody wrote to its journal, when
time alone changes a verdict, and every so often anyway. One whose outside system is slow or broken
holds up itself alone. Whoever tends a partition holds its lease; the token of the lease is checked
by the store at every write, so that a worker that lost it without noticing does nothing.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from tidegate.engine.acting import Actor
from tidegate.engine.brake_book import BrakeBook
from tidegate.engine.desk import AnyDesk
from tidegate.engine.kind import Ended, Kind, TroubleError
from tidegate.engine.rollouts import Rollouts
from tidegate.engine.telling import Teller
from tidegate.gates.brakes import Brakes
from tidegate.gates.scope import kind_word
from tidegate.journal.facts import Mode
from tidegate.kinds.rollouts.fleet import Fleet
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.port import Lease, Store

# A rollout that is missing from the list this often is gone.
MISSED_MAX = 3


class Settings(msgspec.Struct, frozen=True):
    """How a worker works; every wait has a limit."""

    holder: str
    # Partitions that are acted on; all others are only observed.
    act: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("*",)
    lease_term: Duration = Duration(30 * SECOND)
    # How soon a fact written by somebody else (an approval, a hold) is noticed.
    listen_s: float = 0.5
    # How long a partition is left alone if nothing calls for it.
    resync_s: float = 30.0
    discover_s: float = 5.0
    # How often whoever does not lead asks whether it may.
    follow_s: float = 1.0
    rounds_max: int = 8
    observe_timeout_s: float = 60.0
    backoff_first_s: float = 1.0
    backoff_max_s: float = 120.0
    # How long rounds under way may take to end once the worker is told to stop.
    grace_s: float = 20.0


class Led(msgspec.Struct, frozen=True):
    """A partition became ours to lead, or is no longer."""

    leads: bool


class Vitals(msgspec.Struct, frozen=True):
    """How a worker is doing, for probes and metrics."""

    led: frozenset[str]
    tended: frozenset[str]
    # Rounds that wait for their turn, and rounds under way.
    waiting: int
    under_way: int
    # Entries in the journal that no round has taken into account yet, where we lead.
    behind: int
    discovered: bool
    # The event loop's time when the journal last answered; None: it has not yet.
    journal_at: float | None


# What happened to a partition: for logs, metrics and tests.
Report = Callable[[str, "Ended | Led | Exception"], None]


class Worker:
    """Tends the partitions of a fleet until it is told to stop."""

    def __init__(
        self,
        store: Store,
        fleet: Fleet,
        clock: Clock,
        actor: Actor,
        settings: Settings,
        report: Report | None = None,
        book: BrakeBook | None = None,
        teller: Teller | None = None,
        kinds: Sequence[Kind[Any]] = (),
    ) -> None:
        self._store = store
        self._kinds: tuple[Kind[Any], ...] = (Rollouts(fleet, actor, teller), *kinds)
        # Of which kind everything is that was ever discovered.
        self._kind_of: dict[str, Kind[Any]] = {}
        self._clock = clock
        self._settings = settings
        self._book = book if book is not None else BrakeBook(store)
        self._report = report or (lambda _partition, _outcome: None)
        self._wakes: dict[str, asyncio.Event] = {}
        self._tended: dict[str, asyncio.Task[None]] = {}
        self._rounds = asyncio.Semaphore(settings.rounds_max)
        self._jitter = random.Random(settings.holder)
        self._stop = asyncio.Event()
        self._led: set[str] = set()
        self._waiting = self._under_way = 0
        self._heads: dict[str, int] = {}
        self._seen: dict[str, int] = {}
        self._troubles: dict[str, dict[str, str]] = {}
        self._discovered = False
        # How often in a row a rollout was not listed.
        self._missed: dict[str, int] = {}
        self._journal_at: float | None = None
        self._crash: BaseException | None = None

    def vitals(self) -> Vitals:
        """How it is doing."""
        behind = (self._heads.get(each, 0) - self._seen.get(each, 0) for each in self._led)
        return Vitals(
            led=frozenset(self._led),
            tended=frozenset(self._tended),
            waiting=self._waiting,
            under_way=self._under_way,
            behind=sum(max(0, entries) for entries in behind),
            discovered=self._discovered,
            journal_at=self._journal_at,
        )

    def wake(self, partition: str) -> None:
        """Something happened to a partition: look at it soon."""
        event = self._wakes.get(partition)
        if event is not None:
            event.set()

    def wake_all(self) -> None:
        """Something happened that concerns everybody: a brake was set or lifted, a place freed."""
        for event in self._wakes.values():
            event.set()

    def stop(self) -> None:
        """Start nothing more; what is under way ends, or is handed over."""
        for kind in self._kinds:
            kind.stop()
        self._stop.set()

    async def run(self) -> None:
        """Tend everything until told to stop. A bug in any part ends the whole, and is raised."""
        aside = [self._begin(self._listen())]
        aside += [self._begin(self._watch(kind)) for kind in self._kinds]
        beside = (kind.beside(self.wake) for kind in self._kinds)
        aside += [self._begin(each) for each in beside if each is not None]
        try:
            while not self._stop.is_set():
                await self._discover()
                await _first(self._stop.wait(), asyncio.sleep(self._settings.discover_s))
            if self._tended:
                await asyncio.wait(self._tended.values(), timeout=self._settings.grace_s)
        finally:
            self.stop()
            under_way = [*aside, *self._tended.values()]
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
        if self._crash is not None:
            raise self._crash

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        """What ends by an error nobody expected must not end unseen."""
        error = None if task.cancelled() else task.exception()
        if error is not None and self._crash is None:
            self._crash = error
            self.stop()

    async def _discover(self) -> None:
        found: set[str] = set()
        whole = True
        for kind in self._kinds:
            try:
                async with asyncio.timeout(self._settings.observe_timeout_s):
                    some = await kind.partitions()
            except (OutsideError, TimeoutError, OSError) as error:
                self._report("", error)
                whole = False
                continue
            found.update(some)
            self._kind_of |= dict.fromkeys(some, kind)
        for partition in sorted(found):
            mine = any(fnmatchcase(kind_word(partition), kind) for kind in self._settings.kinds)
            if mine and partition not in self._tended:
                self._wakes[partition] = asyncio.Event()
                self._tended[partition] = self._begin(self._tend(partition))
        if whole:
            self._leave(frozenset(found))
            self._discovered = True

    def _leave(self, found: frozenset[str]) -> None:
        """Tend a rollout no more once it was missing some times in a row: lists may be short."""
        for partition in [each for each in self._tended if each not in found]:
            self._missed[partition] = self._missed.get(partition, 0) + 1
            if self._missed[partition] >= MISSED_MAX:
                self._tended.pop(partition).cancel()
                self._wakes.pop(partition)
        self._missed = {each: n for each, n in self._missed.items() if each not in found}

    async def _listen(self) -> None:
        """Notice what others write: approvals, holds, another worker's entries."""
        known: dict[str, int] = {}
        brakes: Brakes | None = None
        while True:
            try:
                found = await asyncio.to_thread(self._book.read, self._clock.now())
                if found is not brakes:
                    self.wake_all()
                brakes = found
                heads = await asyncio.to_thread(self._store.heads)
                self._journal_at = asyncio.get_running_loop().time()
            except (OutsideError, OSError) as error:
                self._report("", error)
                heads = known
            for partition, seq in heads.items():
                # What our own rounds wrote is no news to us.
                if known.get(partition) != seq and self._seen.get(partition) != seq:
                    self.wake(partition)
            known = self._heads = heads
            await asyncio.sleep(self._settings.listen_s)

    async def _watch(self, kind: Kind[Any]) -> None:
        """Hear from a fleet itself what may have changed."""
        failures = 0
        while True:
            try:
                async for partition in kind.changes():
                    failures = 0
                    self.wake(partition)
            except (OutsideError, TimeoutError, OSError) as error:
                self._report("", error)
            failures += 1
            await asyncio.sleep(self._backoff_s(failures))

    async def _tend(self, partition: str) -> None:
        """Round after round, for as long as the lease is ours."""
        kind = self._kind_of[partition]
        desk: AnyDesk[Any] | None = None
        failures = 0
        lease: Lease | None = None
        renews = True
        try:
            while not self._stop.is_set():
                try:
                    if renews or not self._lasts(lease):
                        lease = await self._lease(partition)
                    renews = False
                    self._lead(partition, lease is not None)
                    if lease is None:
                        again_s = self._settings.follow_s
                        await self._pause(partition, self._clock.now() + round(again_s * SECOND))
                        continue
                    if desk is None:
                        desk = await asyncio.to_thread(
                            kind.desk, self._store, partition, self._book
                        )
                        desk.wake = partial(self.wake, partition)
                    async with self._turn():
                        result = await self._round(kind, desk, lease)
                    failures = 0
                    self._report(partition, result)
                    self._complain(partition, result.troubles)
                    await kind.told(desk, self._clock, lease, result)
                    self._seen[partition] = desk.next_seq - 1
                    if result.frees:
                        self.wake_all()
                    await self._pause(partition, result.recheck_at)
                except (OutsideError, StaleError, TimeoutError, OSError) as error:
                    failures += 1
                    desk = None  # what we thought we knew may be wrong: fold it again
                    renews = True
                    self._report(partition, error)
                    await _first(self._stop.wait(), asyncio.sleep(self._backoff_s(failures)))
        finally:
            self._lead(partition, False)
            if lease is not None:
                await asyncio.shield(self._release(lease))

    async def _release(self, lease: Lease) -> None:
        """Give a lease back; where that fails, it runs out by itself."""
        try:
            await asyncio.to_thread(self._store.release, lease)
        except (OutsideError, StaleError, OSError) as error:
            self._report(lease.partition, error)

    def _complain(self, partition: str, troubles: dict[str, str]) -> None:
        """Tell what could not be found out, and why, once for as long as it stays so."""
        before = self._troubles.get(partition, {})
        self._troubles[partition] = troubles
        for what, why in troubles.items():
            if before.get(what) != why:
                self._report(partition, TroubleError(f"{what}: {why}"))

    def _lead(self, partition: str, leads: bool) -> None:
        if leads is not (partition in self._led):
            (self._led.add if leads else self._led.discard)(partition)
            if not leads:
                self._kind_of[partition].left(partition)
            self._report(partition, Led(leads))

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Wait until fewer rounds are under way than may be."""
        self._waiting += 1
        try:
            await self._rounds.acquire()
        finally:
            self._waiting -= 1
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._rounds.release()

    async def _lease(self, partition: str) -> Lease | None:
        now, term = self._clock.now(), self._settings.lease_term
        return await asyncio.to_thread(
            self._store.lease, partition, self._settings.holder, now, term
        )

    def _lasts(self, lease: Lease | None) -> bool:
        """Whether a lease need not be renewed yet: over half of its term is left."""
        term = self._settings.lease_term
        return lease is not None and term // 2 < lease.until - self._clock.now() <= term

    async def _round(self, kind: Kind[Any], desk: AnyDesk[Any], lease: Lease) -> Ended:
        acts = any(fnmatchcase(desk.partition, pattern) for pattern in self._settings.act)
        mode = Mode.ACT if acts else Mode.OBSERVE
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with asyncio.timeout(self._settings.observe_timeout_s):
            done = await kind.round(desk, self._clock, lease, mode)
        return replace(done, took_s=loop.time() - began)

    async def _pause(self, partition: str, until: Instant | int | None) -> None:
        """Until something happens, time changes a verdict, or it is time to look anyway."""
        wake = self._wakes[partition]
        # The lease is renewed by the next round, so that must come well before its end.
        longest = min(self._settings.resync_s, self._settings.lease_term / SECOND / 3)
        left = longest if until is None else (until - self._clock.now()) / SECOND
        pause = asyncio.sleep(max(0.0, min(left, longest)))
        await _first(wake.wait(), self._stop.wait(), pause)
        wake.clear()

    def _backoff_s(self, failures: int) -> float:
        """Twice as long each time, up to a limit, and never two workers in step."""
        settings = self._settings
        doubled = settings.backoff_first_s * float(2 ** min(failures - 1, 16))
        return min(settings.backoff_max_s, doubled) * self._jitter.uniform(0.5, 1.0)


async def _first(*waits: Coroutine[Any, Any, object]) -> None:
    """Wait for whichever comes first; the others are given up."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
