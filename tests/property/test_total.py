"""Law: every target has a reason, in words, and every timed wait says until when."""

from hypothesis import given

from tests.explained import details
from tests.sim.by_hand import decided
from tests.sim.drawn import cases
from tests.sim.generator import Case
from tests.sim.invariants import everybody_has_a_reason
from tidegate.app.text.view_text import group_rows, target_rows, target_tree
from tidegate.kinds.rollouts.core.explain.tree import target_tree as recorded_tree


@given(cases())
def test_every_target_has_a_documented_reason(case: Case) -> None:
    """Whatever the state, every target has verdicts, each with its sentence and what opens it."""
    world, plan = decided(case)
    everybody_has_a_reason(world, case.now, plan)


@given(cases())
def test_explaining_never_raises(case: Case) -> None:
    """Whatever the state, headline, tables and the tree of every target can be shown."""
    world, plan = decided(case)
    found = details(world, plan, case.now)
    assert found.headline
    assert len(group_rows(found.groups)) == len(world.groups)
    assert len(target_rows(found.targets, case.now)) == len(world.targets)
    assert len(found.unplaced) == len(world.departed)
    for each in (*found.targets, *found.unplaced):
        assert len(target_tree(each, case.now)) > 1
    for position in range(len(world.targets) + len(world.departed)):
        assert len(recorded_tree(world, plan, position, case.now)) > 1
