"""Law: after a failure touched targets go back, few at a time, and no other does."""

from hypothesis import given
from msgspec.structs import replace

from tests.sim.by_hand import actions, case, decided, reasons, report
from tests.sim.drawn import cases, rollbacks
from tests.sim.generator import MINUTE, Case
from tests.sim.invariants import a_brake_stops_every_start, rollback_is_asked_for
from tidegate.kinds.rollouts.core.strategy import OnFailure, Rollout, Strategy, StrategyType
from tidegate.model.limit import Limit
from tidegate.model.target import Status
from tidegate.model.time import Duration

BACK = Strategy(
    StrategyType.PROGRESSIVE,
    deadline=Duration(10 * MINUTE),
    max_concurrency=Limit(1),
    on_failure=OnFailure.ROLLBACK,
)
ABORTED = Rollout(revision="r2", last_good="r1", aborted=True)


@given(cases())
def test_a_rollback_has_a_cause_and_a_goal(one: Case) -> None:
    """Only a failed or aborted rollout goes back, only what it touched, only to another one."""
    world, plan = decided(one)
    rollback_is_asked_for(world, one.now, plan)


@given(rollbacks())
def test_an_aborted_rollout_starts_nothing(one: Case) -> None:
    """Whatever goes back, nothing goes out; and while it is paused nothing moves at all."""
    world, plan = decided(one)
    rollback_is_asked_for(world, one.now, plan)
    a_brake_stops_every_start(world, one.now, plan)


def test_a_return_without_an_answer_frees_its_slot_at_the_deadline() -> None:
    """The target that fell silent is often why it goes back: the others do not wait for it."""
    failed = report("b", Status.Failed)
    for ago_s, wanted in ((599, []), (600, ["return b r1"])):
        silent = report("a", Status.Progressing, "r1", ago_s=ago_s)
        assert actions(case(BACK, {"dev": "a b"}, silent, failed, rollout=ABORTED)) == wanted


def test_an_aborted_revert_is_not_carried_on_as_a_rollback() -> None:
    """Who stops a revert to the last good revision does not want it carried out all the same."""
    memory = replace(ABORTED, last_good="r2")
    reports = (report("a", Status.Succeeded), report("b", Status.Failed))
    assert actions(case(BACK, {"dev": "a b"}, *reports, rollout=memory)) == []


def test_a_restart_of_the_last_good_revision_does_not_go_back_to_it() -> None:
    """Tried again and failed, the last good revision is no place to go back to."""
    memory = Rollout(revision="r2", last_good="r2", restarted=True)
    assert actions(case(BACK, {"dev": "a"}, report("a", Status.Failed), rollout=memory)) == []


def test_without_a_name_for_the_failed_revision_the_last_good_one_is_known_all_the_same() -> None:
    """No reason says that no last good revision is known where one is given."""
    failed = report("a", Status.Failed, None)
    memory = Rollout(last_good="r1")
    one = case(BACK, {"dev": "a"}, failed, revision=None, rollout=memory)
    assert "NoLastGood" not in reasons(one, "a")
