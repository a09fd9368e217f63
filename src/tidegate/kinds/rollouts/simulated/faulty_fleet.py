"""A fleet that fails as fleets do: old, partial and flapping readings, actions that are lost."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

import msgspec

from tidegate.kinds.rollouts.core.journal.facts import Task
from tidegate.kinds.rollouts.fleet import Fleet, Observation
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.target import Status, Target
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.simulation.faults import OF_ACTING, OF_READING, SLOW_S, Fault, Faults

# No reading is older than this. Whatever caches there are, they catch up.
STALE_MAX = Duration(20 * SECOND)
OUTAGE_S = (5.0, 90.0)
_READINGS_KEPT = 20


class FaultyFleet:
    """A fleet that fails as fleets do."""

    def __init__(self, fleet: Fleet, faults: Faults) -> None:
        self._fleet = fleet
        self._faults = faults
        self._readings: dict[str, deque[tuple[Instant, Observation]]] = {}
        self._late: set[asyncio.Task[None]] = set()

    async def partitions(self) -> list[str]:
        """The rollouts there are."""
        if self._faults.draw((Fault.LOST_WRITE,)) is not None:
            raise OutsideError("the fleet does not answer")
        return await self._fleet.partitions()

    async def observe(self, partition: str) -> Observation:
        """A reading: none, an old one, one that lacks some, one that flaps, or a good one."""
        self._check_outage(partition)
        fault = self._faults.draw(OF_READING)
        if fault is Fault.LOST_WRITE:
            raise OutsideError(f"{partition}: the fleet does not answer")
        if fault is Fault.SLOW:
            await asyncio.sleep(self._faults.seconds(*SLOW_S))
        seen = await self._fleet.observe(partition)
        kept = self._readings.setdefault(partition, deque(maxlen=_READINGS_KEPT))
        kept.append((self._faults.clock.now(), seen))
        match fault:
            case Fault.STALE:
                return self._stale(partition)
            case Fault.PARTIAL:
                return self._partial(seen)
            case Fault.FLAPPING:
                return self._flapping(seen)
            case _:
                return seen

    async def act(self, partition: str, task: Task) -> str:
        """Carry a task out, or not, or twice, and say so, or not."""
        self._check_outage(partition)
        fault = self._faults.draw(OF_ACTING)
        match fault:
            case Fault.OUTAGE:
                self._faults.start(partition, self._faults.seconds(*OUTAGE_S))
                self._check_outage(partition)
            case Fault.LOST_WRITE:
                raise OutsideError(f"{task.target}: connection reset")
            case Fault.CONFLICT if task.key not in self._faults.told:
                # Who was told under this key before has it, and does not call it a conflict.
                raise StaleError(f"{task.target}: somebody else changes it")
            case Fault.SLOW:
                await asyncio.sleep(self._faults.seconds(*SLOW_S))
            case _:
                pass
        self._faults.told.add(task.key)
        answer = await self._fleet.act(partition, task)
        match fault:
            case Fault.LOST_ANSWER:
                raise OutsideError(f"{task.target}: connection reset")
            case Fault.NO_ANSWER:
                await asyncio.Event().wait()
            case Fault.TWICE:
                await self._fleet.act(partition, task)
                again = asyncio.create_task(self._again(partition, task))
                self._late.add(again)
                again.add_done_callback(self._late.discard)
            case _:
                pass
        return answer

    async def changes(self) -> AsyncIterator[str]:
        """What may have changed: some of it is never told, and sometimes the line breaks."""
        async for partition in self._fleet.changes():
            fault = self._faults.draw((Fault.LOST_WRITE, Fault.LOST_ANSWER))
            if fault is Fault.LOST_ANSWER:
                raise OutsideError("the fleet hung up")
            if fault is None and not self._faults.lasts(partition):
                yield partition

    async def _again(self, partition: str, task: Task) -> None:
        """Deliver a task once more when nobody waits for it any longer."""
        await asyncio.sleep(self._faults.seconds(1.0, 120.0))
        try:
            await self._fleet.act(partition, task)
        except (OutsideError, StaleError):
            return  # nobody is there to be told

    def _check_outage(self, partition: str) -> None:
        if self._faults.lasts(partition):
            raise OutsideError(f"{partition}: the fleet is down")

    def _stale(self, partition: str) -> Observation:
        oldest = self._faults.clock.now() - STALE_MAX
        old = [seen for at, seen in self._readings[partition] if at >= oldest]
        return self._faults.random.choice(old)

    def _partial(self, seen: Observation) -> Observation:
        kept = tuple(one for one in seen.reports if self._faults.random.random() < 0.6)
        return msgspec.structs.replace(seen, reports=kept, complete=False)

    def _flapping(self, seen: Observation) -> Observation:
        return msgspec.structs.replace(seen, reports=tuple(map(self._flap, seen.reports)))

    def _flap(self, one: Target) -> Target:
        if one.status is not Status.Succeeded or self._faults.random.random() < 0.7:
            return one
        return Target(one.name, Status.Progressing, self._faults.clock.now(), one.revision)
