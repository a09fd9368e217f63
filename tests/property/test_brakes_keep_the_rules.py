"""Law: under brakes the rollout's own rules hold as ever: order, limits, failures, pause."""

from hypothesis import given

from tests.property.brake_worlds import NOON, Case, brakes, cases
from tidegate.kinds.rollouts.core.course import CourseMode
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.strategy import StrategyType
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import ChangeKind
from tidegate.model.target import State, Status

braked_cases = cases(brakes)
UNFINISHED = (State.WAITING, State.HOLDING, State.IN_FLIGHT, State.SOAKING)


def counts(world: RolloutWorld, plan: RolloutPlan, i: int) -> bool:
    """Whether a target counts: neither skipped, nor ignored, nor pinned."""
    target = world.targets[i]
    return not target.ignored and target.status is not Status.Skip and i not in plan.pinned


@given(braked_cases)
def test_a_held_target_keeps_later_groups_waiting(case: Case) -> None:
    """Nothing starts behind a group in which a target that counts is held, frozen or on its way."""
    world = case.world()
    plan = decide(world, NOON)
    if plan.course.mode is not CourseMode.FORWARD:
        return
    in_order = case.strategy.type is StrategyType.PROGRESSIVE_PER_GROUP
    earlier: list[int] = []
    for phase in world.phases:
        if any(i in plan.started for i in phase.order):
            assert not [
                i for i in earlier if counts(world, plan, i) and plan.states[i] in UNFINISHED
            ]
        if phase.mandatory or in_order:
            earlier += phase.order


@given(braked_cases)
def test_slots_are_never_exceeded(case: Case) -> None:
    """Being updated, soaking or starting: never more than the ceiling, outside mandatory groups."""
    world = case.world()
    plan = decide(world, NOON)
    ceiling = case.strategy.max_concurrency
    if ceiling is None or plan.course.mode is not CourseMode.FORWARD:
        return
    if case.strategy.type is StrategyType.ALL:
        return
    spans = [phase.order for phase in world.phases if not phase.mandatory]
    for order in spans:
        mine = [i for i in order if counts(world, plan, i)]
        starts = [i for i in mine if i in plan.started]
        busy = {i for i in mine if plan.states[i] in (State.IN_FLIGHT, State.SOAKING)}
        busy |= {i for i in mine if plan.states[i] is State.HOLDING}
        assert not starts or len(busy | set(starts)) <= max(ceiling.amount, len(busy))
        fresh = [i for i in starts if plan.states[i] is not State.HOLDING]
        assert not fresh or len(busy | set(starts)) <= ceiling.amount


@given(braked_cases)
def test_brakes_let_nothing_through_that_the_rules_stop(case: Case) -> None:
    """Paused, aborted or over the failure budget, nothing starts, whatever brakes say."""
    world = case.world()
    plan = decide(world, NOON)
    course = plan.course
    if course.paused or course.aborted or plan.breached:
        assert not plan.started
    if course.paused:
        kinds = {action.change.kind for action in plan.actions}
        assert kinds <= {ChangeKind.REMOVE}
