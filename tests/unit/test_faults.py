"""Each fault does what its name says, and they end when they are asked to."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.engine.stage import DEMO, PARTITION
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Asked, Verb
from tidegate.kinds.rollouts.core.journal.facts import RolloutTask
from tidegate.kinds.rollouts.simulated.faulty_fleet import STALE_MAX, FaultyFleet
from tidegate.kinds.rollouts.simulated.port import SimulatedFleet
from tidegate.kinds.rollouts.wire.scenario_doc import DEFAULT_START, read_scenario
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.plan import Change, ChangeKind
from tidegate.model.target import Status
from tidegate.model.time import SECOND, Instant
from tidegate.simulation.faults import CallFault, Faults, FaultyStore
from tidegate.simulation.virtual_loop import VirtualClock, VirtualLoop, run_virtually
from tidegate.store.client.memory import MemoryStore

TASK = RolloutTask("k", "a", Change(ChangeKind.APPLY, "v2"))
ALWAYS = 1000
Story = Callable[[VirtualLoop, SimulatedFleet, FaultyFleet], Coroutine[Any, Any, None]]


def with_fault(fault: CallFault, story: Story, until: Instant | None = None) -> SimulatedFleet:
    """A fleet on which every call meets one fault."""

    async def main(loop: VirtualLoop) -> SimulatedFleet:
        clock = VirtualClock(loop)
        fleet = SimulatedFleet(clock)
        fleet.add(PARTITION, read_scenario(DEMO))
        faults = Faults(1, clock, {fault: ALWAYS}, until)
        await story(loop, fleet, FaultyFleet(fleet, faults))
        return fleet

    return run_virtually(main, DEFAULT_START)


@pytest.mark.parametrize(
    "fault, error, done",
    [
        (CallFault.LOST_WRITE, OutsideError, 0),
        (CallFault.LOST_ANSWER, OutsideError, 1),
        (CallFault.NO_ANSWER, TimeoutError, 1),
        (CallFault.CONFLICT, StaleError, 0),
        (CallFault.OUTAGE, OutsideError, 0),
    ],
)
def test_an_action_fails_before_or_after_it_is_done(
    fault: CallFault, error: type[Exception], done: int
) -> None:
    """The caller cannot tell which; the fleet can."""

    async def story(_: VirtualLoop, __: SimulatedFleet, faulty: FaultyFleet) -> None:
        with pytest.raises(error):
            async with asyncio.timeout(30):
                await faulty.act(PARTITION, TASK)

    assert len(with_fault(fault, story).carried) == done


def test_a_task_delivered_again_and_again_is_carried_out_once() -> None:
    """At once, and once more when no one thinks of it any longer."""

    async def story(_: VirtualLoop, fleet: SimulatedFleet, faulty: FaultyFleet) -> None:
        assert await faulty.act(PARTITION, TASK) == "applied"
        await asyncio.sleep(300)
        assert fleet.calls == 3

    assert len(with_fault(CallFault.TWICE, story).carried) == 1


def test_a_slow_call_takes_its_time_and_is_done() -> None:
    """Within what an action is given."""

    async def story(loop: VirtualLoop, _: SimulatedFleet, faulty: FaultyFleet) -> None:
        assert await faulty.act(PARTITION, TASK) == "applied"
        assert 0 < loop.time() <= 20

    with_fault(CallFault.SLOW, story)


def test_an_old_reading_is_not_older_than_it_may_be() -> None:
    """It shows what was; after a while it shows what is."""

    async def story(loop: VirtualLoop, fleet: SimulatedFleet, faulty: FaultyFleet) -> None:
        before = await faulty.observe(PARTITION)
        await fleet.act(PARTITION, TASK)
        seen = [await faulty.observe(PARTITION) for _ in range(20)]
        assert before in seen, "never an old one"
        await asyncio.sleep(STALE_MAX / SECOND + 1)
        assert before not in [await faulty.observe(PARTITION) for _ in range(20)]

    with_fault(CallFault.STALE, story)


def test_a_partial_reading_says_so() -> None:
    """What it lacks is not gone."""

    async def story(_: VirtualLoop, fleet: SimulatedFleet, faulty: FaultyFleet) -> None:
        whole = await fleet.observe(PARTITION)
        seen = [await faulty.observe(PARTITION) for _ in range(10)]
        assert not any(each.complete for each in seen)
        assert min(len(each.reports) for each in seen) < len(whole.reports)

    with_fault(CallFault.PARTIAL, story)


def test_flapping_never_shows_a_change_as_done() -> None:
    """Who is settled may seem busy; none seems settled that is not."""

    async def story(_: VirtualLoop, fleet: SimulatedFleet, faulty: FaultyFleet) -> None:
        await fleet.act(PARTITION, TASK)
        reports = [one for _ in range(10) for one in (await faulty.observe(PARTITION)).reports]
        assert {one.status for one in reports if one.name == "a"} == {Status.Progressing}
        assert Status.Progressing in {one.status for one in reports if one.name != "a"}

    with_fault(CallFault.FLAPPING, story)


def test_faults_end_when_they_are_asked_to() -> None:
    """So that one can see whether everything arrives afterwards."""

    async def story(_: VirtualLoop, __: SimulatedFleet, faulty: FaultyFleet) -> None:
        with pytest.raises(OutsideError):
            await faulty.act(PARTITION, TASK)
        await asyncio.sleep(10)
        assert await faulty.act(PARTITION, TASK) == "applied"

    with_fault(CallFault.OUTAGE, story, Instant(DEFAULT_START + 10 * SECOND))


@pytest.mark.parametrize(
    "fault, error, written",
    [
        (CallFault.GONE_BEFORE, OutsideError, 0),
        (CallFault.GONE_AFTER, OutsideError, 1),
        (CallFault.OVERTAKEN, StaleError, 0),
        (CallFault.FULL, OutsideError, 0),
        (CallFault.SLOW, None, 1),
    ],
)
def test_a_write_fails_before_or_after_the_commit(
    fault: CallFault, error: type[Exception] | None, written: int
) -> None:
    """The writer cannot tell which; the journal can."""
    store, slept = MemoryStore(), list[float]()

    async def main(loop: VirtualLoop) -> None:
        faults = Faults(1, VirtualClock(loop), {fault: ALWAYS})
        faulty = FaultyStore(store, faults, slept.append)
        note = JournalNote(loop.now(), "user:ada", Asked(verb=Verb.PAUSE))
        if error is None:
            faulty.append("r1", [note])
            return
        with pytest.raises(error):
            faulty.append("r1", [note])

    run_virtually(main, DEFAULT_START)
    assert store.head("r1").seq == written
    assert bool(slept) is (fault is CallFault.SLOW)
