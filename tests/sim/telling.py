"""What a plan says must be true: its numbers, its words, its events.

A decision can be right and its explanation wrong; people act on the explanation.
"""

from tests.sim.invariants import (
    CHANGING,
    FAILED,
    UNFINISHED,
    WAITING,
    Check,
    broken,
    is_counted,
    scopes,
)
from tidegate.explain.sentence import sentence
from tidegate.kinds.rollouts.core.course import CourseMode
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.kinds.rollouts.core.strategy import OnFailure, Retry
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import Event
from tidegate.model.target import State
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict


def facts_are_true(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """What a verdict says of others holds of them: the full slots, the ones ranked before it."""
    if world.strategy.max_concurrency is None:
        return
    for phase in world.phases:
        left_behind = False
        for i in phase.order:
            says = {each.reason: each for each in plan.options[i].verdicts}
            if RolloutReason.BehindInRank in says and not left_behind:
                raise broken("nobody ranked before it waits for a slot", world, now, plan)
            if plan.states[i] in WAITING and is_counted(world, i) and i not in plan.started:
                left_behind = True
            if RolloutReason.NoSlotFree in says:
                _slots_add_up(says[RolloutReason.NoSlotFree], i, world, now, plan)


def _slots_add_up(
    one: Verdict, i: int, world: RolloutWorld, now: Instant, plan: RolloutPlan
) -> None:
    scope = next(scope for scope in scopes(world, plan) if i in scope)
    bound = {j for j in scope if is_counted(world, j)}
    moving = {j for j in bound if plan.states[j] in CHANGING or plan.states[j] is State.HOLDING}
    limit, *told = (value for value in one.facts if isinstance(value, int))
    if not limit <= sum(told) <= len(moving | bound.intersection(plan.started)):
        raise broken(f"{sentence(one)}: the numbers do not add up", world, now, plan)


def counts_are_true(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """Every target is in exactly one count of its group, by its state or because it is ignored."""
    for group, one in zip(world.groups, plan.groups, strict=True):
        here = range(group.first, group.last)
        states = [plan.states[i] for i in here if is_counted(world, i)]
        tally = one.tally
        true = (
            sum(state in WAITING for state in states),
            states.count(State.IN_FLIGHT),
            states.count(State.SOAKING),
            states.count(State.DONE),
            sum(state in FAILED for state in states),
            group.size - len(states),
        )
        told = (tally.waiting, tally.in_flight, tally.soaking, tally.done, tally.failed)
        if (*told, tally.ignored) != true:
            raise broken(f"{group.label} tells {told}, and has {true}", world, now, plan)


def words_agree(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """The rollout's word is the one that is documented, and its groups' words do not deny it."""
    if plan.summary is not _true_summary(world, plan):
        raise broken(f"it is not {plan.summary.value}", world, now, plan)
    words = {report.status for report in plan.groups}
    if plan.summary is Summary.WAITING and Summary.PROGRESSING in words:
        raise broken("a group progresses in a rollout that waits", world, now, plan)
    if plan.summary is Summary.SUCCEEDED and plan.course.mode is not CourseMode.SETTLED:
        if words - {Summary.SUCCEEDED}:
            raise broken("a rollout succeeded without all its groups", world, now, plan)


def _true_summary(world: RolloutWorld, plan: RolloutPlan) -> Summary:
    states = {plan.states[i] for i in range(len(world.targets)) if is_counted(world, i)}
    seen_all = world.complete and all(group.complete for group in world.groups)
    if plan.course.aborted:
        return Summary.ABORTED
    if plan.breached:
        return Summary.FAILED
    if plan.course.mode is CourseMode.SETTLED:
        return Summary.SUCCEEDED
    if seen_all and states.isdisjoint(UNFINISHED):
        return Summary.SUCCEEDED if State.DONE in states or not states else Summary.FAILED
    if plan.course.paused:
        return Summary.PAUSED
    return Summary.WAITING if states <= WAITING else Summary.PROGRESSING


def events_are_due(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """What becomes true of the rollout is what the plan shows, no more and no less."""
    events, course, under_way = list(plan.events), plan.course, world.rollout.revision
    took_over = None not in (under_way, world.revision) and course.revision != under_way
    if took_over and course.mode is not CourseMode.SETTLED:
        if Event.SUPERSEDED not in events:
            raise broken("a revision took over and nobody is told", world, now, plan)
        events = events[events.index(Event.SUPERSEDED) + 1 :]
    if events != _true_events(world, plan):
        raise broken(f"these events are not due: {events}", world, now, plan)


def _true_events(world: RolloutWorld, plan: RolloutPlan) -> list[Event]:
    course, good = plan.course, world.rollout.last_good
    found: list[Event] = []
    if course.retry is Retry.EVERYTHING:
        found.append(Event.RESTARTED)
    elif course.retry is Retry.FAILED or course.retry_groups:
        found.append(Event.RETRIED)
    goes_back = world.strategy.on_failure is OnFailure.ROLLBACK and good not in (
        None,
        course.revision,
    )
    if plan.breached and plan.summary is Summary.FAILED and goes_back:
        found.append(Event.ABORTED)
    counted = [i for i in range(len(world.targets)) if is_counted(world, i)]
    received = any(plan.states[i] is State.DONE for i in counted)
    quiet = WAITING.isdisjoint(plan.states) and not plan.started
    if (
        plan.summary is Summary.SUCCEEDED
        and course.mode is not CourseMode.SETTLED
        and received
        and quiet
    ):
        found.append(Event.COMPLETED)
    return found


TELLING: tuple[Check, ...] = (facts_are_true, counts_are_true, words_agree, events_are_due)
