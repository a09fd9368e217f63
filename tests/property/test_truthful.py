"""Law: what a plan says of a rollout, its groups and its slots is true of them."""

from hypothesis import given

from tests.sim.by_hand import case, decided, reasons, report
from tests.sim.drawn import cases
from tests.sim.generator import Case
from tests.sim.telling import counts_are_true, events_are_due, facts_are_true, words_agree
from tidegate.kinds.rollouts.core.strategy import Strategy, StrategyType
from tidegate.model.limit import Limit
from tidegate.model.target import Status


@given(cases())
def test_the_rollout_and_its_groups_tell_one_story(one: Case) -> None:
    """No group progresses in a rollout that waits; none is unfinished in one that succeeded."""
    world, plan = decided(one)
    words_agree(world, one.now, plan)


@given(cases())
def test_events_are_what_the_plan_shows(one: Case) -> None:
    """Completed, aborted, retried and superseded are reported when they are due, and only then."""
    world, plan = decided(one)
    events_are_due(world, one.now, plan)


@given(cases())
def test_every_target_is_in_one_count_of_its_group(one: Case) -> None:
    """Waiting, in flight, soaking, done, failed and ignored add up to the group."""
    world, plan = decided(one)
    counts_are_true(world, one.now, plan)


@given(cases())
def test_the_numbers_of_a_verdict_add_up(one: Case) -> None:
    """Full slots are full, and what is behind others in rank is behind another."""
    world, plan = decided(one)
    facts_are_true(world, one.now, plan)


def test_a_target_with_a_slot_does_not_wait_for_one() -> None:
    """It waits for its group's turn; the slot that others miss is the one it holds itself."""
    strategy = Strategy(StrategyType.PROGRESSIVE_PER_GROUP, max_concurrency=Limit(1))
    busy = report("b", Status.Progressing, "r1")
    said = reasons(case(strategy, {"dev": "a", "prod": "b"}, busy), "b")
    assert "SlotHeld" in said
    assert "NoSlotFree" not in said
