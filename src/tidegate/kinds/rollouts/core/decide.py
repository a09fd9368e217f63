"""The decision: which targets of a rollout start now, and why every other waits.

    decide(world, now) -> RolloutPlan

A pure function of one reading and one instant. Failures are counted over the whole rollout first;
then the phases are walked in order, each with the verdicts its targets share; then slots are given
out by rank. Every target ends with verdicts, and starts if and only if all of them pass.
"""

from collections.abc import Iterator
from itertools import repeat

import msgspec

from tidegate.gates.claims import Claim
from tidegate.kinds.rollouts.core import gates
from tidegate.kinds.rollouts.core.admit import admit
from tidegate.kinds.rollouts.core.brakes import RolloutBrakes, brake
from tidegate.kinds.rollouts.core.budget import FailureBudget, count_failures
from tidegate.kinds.rollouts.core.census import Census, Verdicts, take_census
from tidegate.kinds.rollouts.core.course import (
    Course,
    CourseMode,
    course_of_newest,
    course_under_way,
)
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.kinds.rollouts.core.rollback import can_return, plan_rollback
from tidegate.kinds.rollouts.core.slots import Slots, count_slots
from tidegate.kinds.rollouts.core.strategy import OnFailure, OnNewRevision, Retry
from tidegate.kinds.rollouts.core.summary import GroupReport, Summary, report_groups, summarise
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.plan import Action, Change, ChangeKind, Event, Option, Plan
from tidegate.model.reason import Gate, Outcome
from tidegate.model.target import State
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, all_pass, verdict


class RolloutPlan(Plan, frozen=True, kw_only=True):
    """What every target's gates say, and the summary of the rollout and of its groups."""

    course: Course
    states: list[State]
    # Positions of the targets that start now, in group, then rank order.
    started: list[int]
    groups: tuple[GroupReport, ...]
    summary: Summary
    breached: bool
    # Positions of the targets that some pin keeps where they are; they count neither way.
    pinned: frozenset[int] = frozenset()
    # Places of budgets and mutexes to be claimed before the plan is acted on.
    claims: tuple[Claim, ...] = ()
    # Places this rollout has and needs no more.
    freed: tuple[Claim, ...] = ()


def decide(world: RolloutWorld, now: Instant) -> RolloutPlan:
    """Which targets start now, and why every other waits."""
    under_way = world.rollout.revision
    if under_way is None or world.revision is None or under_way == world.revision:
        return _steer(world, course_under_way(world), now)
    newest = course_of_newest(world)
    if newest.mode is CourseMode.REVERT:  # a revert never waits for what it reverts
        return _take_over(_steer(world, newest, now))
    current = _steer(world, course_under_way(world), now)
    finishes = world.strategy.on_new_revision is OnNewRevision.FINISH
    goes_on = finishes and _is_live(current) and _is_worth_finishing(world, current)
    if goes_on and not _is_frozen(current):
        return current
    plan = _steer(world, newest, now)
    if goes_on and not plan.started:  # the newest is frozen, too: it has no exception
        return _sooner(current, plan)
    before = (Event.COMPLETED,) if Event.COMPLETED in current.events else ()
    plan = _take_over(plan, *before)
    return plan if world.brakes is None else _sooner(plan, current)


def _take_over(plan: RolloutPlan, *before: Event) -> RolloutPlan:
    """The newest revision takes the place of the one under way."""
    return msgspec.structs.replace(plan, events=(*before, Event.SUPERSEDED, *plan.events))


def _sooner(plan: RolloutPlan, other: RolloutPlan) -> RolloutPlan:
    """The plan, to be looked at again when the one not taken might be."""
    moments = [each.recheck_at for each in (plan, other) if each.recheck_at is not None]
    return msgspec.structs.replace(plan, recheck_at=min(moments, default=None))


def _is_live(plan: RolloutPlan) -> bool:
    """Whether a rollout under way goes on without an approval: then a newer one waits for it.

    One that no target has received yet, or that only waits for approvals, gives way.
    """
    if plan.summary not in (Summary.PROGRESSING, Summary.PAUSED):
        return False
    return _is_moving(plan) or any(not _gives_way(verdicts) for verdicts in _waiting(plan))


def _is_worth_finishing(world: RolloutWorld, plan: RolloutPlan) -> bool:
    """Whether a newer revision should wait for the one under way: a fix must not.

    It does not where targets have failed, or where none but those of the first group were touched.
    """
    tallies = {report.group: report.tally for report in plan.groups}
    if any(tally.failed for tally in tallies.values()):
        return False
    taking_part = [
        phase for phase in world.phases if any(tallies[group].counted for group in phase.groups)
    ]
    if len(taking_part) < 2:
        return True
    return any(
        tally.in_flight or tally.soaking or tally.done
        for phase in taking_part[1:]
        for tally in (tallies[group] for group in phase.groups)
    )


def _is_frozen(plan: RolloutPlan) -> bool:
    """Whether only a freeze keeps it from going on: a fix with an exception may pass it."""
    return not _is_moving(plan) and all(_shuts(verdicts, _FREEZE) for verdicts in _waiting(plan))


def _is_moving(plan: RolloutPlan) -> bool:
    return any(report.tally.in_flight or report.tally.soaking for report in plan.groups)


def _waiting(plan: RolloutPlan) -> Iterator[Verdicts]:
    """The verdicts of those that wait; pinned targets wait for nothing."""
    for i, state in enumerate(plan.states):
        if state in _WAITING and i not in plan.pinned:
            yield plan.options[i].verdicts


