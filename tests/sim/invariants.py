"""What must be true of every single decision, whatever the world.

Each check takes a world, the instant and the plan, and fails with a drawing of all three. What
needs a second decision (honest times, acting twice, other orders) is in tests/sim/again.py.
"""

from collections.abc import Callable, Iterator, Sequence

from tests.sim.drawing import describe
from tidegate.explain.sentence import facts, opens, sentence, until_text
from tidegate.kinds.rollouts.core.course import CourseMode
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.kinds.rollouts.core.strategy import StrategyType
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import RolloutPhase, RolloutWorld
from tidegate.model.plan import ChangeKind
from tidegate.model.reason import Outcome, Reason
from tidegate.model.target import State, Status
from tidegate.model.time import Instant
from tidegate.model.verdict import FactValue, Verdict, all_pass

Check = Callable[[RolloutWorld, Instant, RolloutPlan], None]

WAITING = frozenset((State.WAITING, State.HOLDING, State.JOINED))
FAILED = frozenset((State.FAILED, State.TIMED_OUT))
UNFINISHED = frozenset((State.WAITING, State.HOLDING, State.IN_FLIGHT, State.SOAKING))
CHANGING = frozenset((State.IN_FLIGHT, State.SOAKING))
BUSY = frozenset((Status.Progressing, Status.Unknown))


def broken(claim: str, world: RolloutWorld, now: Instant, plan: RolloutPlan) -> AssertionError:
    """What to raise when a claim does not hold of a plan."""
    return AssertionError(f"{claim}\n{describe(world, now, plan)}")


def is_counted(world: RolloutWorld, i: int) -> bool:
    """Whether a target counts for limits and order."""
    target = world.targets[i]
    return not target.ignored and target.status is not Status.Skip


