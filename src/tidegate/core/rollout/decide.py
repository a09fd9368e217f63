"""The decision: which targets of a rollout start now, and why every other waits.

    decide(world, now) -> RolloutPlan

A pure function of one reading and one instant. Failures are counted over the whole rollout first;
then the phases are walked in order, each with the verdicts its targets share; then slots are given
out by rank. Every target ends with verdicts, and starts if and only if all of them pass.
"""

from itertools import repeat

import msgspec

from tidegate.core.model.plan import Action, Change, ChangeKind, Event, Option, Plan
from tidegate.core.model.reasons import Gate, Outcome, Reason
from tidegate.core.model.target import State
from tidegate.core.model.time import Instant
from tidegate.core.model.verdict import Verdict, all_pass, verdict
from tidegate.core.rollout import gates
from tidegate.core.rollout.budget import Budget, count_failures
from tidegate.core.rollout.census import Census, Verdicts, take_census
from tidegate.core.rollout.course import Course, Mode, course_of_newest, course_under_way
from tidegate.core.rollout.rollback import can_return, plan_rollback
from tidegate.core.rollout.slots import Slots, count_slots
from tidegate.core.rollout.strategy import OnFailure, OnNewRevision, Retry
from tidegate.core.rollout.summary import GroupReport, Summary, report_groups, summarise
from tidegate.core.rollout.world import Phase, RolloutWorld


class RolloutPlan(Plan, frozen=True, kw_only=True):
    """What every target's gates say, and how the rollout and its groups stand."""

    course: Course
    states: list[State]
    # Positions of the targets that start now, in group, then rank order.
    started: list[int]
    groups: tuple[GroupReport, ...]
    summary: Summary
    breached: bool


def decide(world: RolloutWorld, now: Instant) -> RolloutPlan:
    """Which targets start now, and why every other waits."""
    under_way = world.rollout.revision
    if under_way is None or world.revision is None or under_way == world.revision:
        return _steer(world, course_under_way(world), now)
    newest = course_of_newest(world)
    events: tuple[Event, ...] = (Event.SUPERSEDED,)
    if newest.mode is not Mode.REVERT:  # a revert never waits for what it reverts
        current = _steer(world, course_under_way(world), now)
        finish = world.strategy.on_new_revision is OnNewRevision.FINISH
        if finish and _is_live(current):
            return current
        if Event.COMPLETED in current.events:
            events = (Event.COMPLETED, Event.SUPERSEDED)
    plan = _steer(world, newest, now)
    return msgspec.structs.replace(plan, events=(*events, *plan.events))


def _is_live(plan: RolloutPlan) -> bool:
    """Whether a rollout under way goes on without anybody's word: then a newer one waits for it.

    One that nobody has received yet, or that only waits for approvals, gives way.
    """
    if plan.summary not in (Summary.PROGRESSING, Summary.PAUSED):
        return False
    if any(report.tally.in_flight or report.tally.soaking for report in plan.groups):
        return True
    waiting = (plan.options[i].verdicts for i, state in enumerate(plan.states) if state in _WAITING)
    return any(not _wants_approval(verdicts) for verdicts in waiting)


_WAITING = frozenset((State.WAITING, State.HOLDING))


def _wants_approval(verdicts: Verdicts) -> bool:
    shut = (each for each in verdicts if each.outcome is not Outcome.PASS)
    return any(each.gate is Gate.APPROVAL for each in shut)


def _steer(world: RolloutWorld, course: Course, now: Instant) -> RolloutPlan:
    """Decide on one course."""
    census = take_census(world, course, now)
    budget = count_failures(world, census, course)
    summary = summarise(world, census, course, budget)
    groups = report_groups(world, census, course, budget)
    wanted = world.strategy.on_failure is OnFailure.ROLLBACK
    rolls_back = wanted and summary in (Summary.FAILED, Summary.ABORTED)
    started = _walk(world, course, census, budget)
    change = Change(ChangeKind.APPLY, course.revision)
    options = list(map(Option, range(len(census.own)), repeat(change), _complete(census.own)))
    returns = plan_rollback(world, course, census.states) if rolls_back else []
    leaves = _departures(world)
    names = world.targets + world.departed
    chosen = [option for option in (*returns, *leaves) if all_pass(option.verdicts)]
    return RolloutPlan(
        options=options + returns + leaves,
        actions=[Action(names[i].name, change) for i in started]
        + [Action(names[option.target].name, option.change) for option in chosen],
        recheck_at=census.recheck_at,
        events=_events(course, census, summary, bool(started), rolls_back and can_return(world)),
        course=course,
        states=census.states,
        started=started,
        groups=groups,
        summary=summary,
        breached=bool(budget.breached),
    )


