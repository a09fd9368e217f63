"""What holds the event loop is named, whatever it is."""

import asyncio
import io
import json
import time
from collections.abc import Callable
from typing import Any

from tests.patience import PATIENCE_S, until
from tests.toy.lamps import LampRules, Lamps
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.plain.rules import PlainWorld
from tidegate.engine.vitals import Vitals
from tidegate.engine.watchdog import LoopHeld, Steps, Watchdog
from tidegate.engine.worker import Worker
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.machine.system_clock import SystemClock
from tidegate.model.plan import Plan
from tidegate.model.time import Instant
from tidegate.store.client.memory import MemoryStore
from tidegate.telemetry.log import Log
from tidegate.telemetry.observer import Observer

HALL = "lamps/hall"
LATE_S = 0.2


class Slow(Lamps):
    """Lamps that are looked at without giving the loop back, until that is reported."""

    def __init__(self, lit: dict[str, bool], told: list[LoopHeld]) -> None:
        super().__init__(lit)
        self._told = told

    async def observe(self, _partition: str) -> dict[str, bool]:
        """Which lamps are lit, in the end."""
        until(lambda: HALL in holders(self._told), "what holds the loop is named")
        return dict(self.lit)


class Heavy(LampRules):
    """Rules that hold the whole process, as a pattern does that is matched for ever."""

    def plan(self, world: PlainWorld, now: Instant) -> Plan:
        """No thread runs beside a sum."""
        began = time.monotonic()
        while time.monotonic() - began < 3 * LATE_S:
            sum(range(40_000_000))
        return super().plan(world, now)


def holders(told: list[LoopHeld], *, over: bool = False) -> set[str]:
    """What held the loop, and perhaps still does."""
    return {each.holder for each in told if each.over or not over}


def watch(lamps: Lamps, told: list[LoopHeld]) -> None:
    """Run a worker until it is reported that its round held the loop."""

    async def main() -> None:
        settings = WorkerSettings(holder="w", discover_s=0.1)
        executor = Executor(Limits(), Breaker())
        worker = Worker(MemoryStore(), (lamps,), SystemClock(), executor, settings)
        dog = Watchdog(asyncio.get_running_loop(), told.append, worker.steps, LATE_S)
        dog.start()
        running = asyncio.create_task(worker.run())
        async with asyncio.timeout(PATIENCE_S):
            while HALL not in holders(told, over=True):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        worker.stop()
        await running
        dog.stop()

    asyncio.run(main())


def test_a_round_that_holds_the_loop_is_named() -> None:
    """While it does, and once it is over, with how long it took."""
    told: list[LoopHeld] = []
    watch(Slow({"a": False}, told), told)
    mine = [each for each in told if each.holder == HALL]
    assert {each.over for each in mine} == {False, True}
    assert all(each.held_s > LATE_S for each in mine)


def test_a_decision_that_holds_the_process_is_named() -> None:
    """No thread sees it while it lasts: it is named once it is over."""
    lamps = Lamps({"a": False})
    lamps.rules = Heavy()
    told: list[LoopHeld] = []
    watch(lamps, told)
    assert HALL in holders(told, over=True)


def test_a_loop_that_turns_is_not_reported() -> None:
    """However long it is watched."""
    told: list[LoopHeld] = []

    async def main() -> None:
        dog = Watchdog(asyncio.get_running_loop(), told.append, Steps(), late_s=20.0)
        dog.start()
        await asyncio.sleep(0.3)
        dog.stop()

    asyncio.run(main())
    assert not told


def test_what_took_longest_is_what_overlaps_most() -> None:
    """Steps that ended, and those that still run; nothing else is made up."""
    steps = Steps()
    began = time.monotonic()
    assert steps.longest(began, began + 1) == ""
    pause: Callable[[float], None] = time.sleep
    steps.run("short", pause, 0.01)
    took_s = time.monotonic() - began
    steps.run("long", pause, 2 * took_s)
    assert steps.longest(began, time.monotonic()) == "long"
    found = steps.run("running", lambda: steps.longest(time.monotonic() - 9, time.monotonic() + 9))
    assert found == "running"


def test_what_held_the_loop_is_logged_and_counted() -> None:
    """The line names the partition, the number its kind."""
    out = io.BytesIO()

    async def main() -> bytes:
        log = Log(SystemClock(), lambda line: out.write(line), human=False)

        def vitals() -> Vitals:
            return Vitals(frozenset(), frozenset(), 0, 0, 0, True, None)

        def telemetry(_: str) -> Any:
            raise AssertionError

        observer = Observer(log, SystemClock(), "1", vitals, telemetry)
        observer.held(LoopHeld("upgrades/prod/o1", 6.2, over=False))
        observer.held(LoopHeld("upgrades/prod/o1", 9.7, over=True))
        log.close()
        return observer.metrics.text()

    numbers = asyncio.run(main()).decode()
    lines = [json.loads(each) for each in out.getvalue().splitlines()]
    assert [each["rollout"] for each in lines] == ["upgrades/prod/o1"] * 2
    assert "holds the event loop" in lines[0]["msg"]
    assert "nothing else went on for 10 s" in lines[1]["msg"]
    sample = 'tidegate_loop_held_total{kind="upgrades",rollout="upgrades/prod/o1"} 1.0'
    assert sample in numbers
