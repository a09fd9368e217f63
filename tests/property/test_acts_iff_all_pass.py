"""Law: an option is acted on if and only if all its verdicts pass."""

from hypothesis import given

from tests.sim.by_hand import decided
from tests.sim.drawn import cases
from tests.sim.generator import Case
from tests.sim.invariants import acts_iff_all_pass


@given(cases())
def test_an_option_is_acted_on_iff_all_its_verdicts_pass(case: Case) -> None:
    """What starts, returns or is removed passed every gate, and no target is changed twice."""
    world, plan = decided(case)
    acts_iff_all_pass(world, case.now, plan)
