"""Every check of the simulation is shown able to fail: one that never did may look at nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tests.sim import again, invariants, oracle, telling
from tests.sim.by_hand import case, decided, report
from tests.sim.generator import MINUTE, Case
from tests.sim.laws import CHECKS
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.kinds.rollouts.core.strategy import OnFailure, Retry, Rollout, Strategy, StrategyType
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.model.limit import Limit
from tidegate.model.plan import Change, ChangeKind, Event, Option
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.target import State, Status
from tidegate.model.time import Duration
from tidegate.model.verdict import verdict

ONE_SLOT = Strategy(StrategyType.PROGRESSIVE, max_concurrency=Limit(1))
PER_GROUP = Strategy(StrategyType.PROGRESSIVE_PER_GROUP)
MANUAL = Strategy(StrategyType.MANUAL_PER_GROUP)
SOAKING = replace(ONE_SLOT, soak=Duration(5 * MINUTE))
BACK = replace(ONE_SLOT, on_failure=OnFailure.ROLLBACK)
ABORTED = Rollout(revision="r2", last_good="r1", aborted=True)

TWO = case(ONE_SLOT, {"dev": "a b"})
GROUPS = case(PER_GROUP, {"dev": "a", "prod": "b"})
FAILED = case(ONE_SLOT, {"dev": "a b"}, report("a", Status.Failed))
STALE = case(ONE_SLOT, {"dev": "a"}, report("a", Status.Failed, "r1"))
SOAKS = case(SOAKING, {"dev": "a b"}, report("a", Status.Succeeded))
TO_RETURN = case(
    BACK,
    {"dev": "a b"},
    report("a", Status.Failed),
    report("b", Status.Failed),
    rollout=ABORTED,
)


def _doctored(one: Case, **changes: Any) -> tuple[Case, RolloutPlan]:
    _, plan = decided(one)
    return one, replace(plan, **changes)


def _saying(one: Case, position: int, *reasons: Any) -> tuple[Case, RolloutPlan]:
    """The plan with other verdicts on one of its options."""
    _, plan = decided(one)
    options = list(plan.options)
    options[position] = replace(options[position], verdicts=reasons)
    return one, replace(plan, options=options)


def _also(one: Case, target: int, kind: ChangeKind) -> tuple[Case, RolloutPlan]:
    """The plan with one more option, which passes."""
    _, plan = decided(one)
    more = Option(target, Change(kind, "r1"), (verdict(ProgressReason.Running),))
    return one, replace(plan, options=[*plan.options, more])


RUNNING = verdict(ProgressReason.Running)

BROKEN: list[tuple[Callable[..., None], tuple[Case, RolloutPlan]]] = [
    (invariants.everybody_has_a_reason, _saying(TWO, 0)),
    (invariants.acts_iff_all_pass, _doctored(TWO, started=[])),
    (invariants.acts_iff_all_pass, _doctored(TWO, actions=[])),
    (invariants.later_groups_wait, _doctored(GROUPS, started=[1])),
    (invariants.only_the_approved_start, _doctored(case(MANUAL, {"dev": "a"}), started=[0])),
    (invariants.ceilings_hold, _doctored(TWO, started=[0, 1])),
    (invariants.rollback_keeps_the_ceiling, _saying(TO_RETURN, 3, RUNNING)),
    (invariants.rollback_is_asked_for, _also(TWO, 0, ChangeKind.RETURN)),
    (invariants.over_budget_nothing_starts, _doctored(FAILED, breached=False)),
    (invariants.over_budget_nothing_starts, _doctored(FAILED, started=[1])),
    (invariants.only_fresh_statuses_count, _doctored(STALE, states=[State.FAILED])),
    (
        invariants.a_brake_stops_every_start,
        _doctored(replace(TWO, rollout=Rollout(paused=True)), started=[0]),
    ),
    (
        invariants.nobody_unseen_is_passed_by,
        _doctored(replace(TWO, complete=False), started=[0]),
    ),
    (invariants.something_starts, _doctored(TWO, started=[])),
    (telling.words_agree, _doctored(SOAKS, summary=Summary.WAITING)),
    (telling.words_agree, _doctored(SOAKS, summary=Summary.SUCCEEDED)),
    (
        telling.facts_are_true,
        _saying(TWO, 1, verdict(RolloutReason.NoSlotFree, 1, 3, 0, 0)),
    ),
    (telling.facts_are_true, _saying(TWO, 0, verdict(RolloutReason.BehindInRank))),
    (telling.counts_are_true, _doctored(SOAKS, states=[State.DONE, State.WAITING])),
    (telling.events_are_due, _doctored(TWO, events=(Event.COMPLETED,))),
    (
        telling.events_are_due,
        _doctored(replace(TWO, rollout=Rollout(revision="r1", aborted=True)), events=()),
    ),
    (again.times_are_honest, _doctored(SOAKS, recheck_at=None)),
    (again.waits_say_until, _saying(SOAKS, 1, verdict(RolloutReason.NoSlotFree, 1, 0, 1, 0))),
]


@pytest.mark.parametrize("check, doctored", BROKEN)
def test_each_check_can_fail(
    check: Callable[..., None], doctored: tuple[Case, RolloutPlan]
) -> None:
    """A plan that was tampered with is caught, and drawn."""
    one, plan = doctored
    with pytest.raises(AssertionError, match=r"Progressive|ManualPerGroup"):
        check(one.world(), one.now, plan)


@pytest.mark.parametrize("check", CHECKS)
def test_each_check_has_been_seen_to_fail(check: Callable[..., None]) -> None:
    """No invariant is used without a plan that breaks it."""
    assert check in {broken for broken, _ in BROKEN}


def test_a_plan_whose_events_are_forgotten_does_not_settle() -> None:
    """Acting without remembering is caught: the retry is taken up again."""
    failed = report("a", Status.Failed)
    one = case(ONE_SLOT, {"dev": "a"}, failed, rollout=Rollout(retry=Retry.FAILED))
    world, plan = decided(one)
    again.acting_settles(one, world, plan)
    with pytest.raises(AssertionError, match="an event comes twice"):
        again.acting_settles(one, world, replace(plan, events=()))


def test_an_answer_that_follows_the_order_of_inputs_is_caught() -> None:
    """Two statuses of one cluster are an error, and the later one would win: order would count."""
    twice = (report("a", Status.Failed), report("a", Status.Succeeded))
    one = case(ONE_SLOT, {"dev": "a b"}, *twice)
    assert again.answer(one) != again.answer(replace(one, statuses=twice[::-1]))
    seed = 1  # the first that turns two around
    with pytest.raises(AssertionError, match="another order, another answer"):
        again.order_means_nothing(one, seed)


def test_the_oracle_contradicts_a_wrong_plan() -> None:
    """A target that should start and does not is missed."""
    world, plan = decided(TWO)
    oracle.agree(TWO, world, plan)
    with pytest.raises(AssertionError, match="expected"):
        oracle.agree(TWO, world, replace(plan, actions=[]))
