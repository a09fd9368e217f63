"""Law: every target has a reason, in words, and every timed wait says until when."""

from hypothesis import given

from tests.sim.by_hand import decided
from tests.sim.drawn import cases
from tests.sim.generator import Case
from tests.sim.invariants import everybody_has_a_reason
from tidegate.kinds.rollouts.core.explain.table import group_rows, headline, target_rows
from tidegate.kinds.rollouts.core.explain.tree import target_tree


@given(cases())
def test_every_target_has_a_documented_reason(case: Case) -> None:
    """Whatever the state, every target has verdicts, each with its sentence and what opens it."""
    world, plan = decided(case)
    everybody_has_a_reason(world, case.now, plan)


@given(cases())
def test_explaining_never_raises(case: Case) -> None:
    """Whatever the state, headline, tables and the tree of every target can be shown."""
    world, plan = decided(case)
    assert headline(world, plan)
    assert len(group_rows(world, plan)) == len(world.groups)
    assert len(target_rows(world, plan, case.now)) >= len(world.targets)
    for position in range(len(world.targets) + len(world.departed)):
        assert len(target_tree(world, plan, position, case.now)) > 1
