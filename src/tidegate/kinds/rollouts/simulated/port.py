"""The simulated fleet behind the engine's port: many rollouts, real keys, and faults on demand.

It behaves as outside systems do: an action sent twice under one key is done once, a reading shows
what clusters report and nothing else. Faults are thrown by a plan that a test or a rehearsal gives.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from heapq import heappop, heappush

from tidegate.kinds.rollouts.core.journal.facts import RolloutDeclared, RolloutTask
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.kinds.rollouts.fleet import Observation
from tidegate.kinds.rollouts.simulated.fleet import FleetModel as Clusters
from tidegate.kinds.rollouts.wire.remote_fleet import Carried
from tidegate.kinds.rollouts.wire.scenario_doc import Scenario
from tidegate.machine.clock import Clock
from tidegate.model.errors import StaleError
from tidegate.model.plan import ChangeKind
from tidegate.model.time import SECOND, Instant

# How often a simulated fleet looks at its clock, which may jump, to report what ends.
LOOK_S = 5.0

# Asked before every call: it may raise to make the call fail, before or after its effect.
Fault = Callable[[str], None]


class _Listener:
    """A subscriber to the ends of changes: the ends to come, the first one first."""

    def __init__(self, look_s: float) -> None:
        self._look_s = look_s
        self.ends: list[tuple[Instant, str]] = []
        self._heard = asyncio.Event()

    def hear(self, end: Instant | None, partition: str) -> None:
        """A change ends then; None: it never does."""
        if end is not None:
            heappush(self.ends, (end, partition))
            self._heard.set()

    async def wait(self, now: Instant) -> None:
        """Until the first end, or until there is a new one."""
        self._heard.clear()
        wait_s = (self.ends[0][0] - now) / SECOND if self.ends else self._look_s
        with suppress(TimeoutError):
            async with asyncio.timeout(min(wait_s, self._look_s)):
                await self._heard.wait()


class SimulatedFleet:
    """Simulated clusters, a set for each partition."""

    def __init__(self, clock: Clock, fault: Fault | None = None, *, look_s: float = LOOK_S) -> None:
        self._clock = clock
        self._look_s = look_s
        self._fault = fault or (lambda _: None)
        self._scenarios: dict[str, Scenario] = {}
        self._revisions: dict[str, str] = {}
        self.fleets: dict[str, Clusters] = {}
        # Every key that was carried out, in order; a key sent again is not carried out again.
        self.done: dict[str, RolloutTask] = {}
        self.carried: list[Carried] = []
        self.calls = 0
        self._listeners: list[_Listener] = []

    def add(self, partition: str, scenario: Scenario, seed: int = 0) -> None:
        """Put a rollout's clusters into the fleet."""
        self._scenarios[partition] = scenario
        self._revisions[partition] = scenario.revision
        self.fleets[partition] = Clusters(scenario, seed)

    def declare(self, partition: str, revision: str) -> None:
        """Declare another revision."""
        self._revisions[partition] = revision

    def wake(self, partition: str) -> None:
        """Notify listeners that something else changed."""
        for listener in self._listeners:
            listener.hear(self._clock.now(), partition)

    def is_moving(self, partition: str) -> bool:
        """Whether a change is under way that ends by itself."""
        return self.fleets[partition].next_end() is not None

    async def partitions(self) -> list[str]:
        """The rollouts there are."""
        self._fault("partitions")
        return sorted(self._scenarios)

    async def observe(self, partition: str) -> Observation:
        """What is declared, and what every cluster reports."""
        self._fault("observe")
        self.calls += 1
        fleet = self.fleets[partition]
        fleet.settle(self._clock.now())
        return Observation(self._declared(partition), tuple(fleet.reports()))

    async def act(self, partition: str, task: RolloutTask) -> str:
        """Carry a task out, once a key."""
        self._fault("act")
        self.calls += 1
        if task.key not in self.done:
            self._check(partition, task)
            self.done[task.key] = task
            self.carried.append(Carried(self._clock.now(), partition, task))
            self._apply(partition, task)
            self._tell(partition, task.target)
        self._fault("answer")
        return "applied"

    async def changes(self) -> AsyncIterator[str]:
        """Rollouts whose clusters end a change, at the moment they do."""
        listener = _Listener(self._look_s)
        for name, fleet in self.fleets.items():
            for cluster in fleet.clusters.values():
                listener.hear(cluster.ends_at, name)
        self._listeners.append(listener)
        try:
            while True:
                now = self._clock.now()
                while listener.ends and listener.ends[0][0] <= now:
                    yield heappop(listener.ends)[1]
                await listener.wait(now)
        finally:
            self._listeners.remove(listener)

    def _tell(self, partition: str, target: str) -> None:
        """Notify listeners when the change that has just begun ends."""
        cluster = self.fleets[partition].clusters.get(target)
        for listener in self._listeners:
            listener.hear(cluster.ends_at if cluster is not None else None, partition)

    def _check(self, partition: str, task: RolloutTask) -> None:
        """Nothing is handed to a cluster that is not there; one that is gone is removed already."""
        there = task.target in self.fleets[partition].clusters
        if not there and task.change.kind is not ChangeKind.REMOVE:
            raise StaleError(f"{task.target} is not there any more")

    def _apply(self, partition: str, task: RolloutTask) -> None:
        fleet = self.fleets[partition]
        if task.change.kind is not ChangeKind.REMOVE:
            fleet.apply(task.target, task.change.revision or "", self._clock.now())
        elif task.target in fleet.clusters:
            fleet.remove(task.target)

    def _declared(self, partition: str) -> RolloutDeclared:
        scenario, fleet = self._scenarios[partition], self.fleets[partition]
        members: list[list[str]] = [[] for _ in scenario.groups]
        for cluster in fleet.clusters.values():
            if cluster.group >= 0:
                members[cluster.group].append(cluster.name)
        return RolloutDeclared(
            strategy=scenario.strategy,
            groups=tuple(
                Membership(group.name, at, tuple(members[at]))
                for at, group in enumerate(scenario.groups)
            ),
            # Without labels is known to have none: a brake by labels must not be in doubt of it.
            labels={each.name: each.labels for each in fleet.clusters.values()},
            revision=self._revisions[partition],
            last_good=scenario.last_good,
            author=scenario.author,
        )
