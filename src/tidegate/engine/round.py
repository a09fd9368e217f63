"""One round of one partition: observe, fold, decide, record, execute.

A decision is recorded before anything is done about it, under a key for every task; the outcome is
recorded after. A crash anywhere only delays: the next round finds the tasks that have no outcome,
and carries them out under the same keys, or decides them again, as the kind specifies.
"""

from asyncio import to_thread
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from time import thread_time
from typing import Any, ParamSpec, TypeVar

import msgspec

from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.execute import Executor
from tidegate.engine.journal import Journal
from tidegate.engine.kind import ACTOR, Kind, Others, PlanRecord, Task
from tidegate.engine.partition import PartitionState
from tidegate.engine.watchdog import Steps
from tidegate.explain.view import Counts
from tidegate.gates.brakes import Brakes, touches
from tidegate.gates.scope import kind_of
from tidegate.journal.chain import JournalNote
from tidegate.journal.fact import Fact, Mode
from tidegate.journal.facts import TaskOutcome
from tidegate.journal.lease import Lease
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.port import Append, Head, LostClaimError

P = ParamSpec("P")
T = TypeVar("T")

# How often a plan is made again because others took a place first; then the round is given up.
TRIES_MAX = 5
# How long a round waits for a first reading.
SOON = Duration(5 * SECOND)


class RoundResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a round decided, recorded and did."""

    partition: str
    recheck_at: Instant | None = None
    # Whether the outside was seen; if not, it was not decided for this moment.
    looked: bool = True
    # None: nothing is known yet.
    world: Any = None
    plan: Any = None
    record: PlanRecord | None = None
    # False: nothing had changed, and the last plan is still valid.
    is_new: bool = True
    mode: Mode = Mode.OBSERVE
    outcomes: tuple[tuple[Any, TaskOutcome], ...] = ()
    # Why something could not be read or sent, by what it is.
    troubles: Mapping[str, str] = {}
    took_s: float = 0.0
    # Whether something that other partitions wait for was freed.
    frees: bool = False
    # The plan in numbers.
    count: Callable[[], Counts] = lambda: Counts("", Counter(), Counter())

    @property
    def fact(self) -> Fact | None:
        """The fact of the plan."""
        return None if self.record is None else self.record.fact

    @property
    def done(self) -> int:
        """How many tasks were carried out."""
        return sum(outcome is TaskOutcome.DONE for _, outcome in self.outcomes)

    @property
    def failed(self) -> int:
        """How many tasks failed."""
        return sum(outcome is TaskOutcome.FAILED for _, outcome in self.outcomes)


class RoundContext(msgspec.Struct, frozen=True):
    """What rounds of a worker share."""

    book: BrakeBook
    journal: Journal
    executor: Executor
    clock: Clock
    # The states of other partitions.
    others: Others
    # What threads work on.
    steps: Steps = msgspec.field(default_factory=Steps)
    # A step that took less than this last time is done in the event loop; 0: none is.
    short_s: float = 0.0


class _Made(msgspec.Struct, frozen=True):
    """A decision, and how it is recorded."""

    world: Any
    plan: Any
    record: PlanRecord
    append: Append | None
    # All brakes that were read for it.
    brakes: Brakes
    # The end of the chain that it rests on, its own record included.
    seq: int = 0


class _Basis(msgspec.Struct, frozen=True):
    """What the last decision rests on."""

    brakes: Brakes
    seq: int
    mode: Mode
    recheck_at: Instant | None
    world: Any
    plan: Any
    record: PlanRecord

    def holds(self, brakes: Brakes, seq: int, mode: Mode, now: Instant) -> bool:
        """Whether nothing has changed since, and time alone changes nothing either.

        What was decided to be done is also what is observed once its reading is too old to act on.
        """
        shares = brakes.budgets or brakes.mutexes or brakes.health
        later = self.recheck_at is not None and now >= self.recheck_at
        same = self.seq == seq and self.brakes is brakes and mode in (self.mode, Mode.OBSERVE)
        return same and not shares and not later


def rests_on(part: PartitionState[Any], brakes: Brakes) -> bool:
    """Whether the last decision stays as it is under these brakes: they say nothing else of it."""
    basis: _Basis | None = part.basis
    if basis is None or basis.brakes is brakes:
        return basis is not None
    rules, state = part.rules, part.state
    kind = kind_of(part.partition)
    if touches(basis.brakes, brakes, kind, rules.named(state), rules.labels(state)):
        part.basis = None
        return False
    part.basis = msgspec.structs.replace(basis, brakes=brakes)
    return True


class Round:
    """One round, step by step."""

    def __init__(
        self,
        context: RoundContext,
        kind: Kind[Any, Any, Any, Any],
        part: PartitionState[Any],
        lease: Lease,
        mode: Mode,
        renewed: Callable[[], Lease | None] | None = None,
    ) -> None:
        """`renewed`: the lease as it is by now; None: it is not ours any more."""
        self.context = context
        self.kind = kind
        self.part = part
        self._lease = lease
        self._renewed = renewed
        self.mode = mode
        self.seen: Any = None
        self.made: _Made | None = None
        # Whether this round acts: only on a fresh reading.
        self.acting = Mode.OBSERVE
        # Whether it got so far that the state in memory may have changed.
        self.folds = False
        self.outcomes: tuple[tuple[Any, TaskOutcome], ...] = ()

    @property
    def clock(self) -> Clock:
        """The clock."""
        return self.context.clock

    @property
    def lease(self) -> Lease:
        """The lease under which this round began, until when it lasts by now."""
        found = self._renewed() if self._renewed is not None else None
        return found if found is not None and found.token == self._lease.token else self._lease

    async def run(self) -> RoundResult:
        """Observe, fold, decide, record, execute."""
        part = self.part
        try:
            self.seen = await self.kind.observe(part.partition)
        except (OutsideError, StaleError) as error:
            # What a kind says of this is over with the next decision: there is to be one.
            part.basis = None
            await self.kind.unseen(self, error)
            raise
        now = self.clock.now()
        if self.seen is None:
            soon = Instant(now + SOON)
            return RoundResult(partition=part.partition, recheck_at=soon, looked=False)
        mode = self.acting = self._mode(now)
        # One call to a thread does both, unless evidence has to be asked for in between.
        probes = self.context.book.has_probes
        self.folds = True
        head, kept, brakes, made = await self._thread(self._fold, now, not probes)
        troubles = await self._gather(now) if kept is None and probes else {}
        if kept is None:
            if probes:
                made = await self._thread(self._make, head, now, mode, brakes)
            self.made = await self._record(made, head, now, mode)
            if self.made is None:
                return RoundResult(partition=part.partition, troubles=troubles)
        world, plan, record = _content(self.made, kept)
        if mode is not self.mode and record.tasks:
            self.kind.observe_soon(part.partition)
        if mode is Mode.ACT:
            self.outcomes = tuple(await self._execute(now))
        troubles |= await self.kind.after_round(self)
        frees = kept is None and mode is Mode.ACT and bool(record.frees)
        if self.made is not None:
            part.basis = _Basis(
                self.made.brakes, self.made.seq, mode, record.recheck_at, world, plan, record
            )
        return RoundResult(
            partition=part.partition,
            recheck_at=_first(
                record.recheck_at, part.rules.retry_at(part.state), self.kind.look_at(part.state)
            ),
            world=world,
            plan=plan,
            record=record,
            is_new=kept is None,
            mode=mode,
            outcomes=self.outcomes,
            troubles=troubles,
            frees=frees,
            count=partial(part.rules.counts, part.partition, part.state, world, plan, now),
        )

    async def _thread(self, work: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
        """Work under the name of the partition: in another thread, unless it is known to be short.

        A call to a thread and back costs as much as a decision about a hundred targets.
        """
        run = partial(self._step, work, *args, **more)
        return run() if self.part.step_s < self.context.short_s else await to_thread(run)

    def _step(self, work: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
        began = thread_time()
        try:
            return self.context.steps.run(self.part.partition, work, *args, **more)
        finally:
            self.part.step_s = thread_time() - began

    def _fold(
        self, now: Instant, decides: bool
    ) -> tuple[Head, _Basis | None, Brakes, _Made | None]:
        """Fold in what others wrote and what is new; the last basis if it is still valid.

        `decides`: and decide, if it is not.
        """
        part = self.part
        head = part.catch_up()
        facts = [
            JournalNote(at, ACTOR, fact) for at, fact in self.kind.news(part.state, self.seen, now)
        ]
        late = part.rules.overdue(part.state, now)
        why = "not tried for too long; decided again"
        drops = (part.rules.acted(task, TaskOutcome.DROPPED, why, False) for task in late)
        facts += [JournalNote(now, ACTOR, fact) for fact in drops]
        brakes = self.context.book.read(now)
        basis: _Basis | None = part.basis if rests_on(part, brakes) else None
        if basis is not None and not facts and basis.holds(brakes, head.seq, self._mode(now), now):
            return head, basis, brakes, None
        part.basis = None
        if facts:
            part.stage(facts)
        made = self._make(head, now, self.acting, brakes) if decides else None
        return head, None, brakes, made

    def _mode(self, now: Instant) -> Mode:
        """Only a fresh reading is acted on."""
        until = self.kind.acts_until(self.seen)
        return Mode.OBSERVE if until is not None and now > until else self.mode

    async def _gather(self, now: Instant) -> dict[str, str]:
        part = self.part
        way = part.rules.under_way(part.state)
        return await self.context.book.gather(way.revision, way.since, now, part.wake)

    async def _record(
        self, made: _Made | None, head: Head, now: Instant, mode: Mode
    ) -> _Made | None:
        """Record a plan with its claims; decide again where another partition was faster."""
        for left in reversed(range(TRIES_MAX)):
            if made is None:
                return None
            append = made.append
            if append is None:
                return msgspec.structs.replace(made, seq=head.seq)
            try:
                end = await self.context.journal.append(append)
            except LostClaimError:
                if not left:
                    raise
                made = await self._thread(self._again, head, now, mode)
                continue
            await self.part.take(append, end)
            return msgspec.structs.replace(made, seq=end.seq)
        return None

    def _again(self, head: Head, now: Instant, mode: Mode) -> _Made | None:
        return self._make(head, now, mode, self.context.book.read(now))

    def _make(self, head: Head, now: Instant, mode: Mode, every: Brakes) -> _Made | None:
        part, rules = self.part, self.part.rules
        brakes = self.context.book.binding(part.partition, rules.under_way(part.state), every)
        world = rules.world(part.state, brakes, now, self.context.others)
        if world is None:
            if part.is_staged:
                part.write((), after=head, token=self.lease.token)
            return None
        plan = rules.decide(world, now)
        bound = rules.bound(part.state, world)
        seq = part.next_seq + (bound is not None)
        record = rules.record(part.partition, seq, part.state, world, plan, now, mode)
        notes: list[JournalNote] = []
        if record.is_news:
            notes = [JournalNote(now, ACTOR, record.fact)]
            if bound is not None:
                notes.insert(0, JournalNote(now, ACTOR, bound))
        acts = mode is Mode.ACT
        frees = record.frees if acts else ()
        append = None
        if notes or frees or part.is_staged:
            append = part.request(
                notes,
                after=head,
                token=self.lease.token,
                claims=record.claims if acts else (),
                frees=frees,
            )
        return _Made(world, plan, record, append, every)

    async def _execute(self, now: Instant) -> list[tuple[Task, TaskOutcome]]:
        stages = self.part.rules.due(self.part.state, now)
        if not any(stages):
            return []
        return await self.context.executor.carry_out(self, stages)


def _content(made: _Made | None, kept: _Basis | None) -> tuple[Any, Any, PlanRecord]:
    found = made if made is not None else kept
    assert found is not None
    return found.world, found.plan, found.record


def _first(*moments: Instant | None) -> Instant | None:
    return min((each for each in moments if each is not None), default=None)
