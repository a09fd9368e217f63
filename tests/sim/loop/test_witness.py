"""The witness is shown able to see: an engine with one rule missing is found out soon."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

from tests.sim.loop.story import live_through
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


def never_asks(*args: Any) -> list[str]:
    """Whether it still leads, and whether a brake forbids it: that is ignored here."""
    return ["" for _ in args[-1]]


def no_budget(world: Any, *_: Any) -> FailureBudget:
    """Failures stop nothing."""
    return FailureBudget([None] * len(world.phases), frozenset())


def no_order(_: Any) -> Any:
    """What went before is done, always."""
    return verdict(RolloutReason.EarlierGroupsDone, 1)


def endless_slots(self: Slots, _: Any) -> Any:
    """There is room for all."""
    self.started += 1
    return self.held


def forgets_what_is_under_way(state: Any, brakes: Any) -> Any:
    """A task without an outcome was never decided."""
    return world_of(msgspec.structs.replace(state, pending={}), brakes)


def believes_every_reading(*_: Any) -> bool:
    """An old word is as good as a new one."""
    return False


NO_BRAKES = Brakes()

MISSING: dict[str, tuple[object, str, Callable[..., Any], str]] = {
    "lease": (_Wave, "_refused", never_asks, "without asking whether it still leads"),
    "pause": (pending, "unwanted", lambda *_: "", "although it is (paused|aborted)"),
    "hold": (BrakeBook, "read", lambda *_: NO_BRAKES, "although everything is held"),
    "budget": (deciding, "count_failures", no_budget, "failures of|replayed"),
    "order": (gates.Order, "verdict", no_order, "a later group starts before"),
    "slots": (Slots, "take", endless_slots, "change at once"),
    "tasks": (rollout_state, "world_of", forgets_what_is_under_way, "second time|at once|replayed"),
    "readings": (
        news,
        "_is_older",
        believes_every_reading,
        "second time|at once|a later group starts",
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_rule_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take one rule out, and some story breaks, in words that say which."""
    where, what, instead, words = MISSING[name]
    monkeypatch.setattr(where, what, instead)
    with pytest.raises(AssertionError, match=words):
        _live_through_all(range(SEEDS_MAX))


def _live_through_all(seeds: Iterable[int]) -> None:
    for seed in seeds:
        live_through(seed)
