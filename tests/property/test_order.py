"""Law: nothing starts while an earlier group that takes part is not done."""

from hypothesis import given

from tests.sim.by_hand import case, decided, report, started
from tests.sim.drawn import cases
from tests.sim.generator import Case
from tests.sim.invariants import later_groups_wait
from tidegate.kinds.rollouts.core.strategy import Retry, Rollout, Strategy, StrategyType
from tidegate.model.target import Status

PER_GROUP = Strategy(StrategyType.PROGRESSIVE_PER_GROUP)


@given(cases())
def test_a_later_group_waits_for_every_earlier_one(one: Case) -> None:
    """No target of a later group starts while an earlier one waits, flies or soaks."""
    world, plan = decided(one)
    later_groups_wait(world, one.now, plan)


def test_a_restart_of_a_completed_rollout_goes_in_order_again() -> None:
    """Trying everything again is no revert, though the revision is the last good one by then."""
    done = Rollout(revision="r2", last_good="r2", completed=True, retry=Retry.EVERYTHING)
    reports = (report("a", Status.Succeeded), report("b", Status.Succeeded))
    again = case(PER_GROUP, {"dev": "a", "prod": "b"}, *reports, rollout=done)
    assert started(again) == ["a"]
