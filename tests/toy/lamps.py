"""Lamps: the smallest kind there can be. A room is a partition; its lamps are lit one by one.

This is all that CONTRIBUTING.md says a kind takes: facts, a state, rules, and a Kind that observes
and acts. Everything else (leases, records, retries, brakes, pause, why, replay) is the engine's.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from tidegate.engine.kind import Kind as EngineKind
from tidegate.engine.plain.rules import PlainRules, PlainWorld
from tidegate.engine.plain.state import PlainState, PlainTask
from tidegate.journal.fact import Fact, register
from tidegate.model.plan import Action, Change, ChangeKind, Option, Plan
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.reason import Entry, FactFormat, Gate, Outcome, Reason
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, all_pass, verdict


class LampReason(Reason):
    """Why a lamp stays dark."""

    EarlierLampDark = Entry(
        Gate.ORDER,
        Outcome.WAIT,
        "{lamp} is not lit yet",
        (("lamp", FactFormat.NAME),),
        "{lamp} is lit",
    )


class LampsSeen(Fact, frozen=True, tag="lampsSeen", kw_only=True):
    """Which lamps of a room are lit."""

    lit: dict[str, bool]

    def line(self) -> str:
        """How many are lit."""
        return f"{sum(self.lit.values())} of {len(self.lit)} lit"


class RoomState(PlainState):
    """What is known of a room."""

    lit: dict[str, bool] = msgspec.field(default_factory=dict)


class LampRules(PlainRules[RoomState]):
    """A lamp is lit once the one before it is."""

    word: ClassVar[str] = "lamps"
    noun: ClassVar[str] = "room"
    target_noun: ClassVar[str] = "lamp"
    state_type: ClassVar[type[PlainState]] = RoomState
    own_facts: ClassVar[tuple[type[Fact], ...]] = (LampsSeen,)

    def take(self, state: RoomState, _at: Instant, fact: Fact) -> None:
        """The lamps that are lit."""
        assert isinstance(fact, LampsSeen)
        state.lit = fact.lit

    def inner(self, state: RoomState, _now: Instant) -> tuple[Any, tuple[str, ...]] | None:
        """The lamps, in order."""
        return (state.lit, tuple(sorted(state.lit))) if state.lit else None

    def plan(self, world: PlainWorld, _now: Instant) -> Plan:
        """Light the first lamp that is not lit."""
        options = [
            Option(at, Change(ChangeKind.APPLY, "lit"), self._verdicts(world, at))
            for at in range(len(world.targets))
        ]
        starts = (each for each in options if all_pass(each.verdicts))
        actions = [Action(world.targets[each.target], each.change) for each in starts]
        return Plan(options=options, actions=actions, recheck_at=None)

    def _verdicts(self, world: PlainWorld, at: int) -> tuple[Verdict, ...]:
        lit, name = world.inner, world.targets[at]
        if lit[name]:
            return (verdict(ProgressReason.Done),)
        if at and not lit[world.targets[at - 1]]:
            return (verdict(LampReason.EarlierLampDark, world.targets[at - 1]),)
        return (verdict(ProgressReason.FirstInOrder),)


class Lamps(EngineKind[RoomState, PlainWorld, Plan, dict[str, bool]]):
    """The lamps of one room."""

    def __init__(self, lit: dict[str, bool]) -> None:
        super().__init__(LampRules())
        self.lit = lit

    async def partitions(self) -> list[str]:
        """One room."""
        return ["lamps/hall"]

    async def observe(self, _partition: str) -> dict[str, bool]:
        """Which lamps are lit."""
        return dict(self.lit)

    def news(
        self, state: RoomState, seen: dict[str, bool], now: Instant
    ) -> Sequence[tuple[Instant, Fact]]:
        """What differs."""
        return () if seen == state.lit else [(now, LampsSeen(lit=seen))]

    async def act(self, _partition: str, _state: RoomState, task: Any) -> str:
        """Light a lamp."""
        assert isinstance(task, PlainTask)
        self.lit[task.target] = True
        return "lit"


register(LampsSeen)
