"""Carrying tasks out: checked again right before, few at a time, every outcome a fact.

Right before each action the lease is still ours, the task still wanted and no brake covers it; else
it is dropped, which is an outcome too. Concurrency, rate and breaker hold for every kind. A task
that fails is recorded; whether it is retried under its key or decided again is up to the kind.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from aiolimiter import AsyncLimiter

from tidegate.engine.batch import Batcher
from tidegate.engine.breaker import Breaker
from tidegate.engine.kind import ACTOR, ActRefusedError, Task
from tidegate.explain.sentence import sentence
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import TaskOutcome
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.time import SECOND, Duration

if TYPE_CHECKING:
    from tidegate.engine.round import Round

# How often an action that may take longer than its lease looks whether that was renewed.
FOLLOW_S = 0.5
RESTING = "the outside system failed too often, and gets a rest"


class Limits(msgspec.Struct, frozen=True):
    """How hard the outside systems of one kind may be pressed."""

    concurrency_max: int = 10
    # How many actions may begin in a second.
    per_s: int = 50
    # An action that outlives its lease is given up before that.
    timeout_s: float = 10.0
    allow_mass_removal: bool = False


class _Attempt(msgspec.Struct, frozen=True):
    """The outcome of one task."""

    outcome: TaskOutcome
    detail: str
    refused: bool = False


class Executor:
    """Carries tasks of all kinds out."""

    def __init__(self, limits: Limits, breaker: Breaker) -> None:
        self._limits = limits
        self._breaker = breaker
        # One for each kind, and for each outside system of it.
        self._breakers: dict[tuple[str, str], Breaker] = {}
        self._slots: dict[str, asyncio.Semaphore] = {}
        self._rates: dict[str, AsyncLimiter] = {}
        self.stopping = False

    async def carry_out(
        self, round_: "Round", stages: Sequence[Sequence[Task]]
    ) -> list[tuple[Task, TaskOutcome]]:
        """Carry out all tasks, stage after stage; the outcome of each that was tried."""
        tasks = [task for stage in stages for task in stage]
        rules, state = round_.part.rules, round_.part.state
        put_off = rules.withheld(state, tasks, self._limits.allow_mass_removal)
        if put_off:
            # Failed, not dropped: what is dropped would be decided again in every round.
            held = [task for task in tasks if task.key in put_off]
            notes = [self._note(round_, task, _failed(put_off[task.key])) for task in held]
            await _write(round_, notes)
        wave = _Wave(self, round_)
        found: list[tuple[Task, TaskOutcome]] = []
        for stage in stages:
            kept = [task for task in stage if task.key not in put_off]
            # All of them end before the round does, even if one fails: none acts unseen.
            outcomes = await asyncio.gather(*map(wave.one, kept), return_exceptions=True)
            for task, outcome in zip(kept, outcomes, strict=True):
                if isinstance(outcome, BaseException):
                    raise outcome
                if outcome is not None:
                    found.append((task, outcome))
        return found

    def slots(self, word: str) -> asyncio.Semaphore:
        """The places for actions of a kind."""
        return self._slots.setdefault(word, asyncio.Semaphore(self._limits.concurrency_max))

    def rate(self, word: str) -> AsyncLimiter:
        """The rate of actions of a kind."""
        if word not in self._rates:
            self._rates[word] = AsyncLimiter(self._limits.per_s, 1)
        return self._rates[word]

    def breaker(self, word: str, system: str) -> Breaker:
        """The breaker of one outside system."""
        return self._breakers.setdefault((word, system), self._breaker.another())

    @property
    def timeout_s(self) -> float:
        """How long an action may take."""
        return self._limits.timeout_s

    def _note(self, round_: "Round", task: Task, done: _Attempt) -> JournalNote:
        fact = round_.part.rules.acted(task, done.outcome, done.detail, done.refused)
        return JournalNote(round_.clock.now(), ACTOR, fact)


class _Wave:
    """The tasks of one round: checks and outcomes are read and written together."""

    def __init__(self, executor: Executor, round_: "Round") -> None:
        self._executor = executor
        self._round = round_
        word = round_.part.rules.word
        self._slots, self._rate = executor.slots(word), executor.rate(word)
        system = round_.kind.system_of(round_.part.partition)
        self._breaker = executor.breaker(word, system)
        self._check: Batcher[Task, str] = Batcher(self._refusals)
        self._write: Batcher[JournalNote, None] = Batcher(self._written)

    async def one(self, task: Task) -> TaskOutcome | None:
        """Carry one task out; None: it was not tried, and is found again by the next round."""
        clock = self._round.clock
        async with self._slots, self._rate:
            if self._executor.stopping or clock.now() >= self._round.lease.until:
                return None
            why = await self._check(task)
            left = Duration(self._round.lease.until - clock.now())
            if left <= 0:
                return None  # the answer took so long that another worker may lead by now
            done = _Attempt(TaskOutcome.DROPPED, why) if why else await self._try(task, left)
            await self._write(self._executor._note(self._round, task, done))
            return done.outcome

    async def _try(self, task: Task, left: Duration) -> _Attempt:
        """Have a task carried out, within what is left of the lease."""
        clock, part = self._round.clock, self._round.part
        if self._breaker.shut_until(clock.now()) is not None:
            # A task that was not tried must not pass for one that may have been carried out.
            return (
                _failed(RESTING) if part.rules.retries else _Attempt(TaskOutcome.DROPPED, RESTING)
            )
        try:
            async with self._in_time(left / SECOND):
                detail = await self._round.kind.act(part.partition, part.state, task)
        except StaleError as error:
            return _Attempt(TaskOutcome.DROPPED, str(error))
        except ActRefusedError as error:  # it answered, so it is well
            self._breaker.succeeded()
            return _failed(str(error), refused=True)
        except (OutsideError, TimeoutError, OSError) as error:
            self._breaker.failed(clock.now())
            return _failed(str(error) or "no answer in time")
        self._breaker.succeeded()
        return _Attempt(TaskOutcome.DONE, detail)

    @asynccontextmanager
    async def _in_time(self, left_s: float) -> AsyncIterator[None]:
        """For as long as an action may take, and the lease lasts, which is renewed meanwhile."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._executor.timeout_s
        looks: asyncio.TimerHandle | None = None
        async with asyncio.timeout_at(min(end, loop.time() + left_s)) as limit:

            def follow() -> None:
                nonlocal looks
                if not limit.expired():
                    until = self._round.lease.until - self._round.clock.now()
                    limit.reschedule(min(end, loop.time() + until / SECOND))
                    looks = loop.call_later(FOLLOW_S, follow)

            if loop.time() + left_s < end:
                looks = loop.call_later(FOLLOW_S, follow)
            try:
                yield
            finally:
                if looks is not None:
                    looks.cancel()

    async def _refusals(self, tasks: list[Task]) -> Sequence[str]:
        """Why each task is not carried out after all; empty: it is.

        StaleError if the lease was lost: then none is, and nothing is written either.
        """
        return await asyncio.to_thread(self._refused, tasks)

    def _refused(self, tasks: list[Task]) -> list[str]:
        part, now = self._round.part, self._round.clock.now()
        part.confirm(self._round.lease.token)
        rules, state = part.rules, part.state
        covers = self._round.context.book.coverages(part.partition, rules.labels(state), now)
        found: list[str] = []
        for task in tasks:
            why = rules.unwanted(state, task)
            shut = None if why else rules.shut(state, task, covers, now)
            found.append(why or ("" if shut is None else sentence(shut)))
        return found

    async def _written(self, notes: list[JournalNote]) -> Sequence[None]:
        await _write(self._round, notes)
        return [None] * len(notes)


def _failed(detail: str, *, refused: bool = False) -> _Attempt:
    return _Attempt(TaskOutcome.FAILED, detail, refused)


async def _write(round_: "Round", notes: Sequence[JournalNote]) -> None:
    """Append outcomes, with those of other partitions, and fold them in."""
    request: Any = round_.part.request(notes, token=round_.lease.token)
    head = await round_.context.journal.append(request)
    await round_.part.take(request, head)
