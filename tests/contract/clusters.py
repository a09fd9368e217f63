"""Clusters to hold to the contract: simulated, simulated over HTTP, and real; each seen by two."""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from tests.patience import PATIENCE_S
from tests.real.kube import ControlPlane, Kubernetes
from tests.real.kubelet import METRICS_PORT, kubelet
from tidegate.kubernetes.client.access import ClusterAccess
from tidegate.kubernetes.client.cluster import KubernetesCluster
from tidegate.kubernetes.client.leases import KubernetesLeases
from tidegate.kubernetes.client.pods import PodReach
from tidegate.kubernetes.client.watch import Watching
from tidegate.kubernetes.leases_port import Leases
from tidegate.kubernetes.port import MANAGER, Cluster
from tidegate.kubernetes.simulated.api import SimulatedApi
from tidegate.kubernetes.simulated.behaviour_doc import (
    Behaviour,
    BehaviourRule,
    ContainerBehaviour,
    ContainerStart,
)
from tidegate.kubernetes.simulated.cluster import SimulatedCluster
from tidegate.kubernetes.simulated.leases import LeaseRecord, SimulatedLeases
from tidegate.kubernetes.simulated.life.nodes import Nodes
from tidegate.kubernetes.simulated.server.server import Hosted, KubeServer
from tidegate.machine.system_clock import SystemClock
from tidegate.model.time import SECOND, Duration

# Another client that applies to the same objects.
SOMEBODY = "somebody"
REAL = [pytest.mark.real, pytest.mark.xdist_group("kube")]
# In memory; the same through the real client and a server; the real thing.
EVERY = ["simulated", "served", pytest.param("real", marks=REAL)]
# A pod in a hurry: ready at once, some runs a second.
QUICK = Behaviour(
    ContainerBehaviour(
        ready_after=Duration(SECOND // 20),
        stops_after=Duration(SECOND // 20),
        every=Duration(SECOND // 10),
        takes=Duration(SECOND // 10),
    ),
    (
        BehaviourRule({"start": ContainerStart.NO_IMAGE}, tag="broken"),
        BehaviourRule({"fails_from": 1}, tag="failing"),
    ),
)

Story = Callable[[Cluster, Cluster, str], Awaitable[None]]


class Stage:
    """One cluster, as we and another person see it."""

    def __init__(
        self, plane: ControlPlane | None, forget: Callable[[], None], *, served: bool = False
    ) -> None:
        self._plane = plane
        self._forget = forget
        self._served = served
        # Where the simulated cluster is served; None: it is not.
        self._access: ClusterAccess | None = None if plane is None else plane.access()
        self._api = SimulatedApi("simulated")
        self._records: dict[str, LeaseRecord] = {}

    def play(self, story: Story, *, runs: bool = False) -> None:
        """A story in a namespace of its own, by us and another client; maybe its pods run."""
        namespace = self.namespace()

        async def played() -> None:
            async with self.serving():
                us, them = self.open(MANAGER), self.open(SOMEBODY)
                try:
                    async with asyncio.timeout(PATIENCE_S):
                        if runs:
                            async with self._nodes():
                                await story(us, them, namespace)
                        else:
                            await story(us, them, namespace)
                finally:
                    await us.close()
                    await them.close()

        asyncio.run(played())

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """While a gate answers for it, where one has to."""
        if not self._served:
            yield
            return
        server = KubeServer([Hosted(self._api, "secret")])
        with socket.create_server(("127.0.0.1", 0)) as ear:
            url = f"http://127.0.0.1:{ear.getsockname()[1]}/simulated"
            self._access = ClusterAccess(name="simulated", server=url, token="secret")
            task = asyncio.create_task(server.serve(ear))
            try:
                yield
            finally:
                server.stop()
                await task

    def open(self, manager: str) -> Cluster:
        """The cluster, as a person of this name sees it."""
        if self._access is None:
            return SimulatedCluster(self._api, manager)
        watching = Watching(period_s=30)
        # A real API server never leads to the loopback addresses of our pods.
        reach = PodReach.PROXY if self._plane is None else PodReach.DIRECT
        return KubernetesCluster(
            self._access, manager=manager, watching=watching, page=2, reach=reach
        )

    @asynccontextmanager
    async def _nodes(self) -> AsyncIterator[None]:
        if self._plane is not None:
            async with kubelet(self._plane, metrics=True):
                yield
            return
        running = asyncio.create_task(Nodes(self._api, SystemClock(), QUICK).run())
        try:
            yield
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    def leases(self, namespace: str) -> Leases:
        """Its leases, as a process of its own sees them."""
        if self._access is None:
            return SimulatedLeases(self._records)
        return KubernetesLeases(self._access, namespace)

    def namespace(self) -> str:
        """A namespace that is not there yet, made."""
        if self._plane is not None:
            return self._plane.namespace()
        name = f"t-{secrets.token_hex(4)}"
        self._api.namespaces.add(name)
        return name

    def forget(self) -> None:
        """What happened up to now is gone from its history."""
        self._api.forget()
        self._forget()


def stage_of(kind: str, request: pytest.FixtureRequest, *flags: str) -> Stage:
    """A stage of a kind; the real servers are started by the first who asks."""
    if kind != "real":
        return Stage(None, lambda: None, served=kind == "served")
    servers: Kubernetes = request.getfixturevalue("kubernetes")
    name = "uncached" if flags else "one"
    return Stage(servers.plane(name, *flags), servers.etcd.compact)


def running_stage_of(kind: str, request: pytest.FixtureRequest) -> Stage:
    """A stage whose controllers run."""
    if kind != "real":
        return stage_of(kind, request)
    servers: Kubernetes = request.getfixturevalue("kubernetes")
    plane = servers.plane("three")
    servers.controllers(plane)
    return Stage(plane, lambda: None)


async def until(looked: Callable[[], Awaitable[bool]], pause_s: float = 0.05) -> None:
    """Look until it is so; a story waits for so long."""
    while True:
        if await looked():
            return
        await asyncio.sleep(pause_s)


def config_map(namespace: str, name: str = "a", **data: str) -> dict[str, Any]:
    """The simplest thing there is."""
    metadata = {"namespace": namespace, "name": name, "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def loop(namespace: str, name: str = "a", image: str = "registry.test/a:1") -> dict[str, Any]:
    """A Deployment of one pod that tells its numbers."""
    document = deployment(namespace, name, image, replicas=1)
    (container,) = document["spec"]["template"]["spec"]["containers"]
    container["ports"] = [{"name": "http", "containerPort": METRICS_PORT}]
    return document


def job(namespace: str, name: str = "a", image: str = "registry.test/a:1") -> dict[str, Any]:
    """A Job that is tried once."""
    container = {"name": "int", "image": image}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "backoffLimit": 0,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


def deployment(
    namespace: str, name: str = "a", image: str = "registry.test/a:1", **fields: Any
) -> dict[str, Any]:
    """The smallest Deployment a server takes; fields go into its spec."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": namespace, "name": name, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "int", "image": image}]},
            },
            **fields,
        },
    }
