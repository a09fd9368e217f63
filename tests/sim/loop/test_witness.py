"""The witness is shown able to see: an engine with one rule missing is found out soon."""

from typing import Any

import msgspec
import pytest

from tests.sim.loop.story import live_through
from tests.sim.story.missing import Missing, find, never_asks
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.execute import _Wave
from tidegate.gates.brakes import Brakes
from tidegate.kinds.rollouts import news
from tidegate.kinds.rollouts.core import decide as deciding
from tidegate.kinds.rollouts.core import gates
from tidegate.kinds.rollouts.core.budget import FailureBudget
from tidegate.kinds.rollouts.core.journal import pending_tasks as pending
from tidegate.kinds.rollouts.core.journal import state as rollout_state
from tidegate.kinds.rollouts.core.journal.state import world_of
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.kinds.rollouts.core.slots import Slots
from tidegate.model.verdict import verdict

SEEDS_MAX = 120


def no_budget(world: Any, *_: Any) -> FailureBudget:
    """Failures stop nothing."""
    return FailureBudget([None] * len(world.phases), frozenset())


def no_order(_: Any) -> Any:
    """Whoever went before is done, always."""
    return verdict(RolloutReason.EarlierGroupsDone, 1)


def endless_slots(self: Slots, _: Any) -> Any:
    """There is room for everybody."""
    self.started += 1
    return self.held


def forgets_what_is_under_way(state: Any, brakes: Any) -> Any:
    """A task without an outcome was never decided."""
    return world_of(msgspec.structs.replace(state, pending={}), brakes)


def believes_every_reading(*_: Any) -> bool:
    """An old word is as good as a new one."""
    return False


NO_BRAKES = Brakes()

MISSING: dict[str, Missing] = {
    "lease": Missing(_Wave, "_refused", never_asks, "without asking whether it still leads"),
    "pause": Missing(pending, "unwanted", lambda *_: "", "although it is (paused|aborted)", 51),
    "hold": Missing(BrakeBook, "read", lambda *_: NO_BRAKES, "although everything is held", 2),
    "budget": Missing(deciding, "count_failures", no_budget, "failures of|replayed", 38),
    "order": Missing(gates.Order, "verdict", no_order, "a later group starts before", 6),
    "slots": Missing(Slots, "take", endless_slots, "change at once", 2),
    "tasks": Missing(
        rollout_state, "world_of", forgets_what_is_under_way, "second time|at once|replayed"
    ),
    "readings": Missing(
        news,
        "_is_older",
        believes_every_reading,
        "second time|at once|a later group starts",
        67,
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_rule_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take one rule out, and some story breaks, in words that say which."""
    find(MISSING[name], live_through, monkeypatch, SEEDS_MAX)
