"""Law: before the moment a plan names, time alone changes nothing; where it names none, never."""

from hypothesis import given

from tests.sim.again import times_are_honest, waits_say_until
from tests.sim.by_hand import case, decided, report
from tests.sim.drawn import cases, rollbacks
from tests.sim.generator import MINUTE, Case
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.kinds.rollouts.core.strategy import Strategy, StrategyType
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.limit import Limit
from tidegate.model.selector import Operator, Requirement, Selector
from tidegate.model.target import Status
from tidegate.model.time import Duration, Instant

SOAKING = Strategy(
    StrategyType.PROGRESSIVE,
    soak=Duration(5 * MINUTE),
    max_concurrency=Limit(1),
    ignore=Selector((Requirement("flaky", Operator.EXISTS),)),
)


@given(cases())
def test_nothing_changes_before_recheck(one: Case) -> None:
    """Decided at any moment before it, the same targets start for the same reasons."""
    times_are_honest(*_scene(one))


@given(rollbacks())
def test_nothing_changes_before_recheck_on_the_way_back(one: Case) -> None:
    """A rollback, too, changes only when the plan says."""
    times_are_honest(*_scene(one))


@given(cases())
def test_a_wait_that_time_ends_says_when(one: Case) -> None:
    """Where time alone opens an option, every wait that kept it shut had an until."""
    waits_say_until(*_scene(one))


def test_an_ignored_target_behind_others_says_until_when() -> None:
    """It waits for those ranked before it, and they for a soak: so it, too, has a moment."""
    soaking = report("a", Status.Succeeded)
    one = case(SOAKING, {"dev": "a b c"}, soaking, labels={"c": {"flaky": "yes"}})
    world, plan = decided(one)
    behind = [v for v in plan.options[2].verdicts if v.reason is RolloutReason.BehindInRank]
    assert [each.until for each in behind] == [plan.recheck_at]
    waits_say_until(world, one.now, plan)


def _scene(one: Case) -> tuple[RolloutWorld, Instant, RolloutPlan]:
    world, plan = decided(one)
    return world, one.now, plan
