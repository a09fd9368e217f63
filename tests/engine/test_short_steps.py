"""A step of a round that is known to be short runs in the event loop; any other in a thread."""

import asyncio
import threading
from time import thread_time

import msgspec
import pytest

from tests.engine.stage import PARTITION, TERM, Process, Tripwire, set_up
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.partition import PartitionState
from tidegate.engine.round import Round
from tidegate.journal.facts import Mode
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.kinds.rollouts.rules import RolloutRules
from tidegate.model.time import SECOND, Instant
from tidegate.store.client.memory import MemoryStore


class Watched(RolloutRules):
    """Rules that record the thread they decide in, and take as long as they are told."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[int] = []
        self.burns_s = 0.0

    def decide(self, world: RolloutWorld, now: Instant) -> RolloutPlan:
        """Decide, in whichever thread this is."""
        self.threads.append(threading.get_ident())
        began = thread_time()
        while thread_time() - began < self.burns_s:
            pass
        return super().decide(world, now)


async def _threads(short_s: float, burns_s: tuple[float, ...]) -> list[bool]:
    """Whether each round decided in the event loop."""
    stage = set_up(MemoryStore(), Tripwire())
    process, rules = Process(stage), Watched()
    process.part = PartitionState(stage.store, PARTITION, rules)
    for each in burns_s:
        rules.burns_s = each
        lease = stage.store.lease(PARTITION, process.name, stage.clock.now(), TERM)
        assert lease is not None
        made = process.make(lease, Mode.OBSERVE, Executor(Limits(), process.breaker))
        context = msgspec.structs.replace(made.context, short_s=short_s)
        process.part.basis = None
        await Round(context, made.kind, process.part, lease, Mode.OBSERVE).run()
        stage.clock.at = Instant(stage.clock.at + SECOND)
    here = threading.get_ident()
    return [each == here for each in rules.threads]


def test_the_first_step_is_never_taken_in_the_loop() -> None:
    assert asyncio.run(_threads(5.0, (0, 0, 0))) == [False, True, True]


def test_a_step_that_was_long_is_taken_in_a_thread_the_next_time() -> None:
    assert asyncio.run(_threads(0.2, (0, 0.3, 0, 0))) == [False, True, False, True]


@pytest.mark.parametrize("burns_s", [0, 0.01])
def test_without_a_limit_no_step_is_taken_in_the_loop(burns_s: float) -> None:
    assert asyncio.run(_threads(0.0, (burns_s,) * 3)) == [False] * 3
