"""Acting: failures are facts, pauses double, and half a fleet is not removed by mistake."""

import asyncio

import pytest

from tests.engine.stage import DEMO, PARTITION, Process, Tripwire, make_round, rollout_part, set_up
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.round import Round
from tidegate.journal.lease import Lease
from tidegate.kinds.rollouts.core.journal.facts import RolloutDeclared, RolloutTask
from tidegate.kinds.rollouts.core.journal.pending_tasks import (
    RETRY_FIRST,
    RETRY_MAX,
    retry_at,
    withheld_removals,
)
from tidegate.kinds.rollouts.core.journal.state import PendingTask, RolloutState
from tidegate.kinds.rollouts.core.strategy import Strategy, StrategyType
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.kinds.rollouts.kind import RolloutKind
from tidegate.kinds.rollouts.simulated.port import SimulatedFleet
from tidegate.kinds.rollouts.wire.scenario_doc import read_scenario
from tidegate.machine.system_clock import SystemClock
from tidegate.model.errors import OutsideError
from tidegate.model.plan import Change, ChangeKind
from tidegate.model.target import Target
from tidegate.model.time import SECOND, Duration, Instant, parse_instant
from tidegate.simulation.virtual_loop import VirtualClock, VirtualLoop
from tidegate.store.client.memory import MemoryStore


