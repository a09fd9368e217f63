"""Law: deciding twice decides the same, to the last word."""

from hypothesis import given

from tests.sim.again import answer
from tests.sim.by_hand import decided
from tests.sim.drawn import cases
from tests.sim.generator import Case, case_of
from tidegate.kinds.rollouts.core.decide import decide


@given(cases())
def test_deciding_twice_decides_the_same(case: Case) -> None:
    """One world, one instant: one plan, and the world is as it was."""
    world, plan = decided(case)
    assert decide(world, case.now) == plan
    assert world == case.world()
    assert answer(case) == answer(case)


def test_a_seed_stands_for_one_case() -> None:
    """What a seed makes, it makes again."""
    assert [case_of(seed) for seed in range(50)] == [case_of(seed) for seed in range(50)]
