"""One pass over the targets: what each is to this rollout now, and the counts the gates need.

A status counts only for the revision that goes out: success, failure and soak of another one say
nothing about this one. A target that is still being updated to *another* revision waits for this
one and keeps its slot (`HOLDING`), since the fleet feels that update all the same.

Exactly at the end of its soak a target is done; exactly at its deadline it has given no answer.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from tidegate.kinds.rollouts.core.course import Course, CourseMode
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.kinds.rollouts.core.strategy import Retry
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.target import State, Status, Target
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, dated, verdict

Verdicts = tuple[Verdict, ...]
# What a target is, its own verdicts (None: the gates speak), and when time alone changes that.
Judgement = tuple[State, Verdicts | None, Instant | None]


class Tally(msgspec.Struct, gc=False):
    """The counts of one group; ignored and skipped targets are in `ignored` only."""

    waiting: int = 0
    holding: int = 0  # of those waiting, the ones that keep a slot
    in_flight: int = 0
    soaking: int = 0
    done: int = 0
    failed: int = 0  # timed out ones included
    ignored: int = 0
    ignored_waiting: int = 0
    # The first moment at which one of them may free its slot; None: time alone frees none.
    frees_at: Instant | None = None
    # The moment by which time alone finishes all of them; None if it cannot.
    settles_at: Instant | None = None
    undated: int = 0  # unfinished ones that time alone never finishes

    @property
    def counted(self) -> int:
        """How many count for limits and order."""
        return self.waiting + self.in_flight + self.soaking + self.done + self.failed

    @property
    def unfinished(self) -> int:
        """How many keep later groups waiting."""
        return self.waiting + self.in_flight + self.soaking

    @property
    def touched(self) -> int:
        """How many have received the change."""
        return self.in_flight + self.soaking + self.done + self.failed


class Census(msgspec.Struct):
    """Every target's state and own verdicts, and every group's counts."""

    states: list[State]
    own: list[Verdicts | None]
    tallies: list[Tally]
    recheck_at: Instant | None


def take_census(world: RolloutWorld, course: Course, now: Instant) -> Census:
    """Judge every target once."""
    judges: dict[Retry, Callable[[Target], Judgement]] = {}
    census = Census([], [], [], None)
    for group in world.groups:
        retry = course.retry_of(group.key)
        if retry not in judges:
            judges[retry] = _judge(world, course, retry, now)
        _count_group(census, world.targets[group.first : group.last], judges[retry])
    return census


def _count_group(
    census: Census, targets: Sequence[Target], judge: Callable[[Target], Judgement]
) -> None:
    """Judge the targets of one group and count them; the first and last moment are enough."""
    tally = Tally()
    counts = [0] * len(State)
    first, last, dated = census.recheck_at, None, 0
    frees_at: Instant | None = None
    states, own = census.states, census.own
    for target in targets:
        state, verdicts, until = judge(target)
        states.append(state)
        own.append(verdicts)
        if until is not None and (first is None or until < first):
            first = until
        if target.ignored or target.status is _SKIP:
            tally.ignored += 1
            tally.ignored_waiting += state in _WAITING
            continue
        counts[state] += 1
        if until is not None:
            dated += 1
            frees_at = until if frees_at is None or until < frees_at else frees_at
            last = until if last is None or until > last else last
    census.recheck_at = first
    tally.frees_at, tally.settles_at = frees_at, last
    _fill(tally, counts, dated)
    census.tallies.append(tally)


def _fill(tally: Tally, counts: list[int], dated: int) -> None:
    tally.holding = counts[State.HOLDING]
    tally.waiting = counts[State.WAITING] + counts[State.JOINED] + tally.holding
    tally.in_flight = counts[State.IN_FLIGHT]
    tally.soaking = counts[State.SOAKING]
    tally.done = counts[State.DONE]
    tally.failed = counts[State.FAILED] + counts[State.TIMED_OUT]
    tally.undated = tally.unfinished - dated + tally.holding


_SKIP = Status.Skip
_WAITING = frozenset((State.WAITING, State.JOINED, State.HOLDING))
_WAIT: Judgement = (State.WAITING, None, None)
_JOIN: Judgement = (State.JOINED, None, None)
_DONE: Judgement = (State.DONE, (verdict(ProgressReason.Done),), None)
_SKIPPED: Judgement = (State.DONE, (verdict(ProgressReason.Skipped),), None)
_FAILED: Judgement = (State.FAILED, (verdict(ProgressReason.Failed),), None)
_FLIGHT_VERDICT = verdict(ProgressReason.InFlight)
_IN_FLIGHT: Judgement = (State.IN_FLIGHT, (_FLIGHT_VERDICT,), None)


def _judge(
    world: RolloutWorld, course: Course, retry: Retry, now: Instant
) -> Callable[[Target], Judgement]:
    """The function that judges one target; what is the same for all is worked out once."""
    revision, vouched = course.revision, course.vouched
    waiting = _JOIN if course.mode is CourseMode.SETTLED else _WAIT
    table = _table(world, course, retry, waiting)
    clocks = _Clocks(world, now, table)

    def judge(target: Target) -> Judgement:
        its = target.revision
        if its != revision and (its is not None or not vouched):
            return _judge_stale(target, clocks, waiting)
        status = target.status
        fixed = table[status]
        if target.detail:
            return clocks.saying(target, fixed)
        if fixed is not None:
            return fixed
        if status is Status.Succeeded:
            return clocks.soak(target.since)
        if status is Status.Progressing:
            return clocks.flight(target.since)
        return clocks.unknown(target.word)

    return _unless_busy(judge, world.busy) if world.busy else judge


def _unless_busy(
    judge: Callable[[Target], Judgement], busy: Mapping[str, str]
) -> Callable[[Target], Judgement]:
    """Judge targets that are busy with something else by that: it ends before they start."""
    said = {name: (verdict(RolloutReason.BusyElsewhere, what),) for name, what in busy.items()}

    def judge_free(target: Target) -> Judgement:
        own = said.get(target.name)
        return judge(target) if own is None else (State.HOLDING, own, None)

    return judge_free


def _table(
    world: RolloutWorld, course: Course, retry: Retry, waiting: Judgement
) -> list[Judgement | None]:
    """What each status means where no clock is needed; None where one is."""
    strategy = world.strategy
    failed, gone, done = _FAILED, _timed_out(world), _DONE
    if retry is Retry.EVERYTHING:
        failed = gone = done = waiting
    elif retry is Retry.FAILED:
        failed = gone = waiting
    # A revert is not on trial, and a completed rollout has stood its trial.
    soaks = strategy.soak > 0 and course.mode is CourseMode.FORWARD
    table: list[Judgement | None] = [None] * len(Status)
    table[Status.ToApply] = waiting
    table[Status.Failed] = failed
    table[Status.TimeOut] = gone
    table[Status.Skip] = _SKIPPED
    # Joined after an earlier rollout was completed: it has that one, not this one.
    table[Status.NewCluster] = _DONE if course.mode is CourseMode.SETTLED else waiting
    if not soaks or retry is Retry.EVERYTHING:
        table[Status.Succeeded] = done
    if strategy.deadline is None:
        table[Status.Progressing] = _IN_FLIGHT
    return table


def _timed_out(world: RolloutWorld) -> Judgement:
    deadline = world.strategy.deadline
    if deadline is None:  # reported by the target; this rollout itself sets no deadline
        return (State.TIMED_OUT, (verdict(RolloutReason.NoAnswer),), None)
    return (State.TIMED_OUT, (verdict(RolloutReason.TimedOut, deadline),), None)


def _judge_stale(target: Target, clocks: "_Clocks", waiting: Judgement) -> Judgement:
    """A status of another revision: it waits for this one, and may still keep a slot."""
    status = target.status
    if status is Status.Skip:
        return _SKIPPED
    if status is Status.Unknown:
        return (State.HOLDING, None, None)
    if status is Status.Progressing:
        state, _, until = clocks.flight(target.since)
        if state is State.IN_FLIGHT:
            return (State.HOLDING, None, until)
    return waiting


class _Clocks:
    """Soak and deadline against now, one shared verdict an instant."""

    def __init__(self, world: RolloutWorld, now: Instant, table: list[Judgement | None]) -> None:
        self._now = now
        self._soak = world.strategy.soak
        self._deadline = world.strategy.deadline
        self._gone = table[Status.TimeOut] or _WAIT
        self._soak_verdict = verdict(RolloutReason.Soaking, self._soak)
        self._soaking: dict[Instant, Verdicts] = {}
        self._flying: dict[Instant, Verdicts] = {}

    def soak(self, since: Instant | None) -> Judgement:
        """A target that succeeded: soaking until its soak is over, then done."""
        if since is None:
            return (State.SOAKING, (verdict(RolloutReason.SoakingUndated, self._soak),), None)
        end = Instant(since + self._soak)
        if self._now >= end:
            return _DONE
        known = self._soaking.get(end)
        if known is None:
            known = self._soaking[end] = (dated(self._soak_verdict, end),)
        return (State.SOAKING, known, end)

    def flight(self, since: Instant | None) -> Judgement:
        """A target being updated: in flight until its deadline, then it has given no answer."""
        if self._deadline is None:
            return _IN_FLIGHT
        if since is None:
            return (
                State.IN_FLIGHT,
                (verdict(RolloutReason.InFlightUndated, self._deadline),),
                None,
            )
        end = Instant(since + self._deadline)
        if self._now >= end:
            return self._gone
        known = self._flying.get(end)
        if known is None:
            known = self._flying[end] = (dated(_FLIGHT_VERDICT, end),)
        return (State.IN_FLIGHT, known, end)

    def saying(self, target: Target, fixed: Judgement | None) -> Judgement:
        """The same of a target that says more about it."""
        status = target.status
        if fixed is _FAILED:
            return (State.FAILED, (verdict(ProgressReason.FailedSaying, target.detail),), None)
        if status is Status.Progressing:
            state, verdicts, until = fixed or self.flight(target.since)
            if state is State.IN_FLIGHT and (until is not None or fixed is not None):
                said = verdict(ProgressReason.InFlightSaying, target.detail)
                verdicts = (said if until is None else dated(said, until),)
            return (state, verdicts, until)
        if fixed is not None:
            return fixed
        return self.soak(target.since) if status is Status.Succeeded else self.unknown(target.word)

    @staticmethod
    def unknown(word: str) -> Judgement:
        """A target that reports a word we do not know: in flight, whatever the clock says."""
        return (State.IN_FLIGHT, (verdict(RolloutReason.UnknownStatus, word),), None)