class Refusing(Tripwire):
    """An outside system that says no so many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    def __call__(self, where: str = "") -> None:
        """Refuse to act while it lasts."""
        if where == "act" and self.left:
            self.left -= 1
            raise OutsideError("no quota")


def test_a_failed_action_is_a_fact_and_tried_again_under_its_key() -> None:
    """Two refusals, then it works: one key, three tries, and the round never raised."""
    stage = set_up(MemoryStore(), Refusing(2))
    process = Process(stage)
    results = []
    for _ in range(3):
        results.append(asyncio.run(process.round()))
        pending = process.part.state.pending.get("a")
        if pending is not None:
            assert pending.detail == "no quota"
            stage.clock.at = retry_at(pending)
    assert [(each.done, each.failed) for each in results] == [(0, 1), (0, 1), (1, 0)]
    (key,) = stage.fleet.done
    assert key.startswith(f"{PARTITION}#")


def test_pauses_between_tries_double_up_to_the_limit() -> None:
    """2 s, 4 s, 8 s … and never more than the limit."""
    task = RolloutTask("k", "a", Change(ChangeKind.APPLY, "v2"))
    start = Instant(1000 * SECOND)
    waits = [retry_at(PendingTask(task, start, n, start)) - start for n in range(1, 30)]
    assert waits[:3] == [RETRY_FIRST, RETRY_FIRST * 2, RETRY_FIRST * 4]
    assert max(waits) == RETRY_MAX


def test_a_breaker_rests_longer_each_time_and_forgets_on_success() -> None:
    """Closed, open, half open: by the clock it is given."""
    breaker = Breaker(2, Duration(SECOND), Duration(3 * SECOND))
    assert breaker.shut_until(Instant(0)) is None
    for _ in range(2):
        breaker.failed(Instant(0))
    assert breaker.shut_until(Instant(0)) == SECOND
    assert breaker.shut_until(Instant(SECOND)) is None
    breaker.failed(Instant(SECOND))
    assert breaker.shut_until(Instant(SECOND)) == 3 * SECOND
    breaker.failed(Instant(3 * SECOND))
    assert breaker.shut_until(Instant(3 * SECOND)) == 6 * SECOND
    breaker.succeeded()
    breaker.failed(Instant(9 * SECOND))
    assert breaker.shut_until(Instant(9 * SECOND)) is None


def fleet_state(count: int, *, complete: bool = True, empty: bool = False) -> RolloutState:
    """A state that manages so many clusters."""
    names = tuple(f"c{i}" for i in range(count))
    groups = (Membership("all", 0, () if empty else names),)
    declared = RolloutDeclared(strategy=Strategy(StrategyType.ALL), groups=groups)
    reports = {name: Target(name) for name in names}
    return RolloutState(declared=declared, reports=reports, complete=complete)


@pytest.mark.parametrize(
    "state, count, allowed, kept",
    [
        (fleet_state(100), 10, False, 10),
        (fleet_state(100), 11, False, 0),
        (fleet_state(100), 11, True, 11),
        (fleet_state(3), 1, False, 1),
        (fleet_state(3), 2, False, 0),
        (fleet_state(100, complete=False), 1, False, 0),
        (fleet_state(100, complete=False), 1, True, 0),
        (fleet_state(100, empty=True), 1, False, 0),
    ],
    ids=["a tenth", "more", "allowed", "one of few", "two of few", "partial", "never", "emptied"],
)
def test_mass_removal_is_refused(state: RolloutState, count: int, allowed: bool, kept: int) -> None:
    """More than a tenth at once, or anything on a partial or emptied reading, stays."""
    tasks = [RolloutTask(f"k{i}", f"c{i}", Change(ChangeKind.REMOVE)) for i in range(count)]
    withheld = withheld_removals(state, tasks, allowed)
    assert count - len(withheld) == kept
    assert all(withheld.values())
    assert withheld.keys() <= {task.key for task in tasks}


def test_no_more_actions_begin_in_a_second_than_are_allowed() -> None:
    """Thirty tasks, ten at once and five a second: a burst, then five seconds for the rest."""
    names = [f"c{number:02d}" for number in range(30)]
    document = {**DEMO, "groups": [{"name": "all", "clusters": names}], "strategy": {"type": "All"}}
    loop = VirtualLoop(parse_instant("2026-01-01T00:00:00Z"))
    clock = VirtualClock(loop)
    fleet = SimulatedFleet(clock)
    fleet.add(PARTITION, read_scenario(document))
    begun: list[float] = []
    carry_out = fleet.act

    async def act(partition: str, task: RolloutTask) -> str:
        begun.append(loop.time())
        return await carry_out(partition, task)

    fleet.act = act  # type: ignore[method-assign]
    store = MemoryStore()

    async def story() -> None:
        lease = store.lease(PARTITION, "w", clock.now(), Duration(60 * SECOND))
        assert lease is not None
        executor = Executor(Limits(per_s=5), Breaker())
        await make_round(store, rollout_part(store), fleet, clock, executor, lease).run()

    try:
        loop.run_until_complete(story())
    finally:
        loop.close()
    assert len(begun) == 30
    for first in begun:
        assert sum(first <= at < first + 1 for at in begun) <= 2 * 5
    assert 4.9 <= begun[-1] - begun[0] <= 5.5


@pytest.mark.parametrize("renewed, outcome", [(True, "done"), (False, "failed")])
def test_an_action_goes_on_while_its_lease_is_renewed(renewed: bool, outcome: str) -> None:
    """Eight seconds under a lease of five: carried out if it is renewed, and else given up."""
    loop = VirtualLoop(parse_instant("2026-01-01T00:00:00Z"))
    clock = VirtualClock(loop)
    fleet = SimulatedFleet(clock)
    fleet.add(PARTITION, read_scenario(DEMO))
    carry_out = fleet.act

    async def act(partition: str, task: RolloutTask) -> str:
        await asyncio.sleep(8)
        return await carry_out(partition, task)

    fleet.act = act  # type: ignore[method-assign]
    store, term = MemoryStore(), Duration(5 * SECOND)

    async def story() -> set[str]:
        lease = store.lease(PARTITION, "w", clock.now(), term)
        assert lease is not None
        executor = Executor(Limits(timeout_s=10), Breaker())
        plain = make_round(store, rollout_part(store), fleet, clock, executor, lease)

        def now_held() -> Lease | None:
            return store.lease(PARTITION, "w", clock.now(), term) if renewed else lease

        one = Round(plain.context, plain.kind, plain.part, lease, plain.mode, now_held)
        return {each.value for _, each in (await one.run()).outcomes}

    try:
        assert loop.run_until_complete(story()) == {outcome}
    finally:
        loop.close()


def test_a_system_that_is_ill_keeps_nothing_from_another() -> None:
    """Each system of a fleet has a breaker of its own."""

    class Two(SimulatedFleet):
        def system_of(self, partition: str) -> str:
            return partition

    breaker = Breaker(1, Duration(SECOND), Duration(SECOND))
    executor, kind = Executor(Limits(), breaker), RolloutKind(Two(SystemClock()))

    def breaker_of(partition: str) -> Breaker:
        return executor.breaker(kind.rules.word, kind.system_of(partition))

    ill, well = breaker_of("ill"), breaker_of("well")
    ill.failed(Instant(0))
    assert ill.shut_until(Instant(1)) is not None
    assert well.shut_until(Instant(1)) is None
    assert breaker_of("ill") is ill
    one = RolloutKind(SimulatedFleet(SystemClock()))
    assert one.system_of("ill") == one.system_of("well")
