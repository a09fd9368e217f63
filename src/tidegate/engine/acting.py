"""Carrying tasks out: checked again right before, few at a time, every outcome a fact.

Right before each write the lease is still ours, the task still wanted and nothing brakes it; else
it is dropped, which is an outcome too. A task that fails is noted and tried again under its key,
after a pause that doubles; it ends nobody else's.
"""

import asyncio
from functools import partial

import msgspec
from aiolimiter import AsyncLimiter

from tidegate.engine.breaker import Breaker
from tidegate.engine.desk import RolloutDesk
from tidegate.engine.together import Together
from tidegate.explain.sentence import sentence
from tidegate.journal.chain import Note
from tidegate.journal.facts import Acted, Outcome
from tidegate.kinds.rollouts.core.journal.facts import Task
from tidegate.kinds.rollouts.core.journal.state import Pending, RolloutState
from tidegate.kinds.rollouts.fleet import Fleet, ManySystems
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.plan import ChangeKind
from tidegate.model.removal import why_kept
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.model.verdict import Verdict
from tidegate.store.port import Lease

# Who writes what the engine does.
ACTOR = "tidegate"

# A task that failed is tried again after this long, then twice as long, up to the limit.
RETRY_FIRST = Duration(2 * SECOND)
RETRY_MAX = Duration(300 * SECOND)
# A task nobody got round to for this long belongs to another day: it is decided anew.
UNTRIED_MAX = Duration(300 * SECOND)


class Limits(msgspec.Struct, frozen=True):
    """How hard one outside system may be pressed."""

    concurrency_max: int = 10
    # How many actions may begin in a second.
    per_s: int = 50
    # Well below half a lease: an act that outlives its lease is given up, and tried again.
    timeout_s: float = 10.0
    allow_mass_removal: bool = False


