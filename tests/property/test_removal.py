"""Law: a target is removed only when it is absent from a complete reading."""

from hypothesis import given
from msgspec.structs import replace

from tests.sim.by_hand import decided
from tests.sim.drawn import cases
from tests.sim.generator import Case
from tests.sim.invariants import nobody_unseen_is_passed_by
from tidegate.model.plan import ChangeKind


@given(cases())
def test_nothing_is_removed_that_we_may_only_not_see(case: Case) -> None:
    """On an incomplete reading nothing is removed, and nothing starts where members may lack."""
    for one in (case, replace(case, complete=False)):
        world, plan = decided(one)
        nobody_unseen_is_passed_by(world, one.now, plan)


@given(cases())
def test_what_is_in_a_group_is_not_removed(case: Case) -> None:
    """Removal is for those in no group at all."""
    _, plan = decided(case)
    grouped = {name for one in case.memberships for name in one.clusters}
    removed = {one.target for one in plan.actions if one.change.kind is ChangeKind.REMOVE}
    assert not grouped & removed