def _gives_way(verdicts: Verdicts) -> bool:
    """Whether a target waits for an approval of this very revision, which may never be given."""
    return _shuts(verdicts, _ON_REVISION) or any(each.reason in _UNWELL for each in verdicts)


def _shuts(verdicts: Verdicts, gates: frozenset[Gate]) -> bool:
    return any(each.gate in gates and each.outcome is not Outcome.PASS for each in verdicts)


_WAITING = frozenset((State.WAITING, State.HOLDING))
_ON_REVISION = frozenset((Gate.APPROVAL, Gate.BLOCK))
_UNWELL = frozenset((BrakeReason.HealthBad, BrakeReason.HealthAlerts))
_FREEZE = frozenset((Gate.FREEZE,))


def _steer(world: RolloutWorld, course: Course, now: Instant) -> RolloutPlan:
    """Decide on one course."""
    braking = brake(world, course, now)
    if braking is not None:
        world = braking.world
    census = take_census(world, course, now)
    if braking is not None:
        braking.read(census)
    budget = count_failures(world, census, course)
    summary = summarise(world, census, course, budget)
    groups = report_groups(world, census, course, budget)
    wanted = world.strategy.on_failure is OnFailure.ROLLBACK
    rolls_back = wanted and (bool(budget.breached) or summary is Summary.ABORTED)
    started = _walk(world, course, census, budget, braking)
    change = Change(ChangeKind.APPLY, course.revision)
    options = list(map(Option, range(len(census.own)), repeat(change), _complete(census.own)))
    returns = plan_rollback(world, course, census.states, braking) if rolls_back else []
    leaves = _departures(world, braking)
    names = world.targets + world.departed
    chosen = [option for option in (*returns, *leaves) if all_pass(option.verdicts)]
    options += returns
    options += leaves
    plan = RolloutPlan(
        options=options,
        actions=[Action(names[i].name, change) for i in started]
        + [Action(names[option.target].name, option.change) for option in chosen],
        recheck_at=census.recheck_at,
        events=_events(
            course, census, summary, bool(started), rolls_back and can_return(world, course)
        ),
        course=course,
        states=census.states,
        started=started,
        groups=groups,
        summary=summary,
        breached=bool(budget.breached),
    )
    return plan if braking is None else _braked(plan, braking)


def _braked(plan: RolloutPlan, braking: RolloutBrakes) -> RolloutPlan:
    """The plan with what only brakes add to it."""
    return msgspec.structs.replace(
        plan,
        recheck_at=braking.recheck_at(plan.recheck_at),
        pinned=braking.pinned,
        claims=braking.wanted(),
        freed=braking.freed(plan.actions),
    )


def _walk(
    world: RolloutWorld,
    course: Course,
    census: Census,
    budget: FailureBudget,
    braking: RolloutBrakes | None,
) -> list[int]:
    """Give every waiting target its verdicts, phase by phase; the positions of those that start."""
    running = gates.running(course)
    order = gates.Order(world, census)
    shared_slots = count_slots(world, census)
    started: list[int] = []
    for at, phase in enumerate(world.phases):
        lead: list[Verdict] = [running, gates.reading(world, phase)]
        within = budget.verdicts[at]
        if within is not None:
            lead.append(within)
        slots: Slots | None = None if phase.mandatory else shared_slots
        if course.mode is CourseMode.SETTLED:
            lead.insert(0, verdict(RolloutReason.JoinedLater))
            slots = None
        elif course.mode is CourseMode.REVERT:
            lead.insert(0, verdict(RolloutReason.Reverting))
        else:
            approved = None
            if len(world.phases) > 1:
                lead.append(order.verdict())
            if gates.wants_approval(world):
                approved = gates.approval(world, course, world.groups[phase.groups[0]])
                lead.append(approved)
            order.pass_by(at, phase, approved)
            if slots is not None and world.strategy.per_group:
                slots = count_slots(world, census, phase)
        started += admit(world, census, phase, tuple(lead), slots, braking)
    return sorted(started)


def _complete(own: list[Verdicts | None]) -> list[Verdicts]:
    """Every target has verdicts by now; anything else is a bug, and must not pass for 'go'."""
    if not all(own):
        raise AssertionError("a target was left without a verdict")
    return own  # type: ignore[return-value]


def _departures(world: RolloutWorld, braking: RolloutBrakes | None) -> list[Option]:
    """Targets in no group are removed, but only on a complete reading."""
    if not world.departed:
        return []
    seen_all = world.complete and all(group.complete for group in world.groups)
    reason = verdict(RolloutReason.LeftEveryGroup if seen_all else RolloutReason.MayBeUnseen)
    change = Change(ChangeKind.REMOVE)
    first = len(world.targets)
    if braking is None:
        return [Option(first + i, change, (reason,)) for i in range(len(world.departed))]
    return [
        Option(first + i, change, (reason, *braking.gates_out(target.name).verdicts))
        for i, target in enumerate(world.departed)
    ]


def _events(
    course: Course, census: Census, summary: Summary, starts: bool, returns: bool
) -> tuple[Event, ...]:
    """What becomes true of the rollout itself with this plan."""
    events: list[Event] = []
    if course.retry is Retry.EVERYTHING:
        events.append(Event.RESTARTED)
    elif course.is_retried:
        events.append(Event.RETRIED)
    if returns and summary is Summary.FAILED:
        events.append(Event.ABORTED)
    received = any(tally.done for tally in census.tallies)
    quiet = not starts and not any(tally.ignored_waiting for tally in census.tallies)
    if (
        summary is Summary.SUCCEEDED
        and course.mode is not CourseMode.SETTLED
        and received
        and quiet
    ):
        events.append(Event.COMPLETED)
    return tuple(events)
