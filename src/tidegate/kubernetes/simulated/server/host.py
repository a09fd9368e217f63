"""Hosts simulated clusters: what runs in them, who answers for them, and the way to them."""

import asyncio
import secrets
import socket
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tidegate.kubernetes.port import MANAGER, Cluster
from tidegate.kubernetes.simulated.api import SimulatedApi
from tidegate.kubernetes.simulated.behaviour_doc import Behaviour
from tidegate.kubernetes.simulated.cluster import SimulatedCluster
from tidegate.kubernetes.simulated.life.nodes import Nodes
from tidegate.kubernetes.simulated.server.server import Hosted, KubeServer
from tidegate.machine.clock import Clock


class Host:
    """Several simulated clusters, by name, with the namespaces they begin with."""

    def __init__(
        self,
        namespaces: Mapping[str, Iterable[str]],
        clock: Clock,
        behaviour: Behaviour | None = None,
        speed: int = 1,
        down: Iterable[str] = (),
    ) -> None:
        self._hosted: list[Hosted] = []
        self._nodes: list[Nodes] = []
        for name, spaces in namespaces.items():
            api = SimulatedApi(name, clock=clock)
            api.namespaces.update(spaces)
            self._hosted.append(Hosted(api, secrets.token_hex(16)))
            self._nodes.append(Nodes(api, clock, behaviour, speed))
        self._server = KubeServer(self._hosted)
        self._server.down.update(down)
        self._url = ""

    def clusters(self, manager: str = MANAGER) -> dict[str, Cluster]:
        """All of them by name, as a manager of fields sees them."""
        return {each.api.name: SimulatedCluster(each.api, manager) for each in self._hosted}

    def kubeconfig(self, url: str) -> dict[str, Any]:
        """The way to all of them from an address: a context each, called like the cluster."""
        self._url = url
        names = [each.api.name for each in self._hosted]
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": {"server": f"{url}/{name}"}} for name in names],
            "users": [
                {"name": each.api.name, "user": {"token": each.token}} for each in self._hosted
            ],
            "contexts": [
                {"name": name, "context": {"cluster": name, "user": name}} for name in names
            ],
            "current-context": names[0],
        }

    def lines(self) -> Iterator[str]:
        """What is served, a line a cluster."""
        width = max(len(each.api.name) for each in self._hosted)
        urls = width + len(self._url) + 1
        for each in self._hosted:
            name = each.api.name
            state = "down  " if name in self._server.down else ""
            spaces = ", ".join(sorted(each.api.namespaces))
            yield f"{name:{width}}  {f'{self._url}/{name}':{urls}}  {state}{spaces}"

    def stop(self) -> None:
        """Stop."""
        self._server.stop()

    async def run(self, ear: socket.socket) -> None:
        """Run everything, and answer requests, until stopped."""
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(each.run()) for each in self._nodes]
            await self._server.serve(ear)
            for task in running:
                task.cancel()
