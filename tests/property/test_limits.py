"""Law: no more targets change at once than maxConcurrency says, not even inside one round."""

from hypothesis import given
from msgspec.structs import replace

from tests.sim.by_hand import actions, case, decided, reasons, report, started
from tests.sim.drawn import cases, reverts, rollbacks
from tests.sim.generator import MINUTE, Case
from tests.sim.invariants import ceilings_hold, rollback_keeps_the_ceiling
from tidegate.kinds.rollouts.core.strategy import OnFailure, Retry, Rollout, Strategy, StrategyType
from tidegate.model.limit import Limit
from tidegate.model.target import Status
from tidegate.model.time import Duration

ONE_SLOT = Strategy(StrategyType.PROGRESSIVE, max_concurrency=Limit(1))
TWO_SLOTS_BACK = Strategy(
    StrategyType.PROGRESSIVE,
    deadline=Duration(10 * MINUTE),
    max_concurrency=Limit(2),
    on_failure=OnFailure.ROLLBACK,
)
ABORTED = Rollout(revision="r2", last_good="r1", aborted=True)


@given(cases())
def test_starts_stay_under_the_ceiling(one: Case) -> None:
    """In flight, soaking, held and starting never exceed the ceiling; mandatory groups are free."""
    world, plan = decided(one)
    ceilings_hold(world, one.now, plan)


@given(reverts())
def test_a_revert_stays_under_the_ceiling(one: Case) -> None:
    """A revert goes without order and soak, but not without slots."""
    world, plan = decided(one)
    ceilings_hold(world, one.now, plan)


@given(rollbacks())
def test_a_rollback_stays_under_the_ceiling(one: Case) -> None:
    """The way back is bounded like the way out."""
    world, plan = decided(one)
    rollback_keeps_the_ceiling(world, one.now, plan)


def test_a_target_in_flight_starts_the_new_revision_in_the_slot_it_holds() -> None:
    """One slot, held by a target that is getting the revision before: that one starts, alone."""
    busy = report("b", Status.Progressing, "r1")
    assert started(case(ONE_SLOT, {"dev": "a b"}, busy)) == ["b"]


def test_on_the_way_back_a_slot_held_for_a_third_revision_is_not_free() -> None:
    """Two slots, both taken by targets still getting an earlier revision: no other returns."""
    elsewhere = (report(name, Status.Progressing, "r3") for name in ("a", "b"))
    failed = report("c", Status.Failed)
    assert (
        actions(case(TWO_SLOTS_BACK, {"dev": "a b c"}, *elsewhere, failed, rollout=ABORTED)) == []
    )


def test_on_the_way_back_a_silent_target_holds_no_slot_to_return_in() -> None:
    """Timed out, it takes no slot: with both taken by others it waits for one like the others."""
    back = report("a", Status.Progressing, "r1")
    out = report("b", Status.Progressing, "r2")
    silent = report("0", Status.Progressing, "r2", ago_s=3600)
    one = case(TWO_SLOTS_BACK, {"dev": "0 a b"}, back, out, silent, rollout=ABORTED)
    assert actions(one) == ["return b r1"]


def test_a_retry_of_failures_after_completion_stays_under_the_ceiling() -> None:
    """They did not join later: they failed, and try again one at a time like the others."""
    tolerant = replace(ONE_SLOT, max_failures=Limit(100, percent=True))
    reports = (
        report("a", Status.Failed),
        report("b", Status.Failed),
        report("c", Status.Succeeded),
    )
    done = Rollout(revision="r2", last_good="r2", completed=True, retry=Retry.FAILED)
    one = case(tolerant, {"dev": "a b c"}, *reports, rollout=done)
    assert started(one) == ["a"]
    assert "JoinedLater" not in reasons(one, "b")