def _walk(world: RolloutWorld, course: Course, census: Census, budget: Budget) -> list[int]:
    """Give every waiting target its verdicts, phase by phase; the positions of those who start."""
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
        if course.mode is Mode.SETTLED:
            lead.insert(0, verdict(Reason.JoinedLater))
            slots = None
        elif course.mode is Mode.REVERT:
            lead.insert(0, verdict(Reason.Reverting))
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
        started += _admit(world, census, phase, tuple(lead), slots)
    return sorted(started)


def _admit(
    world: RolloutWorld, census: Census, phase: Phase, lead: Verdicts, slots: Slots | None
) -> list[int]:
    """Let in those of a phase for whom everything passes and a slot is there."""
    own = census.own
    waiting = [i for i in phase.order if own[i] is None]
    if slots is None or not waiting:
        for i in waiting:
            own[i] = lead
        return waiting if all_pass(lead) else []
    if not all_pass(lead):
        shut = (*lead, slots.standing())
        for i in waiting:
            own[i] = shut
        return []
    return _give_slots(world, census, waiting, lead, slots)


def _give_slots(
    world: RolloutWorld, census: Census, waiting: list[int], lead: Verdicts, slots: Slots
) -> list[int]:
    """Slots by rank. An ignored target takes none, but waits for those ranked before it."""
    own, states, targets = census.own, census.states, world.targets
    let_in: dict[Reason, Verdicts] = {}
    ignored_in = (*lead, verdict(Reason.NoSlotNeeded))
    ignored_out = (*lead, verdict(Reason.BehindInRank) if slots.limit else slots.standing())
    started: list[int] = []
    queued: list[int] = []
    for i in waiting:
        if targets[i].ignored:
            own[i] = ignored_out if queued or not slots.limit else ignored_in
            if own[i] is ignored_in:
                started.append(i)
            continue
        taken = slots.take(states[i])
        if taken is None:
            queued.append(i)
            continue
        own[i] = let_in.setdefault(taken.reason, (*lead, taken))
        started.append(i)
    full = (*lead, slots.standing())
    for i in queued:
        own[i] = full
    return started


def _complete(own: list[Verdicts | None]) -> list[Verdicts]:
    """Every target has verdicts by now; anything else is a bug, and must not pass for 'go'."""
    if None in own:
        raise AssertionError("a target was left without a verdict")
    return own  # type: ignore[return-value]


def _departures(world: RolloutWorld) -> list[Option]:
    """Targets in no group are removed, but only on a complete reading."""
    if not world.departed:
        return []
    seen_all = world.complete and all(group.complete for group in world.groups)
    reason = verdict(Reason.LeftEveryGroup if seen_all else Reason.MayBeUnseen)
    change = Change(ChangeKind.REMOVE)
    first = len(world.targets)
    return [Option(first + i, change, (reason,)) for i in range(len(world.departed))]


def _events(
    course: Course, census: Census, summary: Summary, starts: bool, returns: bool
) -> tuple[Event, ...]:
    """What becomes true of the rollout itself with this plan."""
    events: list[Event] = []
    if course.retry is Retry.EVERYTHING:
        events.append(Event.RESTARTED)
    elif course.retry is Retry.FAILED:
        events.append(Event.RETRIED)
    if returns and summary is Summary.FAILED:
        events.append(Event.ABORTED)
    received = any(tally.done for tally in census.tallies)
    quiet = not starts and not any(tally.ignored_waiting for tally in census.tallies)
    if summary is Summary.SUCCEEDED and course.mode is not Mode.SETTLED and received and quiet:
        events.append(Event.COMPLETED)
    return tuple(events)
