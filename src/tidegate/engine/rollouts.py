"""Rollouts as a worker tends them: a fleet, whoever carries tasks out, and whoever tells people."""

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from tidegate.engine.acting import Actor
from tidegate.engine.brake_book import BrakeBook
from tidegate.engine.desk import AnyDesk, Desk
from tidegate.engine.round import Round, run_round
from tidegate.engine.telling import Teller
from tidegate.journal.facts import Mode
from tidegate.kinds.rollouts.core.journal.state import RolloutState
from tidegate.kinds.rollouts.fleet import Fleet
from tidegate.machine.clock import Clock
from tidegate.store.port import Lease, Store


class Rollouts:
    """The rollouts of one fleet."""

    def __init__(self, fleet: Fleet, actor: Actor, teller: Teller | None = None) -> None:
        self._fleet = fleet
        self._actor = actor
        self._teller = teller

    async def partitions(self) -> list[str]:
        """The rollouts there are."""
        return await self._fleet.partitions()

    def changes(self) -> AsyncIterator[str]:
        """Rollouts that may have changed."""
        return self._fleet.changes()

    def desk(self, store: Store, partition: str, book: BrakeBook) -> AnyDesk[RolloutState]:
        """The desk of a rollout."""
        return Desk(store, partition, book)

    async def round(
        self, desk: AnyDesk[RolloutState], clock: Clock, lease: Lease, mode: Mode
    ) -> Round:
        """Observe, decide, record, act."""
        return await run_round(desk, self._fleet, clock, self._actor, lease, mode)

    async def told(
        self, desk: AnyDesk[RolloutState], clock: Clock, lease: Lease, ended: Any
    ) -> None:
        """Tell people what is due."""
        if self._teller is not None:
            await self._teller.round_ended(desk, lease, clock, ended)

    def left(self, partition: str) -> None:
        """Whoever leads it now tells of it."""
        if self._teller is not None:
            self._teller.forget(partition)

    def beside(self, wake: Callable[[str], None]) -> Coroutine[Any, Any, None] | None:
        """Sending what people are told."""
        if self._teller is None:
            return None
        self._teller.wake = wake
        return self._teller.run()

    def stop(self) -> None:
        """Begin nothing more."""
        self._actor.stopping = True
