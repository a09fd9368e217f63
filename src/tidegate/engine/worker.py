"""A worker runs the rounds of many partitions: one at a time each, several side by side.

A partition gets a round when its targets may have changed, when a fact was written to its journal,
when time alone changes a verdict, and every so often anyway. One whose outside system is slow or
broken delays itself alone. The worker that leads a partition holds its lease; the store checks the
token of the lease at every write, so that a worker that lost it without noticing writes nothing.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from msgspec.structs import replace

from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.execute import Executor
from tidegate.engine.journal import Journal
from tidegate.engine.kind import Kind
from tidegate.engine.leading.discovery import Discovery
from tidegate.engine.leading.leadership import Leadership
from tidegate.engine.leading.turns import Backoff, Turns, rest
from tidegate.engine.notify import NoticeQueue
from tidegate.engine.others import OtherStates
from tidegate.engine.partition import PartitionState, verify_chain
from tidegate.engine.round import Round, RoundContext, RoundResult, rests_on
from tidegate.engine.vitals import KnownTroubles, Led, Vitals
from tidegate.engine.watchdog import Steps
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.gates.brakes import Brakes
from tidegate.gates.scope import kind_words
from tidegate.journal.facts import Mode
from tidegate.journal.lease import Lease
from tidegate.machine.clock import Clock
from tidegate.machine.tasks import cancel_all, first_of
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.port import BrokenChainError, Store

# After so many partitions that a brake is held against, others get their turn.
WOKEN_AT_ONCE = 50


# What happened to a partition: for logs, metrics and tests.
Report = Callable[[str, "RoundResult | Led | Exception"], None]


class _OwnState:
    """What a worker keeps of one partition from one turn to the next."""

    def __init__(self) -> None:
        self.part: PartitionState[Any] | None = None
        # The last round that was begun.
        self.round: Round | None = None
        self.failures = 0
        # The whole chain is read once; from then on each entry as it is read.
        self.verified = False
        # Whether the lease is to be asked for, whatever is known of it.
        self.renews = True


class Worker:
    """Runs the rounds of all partitions of some kinds until it is stopped."""

    def __init__(
        self,
        store: Store,
        kinds: Sequence[Kind[Any, Any, Any, Any]],
        clock: Clock,
        executor: Executor,
        settings: WorkerSettings,
        report: Report | None = None,
        book: BrakeBook | None = None,
        notices: NoticeQueue | None = None,
    ) -> None:
        self._store = store
        self._kinds = tuple(kinds)
        self._clock = clock
        self._settings = settings
        self._book = book if book is not None else BrakeBook(store)
        self._executor = executor
        self._leadership = Leadership(
            store,
            clock,
            settings.holder,
            settings.lease_term,
            settings.act,
            Duration(round(settings.resync_s * SECOND)),
            settings.shares,
        )
        self._notices = notices
        others, journal, self.steps = OtherStates(store), Journal(store), Steps()
        context = partial(RoundContext, steps=self.steps, short_s=settings.short_s)
        self._contexts = {
            each.rules.word: context(self._book, journal, executor, clock, others.of(each.rules))
            for each in self._kinds
        }
        self._report = report or (lambda _partition, _outcome: None)
        timeout_s = settings.observe_timeout_s
        self._discovery = Discovery(self._kinds, timeout_s, partial(self._report, ""))
        self._wakes: dict[str, asyncio.Event] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        # Those between two rounds, whose states none is changing.
        self._resting: dict[str, PartitionState[Any]] = {}
        self._turns = Turns(settings.rounds_max)
        self._backoff = Backoff(settings.backoff_first_s, settings.backoff_max_s, settings.holder)
        self._stop = asyncio.Event()
        self._led: set[str] = set()
        self._heads: dict[str, int] = {}
        self._seen: dict[str, int] = {}
        self._troubles = KnownTroubles()
        # Set once everything there is was found.
        self.discovered = asyncio.Event()
        self._journal_at: float | None = None
        self._crash: BaseException | None = None

    def vitals(self) -> Vitals:
        """How it is doing."""
        behind = (self._heads.get(each, 0) - self._seen.get(each, 0) for each in self._led)
        return Vitals(
            led=frozenset(self._led),
            running=frozenset(self._running),
            waiting=self._turns.waiting,
            under_way=self._turns.under_way,
            behind=sum(max(0, entries) for entries in behind),
            discovered=self.discovered.is_set(),
            journal_at=self._journal_at,
        )

    def kind_of(self, partition: str) -> Kind[Any, Any, Any, Any]:
        """The kind of a partition that was discovered."""
        return self._discovery.kind_of(partition)

    def wake(self, partition: str) -> None:
        """Something happened to a partition: it gets a round soon."""
        event = self._wakes.get(partition)
        if event is not None:
            event.set()

    def wake_all(self) -> None:
        """Something happened that concerns every partition: a brake was set, a place freed."""
        for event in self._wakes.values():
            event.set()

    def stop(self) -> None:
        """Start nothing more; what is under way ends, or is handed over."""
        self._executor.stopping = True
        for kind in self._kinds:
            kind.stop()
        self._stop.set()
        self.wake_all()

    async def run(self) -> None:
        """Run rounds until stopped. A bug in any part ends the whole, and is raised."""
        background = [self._begin(self._listen()), self._begin(self._share())]
        background += [self._begin(self._watch(each), each.rules.word) for each in self._kinds]
        works = [kind.background(self.wake) for kind in self._kinds]
        if self._notices is not None:
            self._notices.wake = self.wake
            works.append(self._notices.run())
        background += [self._begin(each) for each in works if each is not None]
        try:
            while not self._stop.is_set():
                await self._discover()
                await first_of(self._stop.wait(), asyncio.sleep(self._settings.discover_s))
            if self._running:
                await asyncio.wait(self._running.values(), timeout=self._settings.grace_s)
        finally:
            self.stop()
            under_way = [*background, *self._running.values()]
            await cancel_all(under_way, self._settings.cancel_s)
        if self._crash is not None:
            raise self._crash

    def _begin(self, work: Coroutine[Any, Any, None], name: str = "") -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name or None)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A task that ends by an unexpected error must not end unseen."""
        error = None if task.cancelled() else task.exception()
        if error is not None and self._crash is None:
            self._crash = error
            self.stop()

    async def _discover(self) -> None:
        found, whole = await self._discovery.find()
        new = [each for each in sorted(found) if self._is_mine(each) and each not in self._running]
        if new:
            try:
                await self._leadership.look({*self._running, *new})
            except (OutsideError, OSError) as error:
                self._report("", error)
        for partition in new:
            self._wakes[partition] = asyncio.Event()
            self._running[partition] = self._begin(self._run_partition(partition), partition)
        if whole:
            for partition in self._discovery.gone(self._running, found):
                self._leadership.leave(partition)
                self._running.pop(partition).cancel()
                self._wakes.pop(partition)
            self.discovered.set()

    def _is_mine(self, partition: str) -> bool:
        return any(fnmatchcase(w, k) for w in kind_words(partition) for k in self._settings.kinds)

    def _share(self) -> Coroutine[Any, Any, None]:
        """Keep the leases, and as many as other workers have."""
        report = partial(self._report, "")
        return self._leadership.run(self._running.keys, self.wake, report, self._settings.follow_s)

    async def _listen(self) -> None:
        """Notice what others write: approvals, holds, another worker's entries."""
        known: dict[str, int] = {}
        brakes: Brakes | None = None
        while True:
            try:
                found = await asyncio.to_thread(self._book.read, self._clock.now())
                if brakes is None:
                    self.wake_all()
                elif found is not brakes:
                    await self._wake_braked(found)
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

    async def _wake_braked(self, brakes: Brakes) -> None:
        """Brakes were set or lifted: a round for each partition that they may say something of."""
        for at, partition in enumerate(list(self._wakes)):
            part = self._resting.get(partition)
            if part is None or not rests_on(part, brakes):
                self.wake(partition)
            if at % WOKEN_AT_ONCE == 0:
                await asyncio.sleep(0)

    async def _watch(self, kind: Kind[Any, Any, Any, Any]) -> None:
        """Follow what a kind reports as changed."""
        failures = 0
        while True:
            try:
                async for partition in kind.changes():
                    failures = 0
                    self.wake(partition)
            except (OutsideError, TimeoutError, OSError) as error:
                self._report("", error)
            failures += 1
            await asyncio.sleep(self._backoff.wait_s(failures))

    async def _run_partition(self, partition: str) -> None:
        """Round after round, for as long as the lease is ours."""
        own = _OwnState()
        try:
            while not self._stop.is_set():
                try:
                    lease = await self._lease(partition, own)
                    if lease is None:
                        await self._follow(partition)
                    else:
                        await self._take_turn(partition, own, lease)
                except (OutsideError, StaleError, TimeoutError, OSError) as error:
                    await self._failed(partition, own, error)
        finally:
            self._lead(partition, False)
            lease = self._leadership.held(partition)
            if lease is not None:
                await asyncio.shield(self._leadership.end(lease, partial(self._report, partition)))

    async def _lease(self, partition: str, own: _OwnState) -> Lease | None:
        """The lease, taken or renewed where that is due; None: another worker leads."""
        lease = self._leadership.held(partition)
        if lease is not None and self._leadership.gives(partition):
            self._lead(partition, False)
            await self._leadership.release(lease)
            lease = own.part = None
        elif own.renews or not self._leadership.lasts(lease):
            lease = await self._leadership.take(partition)
        own.renews = False
        self._lead(partition, lease is not None)
        return lease

    async def _follow(self, partition: str) -> None:
        """Wait until there may be something to lead."""
        if leader := self._leadership.followed(partition):
            self._report(partition, Led(False, leader))
        await self._wakes[partition].wait()
        self._wakes[partition].clear()

    async def _take_turn(self, partition: str, own: _OwnState, lease: Lease) -> None:
        """One round, once it is its turn, and the pause after it."""
        kind = self.kind_of(partition)
        part = await self._state(partition, own)
        async with self._turns.one() as waited:
            if waited and (self._stop.is_set() or self._leadership.gives(partition)):
                return  # its turn was long in coming: others wait for it
            own.round = one = self._new_round(kind, part, lease)
            result = await self._run_round(one)
        own.failures = 0
        if result.looked:
            self._leadership.looked(partition)
        self._report(partition, result)
        for trouble in self._troubles.news(partition, result.troubles):
            self._report(partition, trouble)
        if self._notices is not None:
            await self._notices.round_ended(one, result)
        self._seen[partition] = part.next_seq - 1
        if result.frees:
            self.wake_all()
        await self._pause(partition, part, result.recheck_at)

    async def _state(self, partition: str, own: _OwnState) -> PartitionState[Any]:
        """The state of a partition, folded once from a chain that is whole."""
        if not own.verified:
            await asyncio.to_thread(verify_chain, self._store, partition)
            own.verified = True
        if own.part is None:
            rules = self.kind_of(partition).rules
            part = await asyncio.to_thread(PartitionState, self._store, partition, rules, acts=True)
            part.wake = partial(self.wake, partition)
            own.part = part
        return own.part

    async def _failed(self, partition: str, own: _OwnState, error: Exception) -> None:
        """A turn ended by an error: report it, and try again after a pause that grows."""
        own.failures += 1
        if own.round is None or own.round.folds:
            own.part = None  # the state in memory may be wrong: fold it again
        own.verified = own.verified and not isinstance(error, BrokenChainError)
        own.renews = True
        self._leadership.failed(partition, error)
        self._report(partition, error)
        await first_of(self._stop.wait(), asyncio.sleep(self._backoff.wait_s(own.failures)))

    def _lead(self, partition: str, leads: bool) -> None:
        if leads is not (partition in self._led):
            (self._led.add if leads else self._led.discard)(partition)
            if not leads:
                self.kind_of(partition).on_lease_lost(partition)
                if self._notices is not None:
                    self._notices.forget(partition)
            self._report(partition, Led(leads))

    def _new_round(
        self, kind: Kind[Any, Any, Any, Any], part: PartitionState[Any], lease: Lease
    ) -> Round:
        mode = Mode.ACT if self._leadership.acts(part.partition) else Mode.OBSERVE
        held = partial(self._leadership.held, part.partition)
        return Round(self._contexts[kind.rules.word], kind, part, lease, mode, held)

    async def _run_round(self, one: Round) -> RoundResult:
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with asyncio.timeout(self._settings.observe_timeout_s):
            done = await one.run()
        return replace(done, took_s=loop.time() - began)

    async def _pause(
        self, partition: str, part: PartitionState[Any], until: Instant | None
    ) -> None:
        """Until something happens, time changes a verdict, or the next resync is due."""
        wake = self._wakes[partition]
        longest = self._settings.resync_s
        left = longest if until is None else (until - self._clock.now()) / SECOND
        settle_s = 0.0 if self._stop.is_set() else self._settings.settle_s
        self._resting[partition] = part
        try:
            await rest(wake, min(left, longest), settle_s)
        finally:
            del self._resting[partition]
