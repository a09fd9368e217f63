"""A stage for the engine: virtual time, a simulated fleet, and a crash wherever it is wanted."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.journal import Journal
from tidegate.engine.others import OtherStates
from tidegate.engine.partition import PartitionState
from tidegate.engine.round import Round, RoundContext, RoundResult
from tidegate.journal.facts import Mode
from tidegate.journal.lease import Lease
from tidegate.kinds.rollouts.core.journal.state import RolloutState
from tidegate.kinds.rollouts.fleet import Fleet
from tidegate.kinds.rollouts.kind import RolloutKind
from tidegate.kinds.rollouts.rules import RolloutRules
from tidegate.kinds.rollouts.simulated.port import SimulatedFleet
from tidegate.kinds.rollouts.wire.scenario_doc import Scenario, read_scenario
from tidegate.machine.clock import Clock
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.port import Store

PARTITION = "simulated/demo"
TERM = Duration(10 * SECOND)
# No story here is longer.
STEPS_MAX = 400

DEMO: dict[str, object] = {
    "revision": "v2",
    "lastGood": "v1",
    "groups": [
        {"name": "canary", "clusters": ["a"]},
        {"name": "prod", "clusters": ["b", "c", "d"]},
    ],
    "strategy": {
        "type": "ProgressivePerGroup",
        "progressivePerGroup": {"minSuccessTime": "5m", "progressDeadline": "1h"},
        "onFailure": "rollback",
    },
    "fleet": {"applyTime": "10m"},
}


class Crash(BaseException):
    """The process dies here; nothing of ours may catch it."""


class VirtualClock:
    """A clock that stands until it is moved."""

    def __init__(self, now: Instant) -> None:
        self.at = now

    def now(self) -> Instant:
        """The moment it was moved to."""
        return self.at


class Tripwire:
    """Counts the points at which a process could die, and dies at one of them."""

    def __init__(self, at: int | None = None) -> None:
        self.passed = 0
        self._at = at
        self._reads: list[bool] = []

    def points(self, every: int) -> Sequence[int]:
        """Where to die after a run in which none died: at one point in so many, or at all.

        Between two reads that follow each other nothing has changed: the first stands for both.
        """
        if every == 1:
            return range(1, self.passed + 1)
        runs = zip(self._reads, [False, *self._reads], strict=False)
        return [at for at, (reads, read) in enumerate(runs, 1) if not (reads and read)][::every]

    def __call__(self, where: str = "") -> None:
        """One point is passed."""
        self.passed += 1
        self._reads.append(where.startswith("read "))
        if self.passed == self._at:
            self._at = None  # it dies once
            raise Crash


class Brittle:
    """A store with a point to die at before and after every call."""

    def __init__(self, store: Store, trip: Callable[[str], None]) -> None:
        self._store = store
        self._trip = trip

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._store, name)

        def brittle(*args: Any, **kwargs: Any) -> Any:
            self._trip(f"before {name}")
            answer = call(*args, **kwargs)
            self._trip(f"after {name}")
            return answer

        return brittle


class Stage(msgspec.Struct):
    """A fleet, a clock and a store that outlive every process."""

    clock: VirtualClock
    fleet: SimulatedFleet
    store: Store
    trip: Tripwire
    holder: int = 0


def set_up(store: Store, trip: Tripwire, document: dict[str, object] | None = None) -> Stage:
    """A stage with the fleet of a scenario on it."""
    scenario: Scenario = read_scenario(document or DEMO)
    clock = VirtualClock(scenario.start)
    fleet = SimulatedFleet(clock, trip)
    fleet.add(PARTITION, scenario)
    return Stage(clock, fleet, Brittle(store, trip), trip)


def rollout_part(store: Store, partition: str = PARTITION) -> PartitionState[RolloutState]:
    """The state of a rollout, as its journal has it."""
    return PartitionState(store, partition, RolloutRules())


def make_round(
    store: Store,
    part: PartitionState[RolloutState],
    fleet: Fleet,
    clock: Clock,
    executor: Executor,
    lease: Lease,
    mode: Mode = Mode.ACT,
    book: BrakeBook | None = None,
) -> Round:
    """One round of a rollout, as a worker makes it."""
    others = OtherStates(store).of(part.rules)
    context = RoundContext(book or BrakeBook(store), Journal(store), executor, clock, others)
    return Round(context, RolloutKind(fleet), part, lease, mode)


class Process:
    """One life of a worker: whatever it knew is gone when it dies."""

    def __init__(
        self, stage: Stage, partition: str = PARTITION, book: BrakeBook | None = None
    ) -> None:
        stage.holder += 1
        self.name = f"worker-{stage.holder}"
        self.stage = stage
        self.part = rollout_part(stage.store, partition)
        self.book = book or BrakeBook(stage.store)
        self.last: Round | None = None
        self.breaker = Breaker()
        self.lease: Lease | None = None

    async def round(self, mode: Mode = Mode.ACT) -> RoundResult:
        """One round under a lease."""
        stage = self.stage
        lease = stage.store.lease(self.part.partition, self.name, stage.clock.now(), TERM)
        assert lease is not None, "somebody else leads"
        self.lease = lease
        self.last = self.make(lease, mode)
        return await self.last.run()

    def make(self, lease: Lease, mode: Mode = Mode.ACT, executor: Executor | None = None) -> Round:
        """A round under any lease; an executor belongs to one event loop."""
        stage, executor = self.stage, executor or Executor(Limits(), self.breaker)
        return make_round(
            stage.store, self.part, stage.fleet, stage.clock, executor, lease, mode, self.book
        )


async def live(stage: Stage, mode: Mode = Mode.ACT) -> list[str]:
    """Run to rest, starting anew after every crash; the summaries on the way."""
    process: Process | None = None
    told: list[str] = []
    for _ in range(STEPS_MAX):
        try:
            process = process or Process(stage)
            result = await process.round(mode)
        except Crash:
            process = None
            # The dead one's lease runs out before another may lead.
            stage.clock.at = Instant(stage.clock.at + TERM)
            continue
        if result.plan is not None:
            told.append(result.plan.summary.value)
        moments = [result.recheck_at, stage.fleet.fleets[PARTITION].next_end()]
        later = [each for each in moments if each is not None and each > stage.clock.at]
        if later:
            stage.clock.at = min(later)
        elif not result.done:
            return told
    raise AssertionError("the story does not end")
