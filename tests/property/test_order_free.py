"""Law: the answer depends on the set of inputs, not on the order they come in."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sim.again import answer, order_means_nothing
from tests.sim.by_hand import case
from tests.sim.drawn import cases
from tests.sim.generator import Case
from tidegate.kinds.rollouts.core.strategy import Strategy, StrategyType
from tidegate.kinds.rollouts.core.world import Membership


@given(cases(), st.integers(0, 1_000))
def test_the_answer_does_not_depend_on_the_order_of_inputs(one: Case, seed: int) -> None:
    """Groups, clusters, statuses, labels shuffled: the same JSON, texts and warnings included."""
    order_means_nothing(one, seed)


def test_decisions_of_one_group_that_disagree_on_its_size_are_an_incomplete_reading() -> None:
    """Two parts of a group say it has two and three members: whichever comes first, it waits."""
    parts = (Membership("dev", 0, ("a",), count=2), Membership("dev", 0, ("b",), count=3))
    one = replace(case(Strategy(StrategyType.ALL), {}), memberships=parts)
    assert answer(one) == answer(replace(one, memberships=parts[::-1]))
    assert not one.world().groups[0].complete
