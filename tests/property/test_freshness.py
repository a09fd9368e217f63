"""Law: success, failure and soak count only for the revision that goes out."""

from hypothesis import given
from msgspec.structs import replace

from tests.sim.acting import is_fresh
from tests.sim.by_hand import case, decided, report
from tests.sim.drawn import cases
from tests.sim.generator import Case
from tests.sim.invariants import only_fresh_statuses_count
from tidegate.kinds.rollouts.core.strategy import Rollout, Strategy, StrategyType
from tidegate.model.target import State, Status, Target

# What another revision may leave behind without holding a slot.
SETTLED = (Status.ToApply, Status.Succeeded, Status.Failed, Status.TimeOut, Status.NewCluster)


@given(cases())
def test_a_status_of_another_revision_says_nothing_of_this_one(one: Case) -> None:
    """It is neither done, nor failed, nor soaking: at most it still holds a slot."""
    world, plan = decided(one)
    only_fresh_statuses_count(world, one.now, plan)


@given(cases())
def test_how_another_revision_ended_changes_nothing(one: Case) -> None:
    """Succeeded, failed or forgotten on another revision: the same targets start."""
    _, plan = decided(one)
    reports = tuple(
        Target(each.name, revision=each.revision)
        if each.status in SETTLED and not is_fresh(each, plan.course)
        else each
        for each in one.statuses
    )
    if one.rollout.revision in (None, one.revision):  # else how the one under way ended counts
        _, without = decided(replace(one, statuses=reports))
        assert (without.started, without.states) == (plan.started, plan.states)


def test_a_declaration_without_a_name_does_not_take_over_from_the_revision_under_way() -> None:
    """A report without a revision speaks of the one under way, and that one goes on."""
    failed = report("a", Status.Failed, None)
    strategy = Strategy(StrategyType.ALL)
    one = case(strategy, {"dev": "a"}, failed, revision=None, rollout=Rollout(revision="r1"))
    _, plan = decided(one)
    assert (plan.course.revision, plan.states, plan.events) == ("r1", [State.FAILED], ())
