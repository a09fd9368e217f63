"""A fleet as one life of a worker sees it: every call is a point to die."""

import asyncio
from collections.abc import AsyncIterator, Callable

from tests.sim.story.life import Life
from tidegate.kinds.rollouts.core.journal.facts import RolloutTask
from tidegate.kinds.rollouts.fleet import Fleet, Observation


class MortalFleet:
    """A fleet as one life sees it."""

    def __init__(
        self, life: Life, fleet: Fleet, called: Callable[[Life, str, RolloutTask], None]
    ) -> None:
        self._life = life
        self._fleet = fleet
        # Told of every task before it is carried out.
        self._called = called

    async def partitions(self) -> list[str]:
        """Pass on."""
        self._life.call()
        found = await self._fleet.partitions()
        self._life.call()
        return found

    async def observe(self, partition: str) -> Observation:
        """Pass on, and keep what this life has seen."""
        self._life.step()
        if wait_s := self._life.frozen_s():
            await asyncio.sleep(wait_s)
        seen = await self._fleet.observe(partition)
        self._life.call()
        self._life.seen[partition] = seen
        return seen

    async def act(self, partition: str, task: RolloutTask) -> str:
        """Pass on; the witness is told who calls.

        A process that freezes right here, having asked whether it still leads, acts on the answer
        when it thaws: no lease can prevent that, so it is not drawn.
        """
        self._life.step()
        self._called(self._life, partition, task)
        answer = await self._fleet.act(partition, task)
        self._life.call()
        return answer

    async def changes(self) -> AsyncIterator[str]:
        """Pass on."""
        self._life.call()
        async for partition in self._fleet.changes():
            self._life.call()
            yield partition