class Actor:
    """Carries tasks out on one outside system."""

    def __init__(self, limits: Limits, breaker: Breaker) -> None:
        self._limits = limits
        # Of the fleet, and of each system it is made of, where it has several.
        self._breakers = {"": breaker}
        self._slots = asyncio.Semaphore(limits.concurrency_max)
        self._rate = AsyncLimiter(limits.per_s, 1)
        self.stopping = False

    async def carry_out(
        self, desk: RolloutDesk, fleet: Fleet, clock: Clock, lease: Lease, tasks: list[Task]
    ) -> tuple[int, int]:
        """Carry out all tasks; how many were done, and how many failed."""
        kept, put_off = brake_removals(desk.state, tasks, self._limits.allow_mass_removal)
        # Put off, not dropped: what is dropped would be decided anew in every round.
        notes = [acted(clock.now(), task, Outcome.FAILED, why) for task, why in put_off]
        if notes:
            await asyncio.to_thread(desk.write, notes, token=lease.token)
        check = Together(partial(_refusals, desk, lease, clock))
        write = Together(partial(_write, desk, lease))
        ones = (self._one(desk, fleet, clock, lease, task, check, write) for task in kept)
        # All of them end before the round does, whatever becomes of one: none acts unseen.
        outcomes = await asyncio.gather(*ones, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        done = sum(outcome is Outcome.DONE for outcome in outcomes)
        return done, sum(outcome is Outcome.FAILED for outcome in outcomes)

    async def _one(
        self,
        desk: RolloutDesk,
        fleet: Fleet,
        clock: Clock,
        lease: Lease,
        task: Task,
        check: Together[Task, str],
        write: Together[Note, None],
    ) -> Outcome | None:
        async with self._slots, self._rate:
            if self.stopping or clock.now() >= lease.until:
                return None  # whoever leads next finds it without an outcome
            why = await check(task)
            left = Duration(lease.until - clock.now())
            if left <= 0:
                return None  # the answer took so long that somebody else may lead by now
            outcome, detail = await self._try(desk, fleet, clock, task, why, left)
            await write(acted(clock.now(), task, outcome, detail))
            return outcome

    async def _try(
        self, desk: RolloutDesk, fleet: Fleet, clock: Clock, task: Task, why: str, left: Duration
    ) -> tuple[Outcome, str]:
        """Have a task carried out, within what is left of the lease: then others may do it."""
        if why:
            return Outcome.DROPPED, why
        breaker = self._breaker_of(fleet, desk.partition)
        shut = breaker.shut_until(clock.now())
        if shut is not None:
            return Outcome.FAILED, "the outside system is given a rest"
        try:
            async with asyncio.timeout(min(self._limits.timeout_s, left / SECOND)):
                detail = await fleet.act(desk.partition, task)
        except StaleError as error:
            return Outcome.DROPPED, str(error)
        except (OutsideError, TimeoutError, OSError) as error:
            breaker.failed(clock.now())
            return Outcome.FAILED, str(error) or "no answer in time"
        breaker.succeeded()
        return Outcome.DONE, detail

    def _breaker_of(self, fleet: Fleet, partition: str) -> Breaker:
        system = fleet.system_of(partition) if isinstance(fleet, ManySystems) else ""
        if system not in self._breakers:
            self._breakers[system] = self._breakers[""].another()
        return self._breakers[system]


def acted(now: Instant, task: Task, outcome: Outcome, detail: str) -> Note:
    """The note of what came of a task."""
    fact = Acted(key=task.key, target=task.target, outcome=outcome, detail=detail)
    return Note(now, ACTOR, fact)


def _refusals(desk: RolloutDesk, lease: Lease, clock: Clock, tasks: list[Task]) -> list[str]:
    """Why each task is not carried out after all, as of this very moment; empty if it is.

    StaleError if the lease was lost: then nothing is, and nothing is written either.
    """
    desk.confirm(lease.token)
    shut = desk.book.shutting(desk.partition, desk.state, clock.now())
    return [unwanted(desk.state, task) or _words(shut(task)) for task in tasks]


def _words(shut: Verdict | None) -> str:
    return "" if shut is None else sentence(shut)


def _write(desk: RolloutDesk, lease: Lease, notes: list[Note]) -> list[None]:
    desk.write(notes, token=lease.token)
    return [None] * len(notes)


def due_tasks(state: RolloutState, now: Instant) -> list[Task]:
    """Tasks without an outcome whose time to be tried has come, in the order of their targets."""
    names = sorted(state.pending)
    return [state.pending[name].task for name in names if retry_at(state.pending[name]) <= now]


def retry_at(one: Pending) -> Instant:
    """When a pending task is to be tried next."""
    if one.tried_at is None:
        return one.at
    pause = min(RETRY_MAX, RETRY_FIRST << min(one.tries - 1, 16))
    return Instant(one.tried_at + pause)


def next_retry(state: RolloutState) -> Instant | None:
    """The first moment at which a pending task is to be tried."""
    return min((retry_at(one) for one in state.pending.values()), default=None)


def overdue_tasks(state: RolloutState, now: Instant) -> list[Task]:
    """Tasks nobody ever tried, from too long ago to be carried out unseen."""
    return [
        one.task for one in state.pending.values() if one.tries == 0 and now - one.at > UNTRIED_MAX
    ]


def unwanted(state: RolloutState, task: Task) -> str:
    """Why a task is no longer wanted; empty if it is."""
    known = state.pending.get(task.target)
    if known is None or known.task.key != task.key:
        return "another decision took its place"
    if task.change.kind is ChangeKind.REMOVE and _is_member(state, task.target):
        return "it is in a group again"
    if task.change.kind is ChangeKind.APPLY and state.rollout.aborted:
        return "the rollout was aborted"
    return "the rollout is paused" if state.rollout.paused else ""


def _is_member(state: RolloutState, target: str) -> bool:
    groups = state.declared.groups if state.declared is not None else ()
    return any(target in group.clusters for group in groups)


def brake_removals(
    state: RolloutState, tasks: list[Task], allowed: bool
) -> tuple[list[Task], list[tuple[Task, str]]]:
    """Split off removals that are too many at once, or follow from a partial or empty reading."""
    removals = [task for task in tasks if task.change.kind is ChangeKind.REMOVE]
    groups = state.declared.groups if state.declared is not None else ()
    emptied = "" if any(group.clusters for group in groups) else "every group is empty"
    why = why_kept(
        len(removals),
        len(state.reports),
        complete=state.complete,
        emptied=emptied,
        allowed=allowed,
    )
    if not removals or not why:
        return tasks, []
    return [task for task in tasks if task not in removals], [(task, why) for task in removals]
