"""Law: failures are counted over the whole scope; over the budget, nothing starts."""

from hypothesis import given

from tests.sim.by_hand import decided
from tests.sim.drawn import cases
from tests.sim.generator import Case
from tests.sim.invariants import over_budget_nothing_starts


@given(cases())
def test_over_the_budget_nothing_starts(case: Case) -> None:
    """Whatever scope is over its budget, no target of the rollout starts, and the plan says so."""
    world, plan = decided(case)
    over_budget_nothing_starts(world, case.now, plan)
