"""Law: a revert returns every target at once, bounded by slots alone."""

from hypothesis import given
from msgspec.structs import replace

from tests.sim.by_hand import decided
from tests.sim.drawn import reverts
from tests.sim.generator import Case
from tests.sim.laws import check_plan
from tidegate.kinds.rollouts.core.course import CourseMode
from tidegate.model.reason import Gate
from tidegate.model.target import State


@given(reverts())
def test_a_revert_asks_neither_order_nor_approval_nor_soak(case: Case) -> None:
    """No wait for a group, a person or a soak on the way to the last good revision."""
    world, plan = decided(case)
    assert plan.course.mode is CourseMode.REVERT
    assert State.SOAKING not in plan.states
    gates = {each.gate for option in plan.options for each in option.verdicts}
    assert not gates & {Gate.ORDER, Gate.APPROVAL, Gate.BUDGET}
    check_plan(world, case.now, plan)


@given(reverts())
def test_without_slots_a_revert_starts_every_target(case: Case) -> None:
    """No ceiling, no brake, a complete reading: all who are not there start in one round."""
    strategy = replace(case.strategy, max_concurrency=None)
    memory = replace(case.rollout, paused=False)
    groups = tuple(replace(one, count=None) for one in case.memberships)
    one = replace(case, strategy=strategy, rollout=memory, memberships=groups, complete=True)
    _, plan = decided(one)
    waiting = [i for i, state in enumerate(plan.states) if state in (State.WAITING, State.HOLDING)]
    assert plan.started == waiting
