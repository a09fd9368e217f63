"""Rollouts as a worker runs them: a fleet that is observed and changed."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from tidegate.engine.kind import Kind
from tidegate.journal.fact import Fact, Mode
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.journal.facts import RolloutTask
from tidegate.kinds.rollouts.core.journal.state import RolloutState
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.kinds.rollouts.fleet import (
    Fleet,
    ManySystems,
    Observation,
    SimulatedEnds,
    TidiedFleet,
)
from tidegate.kinds.rollouts.news import news_of
from tidegate.kinds.rollouts.rules import RolloutRules
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.time import Instant


class RolloutKind(Kind[RolloutState, RolloutWorld, RolloutPlan, Observation]):
    """The rollouts of one fleet."""

    def __init__(self, fleet: Fleet, rules: RolloutRules | None = None) -> None:
        super().__init__(rules or RolloutRules())
        self.fleet = fleet

    async def partitions(self) -> list[str]:
        """The rollouts there are."""
        return await self.fleet.partitions()

    def changes(self) -> AsyncIterator[str]:
        """Rollouts that may have changed."""
        return self.fleet.changes()

    async def observe(self, partition: str) -> Observation:
        """What is declared and what every target reports."""
        return await self.fleet.observe(partition)

    def news(
        self, state: RolloutState, seen: Observation, now: Instant
    ) -> Sequence[tuple[Instant, Fact]]:
        """What differs from what is known."""
        return [(now, fact) for fact in news_of(state, seen, now)]

    def rests(self, result: Any) -> bool:
        """Whether no change is under way, and none waits for time.

        What succeeded is over, whatever targets that joined later still do.
        """
        if result.plan is None or result.done:
            return False
        if isinstance(self.fleet, SimulatedEnds) and self.fleet.is_moving(result.partition):
            return False
        if result.plan.summary is Summary.SUCCEEDED:
            return True
        if result.recheck_at is not None:
            return False
        if isinstance(self.fleet, SimulatedEnds):
            return True
        return not any(report.tally.in_flight for report in result.plan.groups)

    async def after_round(self, round_: Any) -> Mapping[str, str]:
        """Have the fleet take away what an earlier change left, where this worker acts."""
        if round_.acting is not Mode.ACT or not isinstance(self.fleet, TidiedFleet):
            return {}
        try:
            await self.fleet.tidy(round_.part.partition)
        except (OutsideError, StaleError) as error:
            return {"what an earlier change left": str(error)}
        return {}

    def system_of(self, partition: str) -> str:
        """The system a rollout is carried out on, where a fleet has several."""
        return self.fleet.system_of(partition) if isinstance(self.fleet, ManySystems) else ""

    async def act(self, partition: str, _state: RolloutState, task: Any) -> str:
        """Have the fleet carry a task out."""
        assert isinstance(task, RolloutTask)
        return await self.fleet.act(partition, task)
