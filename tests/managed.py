"""A simulated OpenShift Cluster Manager in a thread of its own, for commands that ask over HTTP."""

import asyncio
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import msgspec
import yaml

from tests.patience import ended, happened
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw, OcmFaults
from tidegate.kinds.upgrades.ocm.simulated.server import ManagerServer
from tidegate.kinds.upgrades.ocm.simulated.start import found
from tidegate.kinds.upgrades.ocm.simulated.tokens import Tokens
from tidegate.kinds.upgrades.ocm.simulated.world_doc import read_world
from tidegate.machine.system_clock import SystemClock
from tidegate.simulation.fast_loop import SimulatedClock

EXAMPLE = Path(__file__).parents[1] / "examples/ocm.yaml"
NOW = "2026-03-02T08:00:00Z"
"""When the example begins."""


def example(**more: Any) -> dict[str, Any]:
    """The example's world, with some of it in place of what is there."""
    document: dict[str, Any] = yaml.load(EXAMPLE.read_bytes(), yaml.CSafeLoader)
    return {**document, **more}


class Managed(msgspec.Struct, frozen=True):
    """One that answers."""

    url: str
    server: ManagerServer

    @property
    def writes(self) -> list[Any]:
        """All that anyone tried to change there."""
        return list(self.server.state.writes)

    def environment(self, **more: str) -> dict[str, str]:
        """How a document of environments names it."""
        return {
            "name": "prod",
            "url": self.url,
            "tokenUrl": f"{self.url}/token",
            "clientId": "tidegate",
            "clientSecret": "env:OCM_SECRET",
            **more,
        }


@contextmanager
def managed(document: Mapping[str, Any] | None = None) -> Iterator[Managed]:
    """One that answers until the end; its clock stands where the world says."""
    read = read_world(document or example())
    ready, holder = Event(), dict[str, Any]()

    async def serve() -> None:
        clock = SimulatedClock(SystemClock(), read.now)
        server = ManagerServer(found(read), clock, Tokens(read.credentials), FaultDraw(OcmFaults()))
        holder.update(server=server, loop=asyncio.get_running_loop())
        ready.set()
        await server.serve(ear)

    with socket.create_server(("127.0.0.1", 0)) as ear:
        thread = Thread(target=lambda: asyncio.run(serve()), daemon=True)
        thread.start()
        happened(ready, "the server is there")
        try:
            yield Managed(f"http://127.0.0.1:{ear.getsockname()[1]}", holder["server"])
        finally:
            holder["loop"].call_soon_threadsafe(holder["server"].stop)
            ended(thread)
