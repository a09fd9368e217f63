"""The generated states are not dull: whatever a decision can say, some seed makes it say."""

from collections.abc import Iterator
from enum import Enum

from tests.sim.generator import Case, case_of
from tidegate.kind_table import reasons
from tidegate.kinds.rollouts.core.course import Mode
from tidegate.kinds.rollouts.core.decide import decide
from tidegate.kinds.rollouts.core.strategy import OrderBy, Retry, StrategyType
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.model.plan import Event
from tidegate.model.target import State, Status

SEEDS = 6_000
REASONS = """
InFlight InFlightUndated UnknownStatus Soaking SoakingUndated Done Skipped Failed TimedOut NoAnswer
JoinedLater Running Paused Aborted ReadingComplete ReadingIncomplete LeftEveryGroup MayBeUnseen
WithinBudget OverBudget MandatoryTargetFailed FirstInOrder EarlierGroupsDone EarlierGroupUnfinished
EarlierGroupReopened EarlierGroupIncomplete Approved ApprovedStanding ApprovedAsMandatory
ApprovalMissing ApprovedForOtherRevision SlotFree SlotHeld NoSlotNeeded NoSlotFree BehindInRank
ConcurrencyZero Reverting RollbackDue Returning ReturnTimedOut ReturnFailed NoLastGood
"""


def test_every_word_of_a_plan_is_said_by_some_seed() -> None:
    """Every reason, event, state, summary, course, strategy and status turns up."""
    seen: set[str] = set()
    for seed in range(SEEDS):
        seen.update(_words(case_of(seed)))
    kinds = (Event, State, Summary, Mode, StrategyType, OrderBy, Retry, Status)
    known = {each.value: each for each in reasons()}
    words = [known[name] for name in REASONS.split()] + [word for kind in kinds for word in kind]
    assert [word for word in map(_name, words) if word not in seen] == []


def _words(case: Case) -> Iterator[str]:
    plan = decide(case.world(), case.now)
    for option in plan.options:
        yield from (_name(each.reason) for each in option.verdicts)
    yield from map(_name, (*plan.events, *plan.states, plan.summary, plan.course.mode))
    yield from map(_name, (case.strategy.type, case.strategy.ordering.by, case.rollout.retry))
    yield from (_name(each.status) for each in case.statuses)


def _name(word: Enum) -> str:
    """States and statuses are numbers too, so that their names have to tell them apart."""
    return f"{type(word).__name__}.{word.name}"