def everybody_has_a_reason(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """Every target has verdicts, documented and in words; every timed wait ends after now."""
    here, all_of_them = len(world.targets), len(world.targets) + len(world.departed)
    if [option.target for option in plan.options[:here]] != list(range(here)):
        raise broken("some target has no option of its own", world, now, plan)
    left = {option.target for option in plan.options[here:] if option.target >= here}
    if left != set(range(here, all_of_them)):
        raise broken("somebody who left has no option", world, now, plan)
    for verdicts in {id(option.verdicts): option.verdicts for option in plan.options}.values():
        if not verdicts:
            raise broken("an option has no verdict", world, now, plan)
        for each in verdicts:
            if (each.reason, each.facts) not in _SPOKEN:
                _speak(each, now)
            if each.until is not None and each.until <= now:
                raise broken(f"{each.reason.value} ends in the past", world, now, plan)


# Verdicts that were put in words already; a sentence costs more than the decision it explains.
_SPOKEN: set[tuple[Reason, tuple[FactValue, ...]]] = set()
_SPOKEN_MAX = 100_000


def _speak(one: Verdict, now: Instant) -> None:
    entry = one.reason.entry
    assert (one.gate, one.outcome) == (entry.gate, entry.outcome), one
    assert sentence(one), one
    assert one.outcome is not Outcome.WAIT or opens(one), one
    assert "{" not in sentence(one) + opens(one), one
    assert len(facts(one)) == len(entry.facts), one
    assert (until_text(one, now) == "") == (one.until is None), one
    if len(_SPOKEN) < _SPOKEN_MAX:
        _SPOKEN.add((one.reason, one.facts))


def acts_iff_all_pass(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """An option is acted on if and only if all its verdicts pass; one a target goes out or back."""
    names = world.targets + world.departed
    chosen = [option for option in plan.options if all_pass(option.verdicts)]
    going = [option.target for option in chosen if option.change.kind is ChangeKind.APPLY]
    if going != plan.started:
        raise broken("those who start are not those whom everything lets", world, now, plan)
    wanted = [(names[option.target].name, option.change) for option in chosen]
    if wanted != [(action.target, action.change) for action in plan.actions]:
        raise broken("the actions are not the options that pass", world, now, plan)
    if len({option.target for option in chosen}) != len(chosen):
        raise broken("a target has two changes at once", world, now, plan)
    extra = plan.options[len(world.targets) :]
    if len({(o.target, o.change.kind is ChangeKind.RETURN) for o in extra}) != len(extra):
        raise broken("a target has two options of one kind", world, now, plan)


def later_groups_wait(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """Nothing starts while an earlier group that takes part has a counted target unfinished."""
    if not plan.started or plan.course.mode is not CourseMode.FORWARD or len(world.phases) < 2:
        return
    last = max(_phase_of(world, i) for i in plan.started)
    for phase in world.phases[:last]:
        if not takes_part(world, plan, phase):
            continue
        for i in phase.order:
            if plan.states[i] in UNFINISHED and is_counted(world, i):
                name = world.targets[i].name
                raise broken(f"{name} of an earlier group is not done", world, now, plan)
        if not all(world.groups[p].complete for p in phase.groups):
            raise broken("an earlier group may have members nobody sees", world, now, plan)


def _phase_of(world: RolloutWorld, i: int) -> int:
    return next(at for at, phase in enumerate(world.phases) if i in phase.order)


def takes_part(world: RolloutWorld, plan: RolloutPlan, phase: RolloutPhase) -> bool:
    """Whether a phase was let in: approved for this very revision, for all, or mandatory."""
    if world.strategy.type is not StrategyType.MANUAL_PER_GROUP or phase.mandatory:
        return True
    given, name = world.rollout.approvals, world.groups[phase.groups[0]].name
    if given.for_version is not None and given.for_version != plan.course.version:
        return False
    return name in given.groups if name else given.ungrouped


def only_the_approved_start(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """Under ManualPerGroup nothing starts without an approval for this very revision."""
    if plan.course.mode is not CourseMode.FORWARD:
        return
    if world.strategy.type is not StrategyType.MANUAL_PER_GROUP:
        return
    for i in plan.started:
        if not takes_part(world, plan, world.phases[_phase_of(world, i)]):
            raise broken(f"{world.targets[i].name} was not let in", world, now, plan)


def ceilings_hold(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """In flight, soaking, held and starting never exceed maxConcurrency."""
    limit = world.strategy.max_concurrency
    if limit is None or plan.course.mode is CourseMode.SETTLED or not plan.started:
        return
    started = set(plan.started)
    for scope in scopes(world, plan):
        bound = [i for i in scope if not world.targets[i].ignored]
        mine = started.intersection(bound)
        if not mine:
            continue
        ceiling = limit.of(len(scope))
        moving = sum(plan.states[i] in CHANGING and is_counted(world, i) for i in bound)
        still_held = sum(plan.states[i] is State.HOLDING and i not in mine for i in bound)
        adds = any(plan.states[i] is not State.HOLDING for i in mine)
        total = moving + len(mine)
        if total > ceiling or (adds and total + still_held > ceiling):
            raise broken(f"more than {ceiling} would change at once", world, now, plan)


def scopes(world: RolloutWorld, plan: RolloutPlan) -> list[Sequence[int]]:
    """Whom one ceiling bounds: a group, or all who are outside mandatory groups."""
    if world.strategy.per_group and plan.course.mode is CourseMode.FORWARD:
        return [phase.order for phase in world.phases if not phase.mandatory]
    return [list(outside(world))]


def outside(world: RolloutWorld) -> Iterator[int]:
    """Targets outside mandatory groups."""
    for group in world.groups:
        if not group.mandatory:
            yield from range(group.first, group.last)


def rollback_keeps_the_ceiling(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """On the way back, too, no more change at once than maxConcurrency says."""
    back = _chosen(plan, ChangeKind.RETURN)
    limit = world.strategy.max_concurrency
    if not back or limit is None:
        return
    outer = list(outside(world))
    bound = [i for i in outer if not world.targets[i].ignored]
    mine = back.intersection(bound)
    busy = {i for i in bound if world.targets[i].status in BUSY and not _is_lost(world, now, i)}
    ceiling = limit.of(len(outer))
    returning = {i for i in busy if world.targets[i].revision == world.rollout.last_good}
    if mine and len(returning | mine) > ceiling:
        raise broken(f"more than {ceiling} would go back at once", world, now, plan)
    if mine - busy and len(busy | mine) > ceiling:
        raise broken(f"more than {ceiling} would change at once", world, now, plan)


def _is_lost(world: RolloutWorld, now: Instant, i: int) -> bool:
    """Whether a target in the middle of a change has not answered by its deadline."""
    target, deadline = world.targets[i], world.strategy.deadline
    if target.status is Status.Unknown or deadline is None or target.since is None:
        return False
    return now >= target.since + deadline


def _chosen(plan: RolloutPlan, kind: ChangeKind) -> set[int]:
    return {o.target for o in plan.options if o.change.kind is kind and all_pass(o.verdicts)}


def rollback_is_asked_for(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """Nothing goes back without a failure or an abort, none untouched, and never to nothing."""
    for option in plan.options[len(world.targets) :]:
        if option.change.kind is not ChangeKind.RETURN:
            continue
        target = world.targets[option.target]
        if not (plan.breached or plan.course.aborted):
            raise broken("a rollback without a failure", world, now, plan)
        if plan.course.revision == world.rollout.last_good is not None:
            raise broken("back to the very revision that failed", world, now, plan)
        if option.change.revision != world.rollout.last_good:
            raise broken("back to something else than the last good", world, now, plan)
        if target.status in (Status.ToApply, Status.Skip, Status.NewCluster):
            raise broken(f"{target.name} was never touched", world, now, plan)
        lost = option.verdicts[0].reason is RolloutReason.NoLastGood
        if lost and world.rollout.last_good is not None:
            raise broken("a last good revision is known after all", world, now, plan)
        if all_pass(option.verdicts) and world.rollout.last_good in (None, target.revision):
            raise broken(f"{target.name} has nowhere to go back to", world, now, plan)


def over_budget_nothing_starts(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """Failures are counted over every scope; over the budget of one, nothing at all starts."""
    over = _is_over_budget(world, plan)
    if over != plan.breached:
        raise broken(f"breached is {plan.breached}, and should not be", world, now, plan)
    if over and plan.started:
        raise broken("something starts over the failure budget", world, now, plan)
    if over and plan.summary is not Summary.FAILED and not plan.course.aborted:
        raise broken("the summary does not tell of the breach", world, now, plan)


def _is_over_budget(world: RolloutWorld, plan: RolloutPlan) -> bool:
    limit = world.strategy.max_failures
    if plan.course.mode is not CourseMode.FORWARD:  # only a rollout forward is on trial
        return False
    if limit is None or FAILED.isdisjoint(plan.states):
        return False
    failed = counted = 0
    outside = False
    for group in world.groups:
        here = [i for i in range(group.first, group.last) if is_counted(world, i)]
        fell = sum(plan.states[i] in FAILED for i in here)
        failed, counted = failed + fell, counted + len(here)
        outside |= not group.mandatory
        if group.mandatory and fell:
            return True
        if world.strategy.per_group and fell > limit.of(len(here)):
            return True
    return outside and not world.strategy.per_group and failed > limit.of(counted)


def only_fresh_statuses_count(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """What a target says of another revision is neither success, nor failure, nor soak."""
    course = plan.course
    for target, state in zip(world.targets, plan.states, strict=True):
        if target.status is Status.Skip:
            continue
        fresh = course.vouched if target.revision is None else target.revision == course.revision
        if not fresh and state not in WAITING:
            raise broken(f"{target.name} speaks of another revision", world, now, plan)
        if fresh and state is State.HOLDING:
            raise broken(f"{target.name} is held by its own revision", world, now, plan)
        if fresh and not course.is_retried:
            if (target.status in (Status.Failed, Status.TimeOut)) and state not in FAILED:
                raise broken(f"{target.name} failed, and is not counted", world, now, plan)


def a_brake_stops_every_start(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """Paused or aborted, nothing starts; paused, nothing goes back either."""
    if (plan.course.paused or plan.course.aborted) and plan.started:
        raise broken("something starts in spite of the brake", world, now, plan)
    if plan.course.paused != world.rollout.paused:
        raise broken("a pause was forgotten", world, now, plan)
    if plan.course.paused and _chosen(plan, ChangeKind.RETURN):
        raise broken("something goes back in spite of the pause", world, now, plan)


def nobody_unseen_is_passed_by(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """Removal needs a complete reading, and so does a start among those who go together."""
    seen_all = world.complete and all(group.complete for group in world.groups)
    if _chosen(plan, ChangeKind.REMOVE) and not seen_all:
        raise broken("somebody is removed on an incomplete reading", world, now, plan)
    for i in plan.started:
        groups = world.phases[_phase_of(world, i)].groups
        if not all(world.groups[p].complete for p in groups):
            raise broken("something starts where members may be missing", world, now, plan)


def something_starts(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """If nothing stops it and none is on the way, what is next in turn starts."""
    if plan.started or plan.course.paused or plan.course.aborted or plan.breached:
        return
    if plan.course.mode is CourseMode.SETTLED:
        phases = list(world.phases)
    else:
        phases = [phase for phase in world.phases if takes_part(world, plan, phase)]
    for phase in phases:
        if not all(world.groups[p].complete for p in phase.groups):
            return
        unfinished = [
            i
            for i in phase.order
            if plan.states[i] in UNFINISHED | WAITING and is_counted(world, i)
        ]
        waiting = [i for i in unfinished if plan.states[i] in WAITING]
        if waiting and _has_room(world, plan, phase, waiting):
            raise broken("nothing stops it, and nothing starts", world, now, plan)
        if unfinished:
            return


def _has_room(
    world: RolloutWorld, plan: RolloutPlan, phase: RolloutPhase, waiting: list[int]
) -> bool:
    limit = world.strategy.max_concurrency
    if limit is None or phase.mandatory or plan.course.mode is CourseMode.SETTLED:
        return True
    scope = next(scope for scope in scopes(world, plan) if waiting[0] in scope)
    bound = [i for i in scope if is_counted(world, i)]
    moving = sum(plan.states[i] in CHANGING for i in bound)
    held = sum(plan.states[i] is State.HOLDING for i in bound)
    if any(plan.states[i] is State.HOLDING for i in waiting) and moving < limit.of(len(scope)):
        return True
    return moving + held < limit.of(len(scope))


RULES: tuple[Check, ...] = (
    everybody_has_a_reason,
    acts_iff_all_pass,
    later_groups_wait,
    only_the_approved_start,
    ceilings_hold,
    rollback_keeps_the_ceiling,
    rollback_is_asked_for,
    over_budget_nothing_starts,
    only_fresh_statuses_count,
    a_brake_stops_every_start,
    nobody_unseen_is_passed_by,
    something_starts,
)
