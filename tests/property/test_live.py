"""Law: if nothing stops it, something starts."""

from hypothesis import given

from tests.sim.by_hand import decided
from tests.sim.drawn import cases, reverts
from tests.sim.generator import Case
from tests.sim.invariants import something_starts


@given(cases())
def test_something_starts_where_nothing_stops_it(case: Case) -> None:
    """With a slot free, the budget unspent and its turn come, the next target starts."""
    world, plan = decided(case)
    something_starts(world, case.now, plan)


@given(reverts())
def test_a_revert_is_never_stuck(case: Case) -> None:
    """A revert, too, moves if nothing stops it."""
    world, plan = decided(case)
    something_starts(world, case.now, plan)
