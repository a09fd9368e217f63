"""Law: a plan that was carried out leaves nothing to do at the same instant."""

from hypothesis import given
from msgspec import UNSET
from msgspec.structs import replace

from tests.sim.acting import is_fresh
from tests.sim.again import acting_settles
from tests.sim.by_hand import decided
from tests.sim.drawn import cases, group_retries, retries, reverts, rollbacks
from tests.sim.generator import Case
from tidegate.kinds.rollouts.core.remember import forgotten
from tidegate.model.target import Status


@given(cases())
def test_acting_on_a_plan_leaves_nothing_to_do(case: Case) -> None:
    """Carried out and remembered, it starts, returns and removes nothing a second time."""
    acting_settles(case, *decided(case))


@given(reverts())
def test_acting_on_a_revert_leaves_nothing_to_do(case: Case) -> None:
    """Neither does a revert."""
    acting_settles(case, *decided(case))


@given(rollbacks())
def test_acting_on_a_rollback_leaves_nothing_to_do(case: Case) -> None:
    """Neither does a rollback."""
    acting_settles(case, *decided(case))


@given(retries())
def test_acting_on_a_retry_leaves_nothing_to_do(case: Case) -> None:
    """Neither does a retry."""
    acting_settles(case, *decided(case))


@given(group_retries())
def test_acting_on_a_retry_of_a_group_leaves_nothing_to_do(case: Case) -> None:
    """Neither does a retry of one group."""
    acting_settles(case, *decided(case))


@given(group_retries())
def test_a_retry_of_a_group_changes_no_other_group(case: Case) -> None:
    """What was true of a target in another group, is true; only its turn may differ."""
    world, plan = decided(case)
    calm = replace(case, rollout=replace(case.rollout, retry_groups=UNSET, completed=False))
    _, before = decided(calm)
    if plan.course.mode is not before.course.mode or not plan.course.retry_groups:
        return
    for group in world.groups:
        if group.key not in case.rollout.retried_groups:
            mine = slice(group.first, group.last)
            assert plan.states[mine] == before.states[mine], group.label


@given(retries())
def test_a_retry_forgets_only_what_was_said_of_this_revision(case: Case) -> None:
    """What a target reports of another revision stays known: it is where the target still is."""
    world, plan = decided(case)
    for position in forgotten(world, plan):
        target = world.targets[position]
        assert target.status is Status.ToApply or is_fresh(target, plan.course), target
