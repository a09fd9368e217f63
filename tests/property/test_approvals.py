"""Law: an approval counts only for the revision it was given for; standing ones are asked for."""

from hypothesis import given
from msgspec.structs import replace

from tests.sim.by_hand import case, decided, reasons, started
from tests.sim.drawn import manual
from tests.sim.generator import Case
from tests.sim.invariants import only_the_approved_start
from tidegate.kinds.rollouts.core.strategy import Approvals, Rollout, Strategy, StrategyType

MANUAL = Strategy(StrategyType.MANUAL_PER_GROUP)


@given(manual())
def test_nothing_starts_without_an_approval_for_this_revision(one: Case) -> None:
    """Under ManualPerGroup only approved and mandatory groups start a target."""
    world, plan = decided(one)
    only_the_approved_start(world, one.now, plan)


@given(manual())
def test_an_approval_for_another_revision_is_none(one: Case) -> None:
    """Approvals for a version that is not going out start whom no approval at all would start."""
    other = replace(one.rollout.approvals, for_version="some other")
    for_other = replace(one, rollout=replace(one.rollout, approvals=other))
    for_none = replace(one, rollout=replace(one.rollout, approvals=Approvals()))
    assert started(for_other) == started(for_none)


def test_an_unapproved_group_holds_nothing() -> None:
    """Stage is approved, dev is not: stage does not wait for dev."""
    memory = Rollout(approvals=Approvals(frozenset(("stage",)), for_version="r2"))
    one = case(MANUAL, {"dev": "a", "stage": "b"}, rollout=memory)
    assert started(one) == ["b"]
    assert "ApprovalMissing" in reasons(one, "a")
