"""A fleet in another process answers as it would in this one; its failures are ours to retry."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from tests.engine.stage import DEMO, PARTITION, VirtualClock
from tidegate.kinds.rollouts.client.remote_fleet import RemoteFleet
from tidegate.kinds.rollouts.core.journal.facts import RolloutTask
from tidegate.kinds.rollouts.simulated.fleet_server import FleetServer
from tidegate.kinds.rollouts.simulated.port import SimulatedFleet
from tidegate.kinds.rollouts.wire.scenario_doc import DEFAULT_START, read_scenario
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.plan import Change, ChangeKind

T = TypeVar("T")


def with_fleet(ask: Callable[[SimulatedFleet, RemoteFleet], Awaitable[T]]) -> T:
    """Ask a simulated fleet over a real connection."""

    async def main() -> T:
        fleet = SimulatedFleet(VirtualClock(DEFAULT_START))
        fleet.add(PARTITION, read_scenario(DEMO))
        server = FleetServer(fleet)
        with socket.create_server(("127.0.0.1", 0)) as ear:
            serving = asyncio.create_task(server.serve(ear))
            remote = RemoteFleet(f"http://127.0.0.1:{ear.getsockname()[1]}/")
            try:
                return await ask(fleet, remote)
            finally:
                await remote.close()
                server.stop()
                await serving

    return asyncio.run(main())


def task(target: str = "a") -> RolloutTask:
    """The first task of a rollout."""
    return RolloutTask(f"{PARTITION}#3/{target}", target, Change(ChangeKind.APPLY, "v2"))


def test_a_reading_is_the_same_over_a_connection() -> None:
    """Names, declaration and reports, value for value."""

    async def ask(fleet: SimulatedFleet, remote: RemoteFleet) -> None:
        assert await remote.partitions() == await fleet.partitions()
        assert await remote.observe(PARTITION) == await fleet.observe(PARTITION)

    with_fleet(ask)


def test_a_task_reported_twice_is_carried_out_once() -> None:
    """The key goes with it, and the fleet says what it did."""

    async def ask(_: SimulatedFleet, remote: RemoteFleet) -> None:
        assert [await remote.act(PARTITION, task()) for _ in range(2)] == ["applied", "applied"]
        assert [one.task for one in await remote.carried()] == [task()]

    with_fleet(ask)


def test_what_does_not_fit_any_more_is_stale() -> None:
    """A target that is not there: look again, instead of trying again."""

    async def ask(_: SimulatedFleet, remote: RemoteFleet) -> None:
        with pytest.raises(StaleError, match="nobody is not there"):
            await remote.act(PARTITION, task("nobody"))
        assert await remote.carried() == []

    with_fleet(ask)


def test_what_it_cannot_answer_is_tried_again() -> None:
    """An unknown rollout, and a fleet that answers something else."""

    async def ask(fleet: SimulatedFleet, remote: RemoteFleet) -> None:
        with pytest.raises(OutsideError, match="HTTP 404: no rollout 'simulated/other'"):
            await remote.observe("simulated/other")
        fleet.carried = "nothing of the kind"  # type: ignore[assignment]
        with pytest.raises(OutsideError, match="not what was asked"):
            await remote.carried()

    with_fleet(ask)


def test_nothing_there_is_tried_again() -> None:
    """A refused connection names the address."""

    async def ask() -> None:
        with socket.create_server(("127.0.0.1", 0)) as ear:
            port = ear.getsockname()[1]
        remote = RemoteFleet(f"http://127.0.0.1:{port}")
        try:
            with pytest.raises(OutsideError, match=f"127.0.0.1:{port}"):
                await remote.partitions()
        finally:
            await remote.close()

    asyncio.run(ask())
