"""Applying Deployments to a real API server: ours as a share of what bare aiohttp does.

Both send the same documents to the same server in the same run, ten at a time, each pass into a
namespace of its own. They take turns slice by slice, so that whatever else the machine does befalls
both; the best pass of each counts. Bare aiohttp encodes the document and reads the answer's bytes;
ours also retries, limits rates, decodes and says what became of each. The client and the server
share the machine.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from bench.table import Report, count, draw, figure
from bench.timing import Effort
from tests.real.kube import ADMIN, ControlPlane, found, kubernetes
from tidegate.kubernetes.client.cluster import APPLY, KubernetesCluster
from tidegate.kubernetes.client.documents import path_of
from tidegate.kubernetes.port import DEPLOYMENT, ApplyOutcome

IN_FLIGHT = 10
PASSES = 3
SLICE = 50
# What was promised.
SHARE_MIN = 0.75


class Row(msgspec.Struct, frozen=True):
    """One client."""

    client: str
    deployments: int
    per_s: float
    cpu_ms: float
    share: float


Documents = list[dict[str, Any]]
Client = Callable[[Documents], Coroutine[None, None, None]]


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Both clients in turns; nothing where the servers are not."""
    programs = found()
    if programs is None:
        say("no Kubernetes on this machine (dev/kube/build builds one): not measured")
        return Report([], ["Kubernetes: not measured, as there is none here (dev/kube/build)"])
    size = 1_000 if effort.peer else 200
    say("kube: starting an API server")
    with tempfile.TemporaryDirectory() as folder, kubernetes(programs, Path(folder)) as servers:
        rows = asyncio.run(_measure(servers.plane("bench"), size, say))
    return Report(rows, [_table(rows)])


async def _measure(plane: ControlPlane, size: int, say: Callable[[str], None]) -> list[Row]:
    best: dict[str, tuple[float, float]] = {}
    async with _bare(plane) as bare, _ours(plane) as ours:
        clients = {"aiohttp": bare, "tidegate": ours}
        # Every client warms up untimed.
        for client in clients.values():
            await client(_documents(await asyncio.to_thread(plane.namespace), SLICE))
        for number in range(PASSES):
            say(f"kube: pass {number + 1}, {size:,} Deployments by each")
            for name, took in (await _pass(plane, clients, size)).items():
                known = best.get(name, took)
                best[name] = min(known[0], took[0]), min(known[1], took[1])
    floor = best["aiohttp"][0]
    return [
        Row(name, size, size / wall, cpu / size * 1000, floor / wall)
        for name, (wall, cpu) in best.items()
    ]


async def _pass(
    plane: ControlPlane, clients: dict[str, Client], size: int
) -> dict[str, tuple[float, float]]:
    """Wall and CPU seconds of each client, over all its slices."""
    work = {name: _documents(await asyncio.to_thread(plane.namespace), size) for name in clients}
    spent = dict.fromkeys(clients, (0.0, 0.0))
    for at in range(0, size, SLICE):
        for name in sorted(clients, reverse=bool(at // SLICE % 2)):
            wall, cpu = time.perf_counter(), time.process_time()
            await clients[name](work[name][at : at + SLICE])
            before = spent[name]
            spent[name] = (
                before[0] + time.perf_counter() - wall,
                before[1] + time.process_time() - cpu,
            )
    return spent


@asynccontextmanager
async def _ours(plane: ControlPlane) -> AsyncIterator[Client]:
    cluster = KubernetesCluster(plane.access())

    async def apply(documents: Documents) -> None:
        applied = await asyncio.gather(*(cluster.apply(each) for each in documents))
        assert {each.outcome for each in applied} == {ApplyOutcome.CREATED}

    try:
        yield apply
    finally:
        await cluster.close()


@asynccontextmanager
async def _bare(plane: ControlPlane) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {plane.tokens[ADMIN]}", "Content-Type": APPLY}
    connector = aiohttp.TCPConnector(ssl=plane.authority.trusting(), limit=IN_FLIGHT)
    async with aiohttp.ClientSession(headers=headers, connector=connector) as session:
        slots = asyncio.Semaphore(IN_FLIGHT)

        async def one(document: dict[str, Any]) -> None:
            metadata = document["metadata"]
            url = plane.url + path_of(DEPLOYMENT, metadata["namespace"], metadata["name"])
            body = msgspec.json.encode(document)
            params = {"fieldManager": "bare"}
            async with slots, session.patch(url, data=body, params=params) as answer:
                await answer.read()
                assert answer.status == 201

        async def apply(documents: Documents) -> None:
            await asyncio.gather(*map(one, documents))

        yield apply


def _documents(namespace: str, size: int) -> Documents:
    return [_document(namespace, f"shard-{number:04d}") for number in range(size)]


def _document(namespace: str, name: str) -> dict[str, Any]:
    """A Deployment as large as an integration's shard is."""
    labels = {"app": "integration", "component": name, "app.kubernetes.io/managed-by": "tidegate"}
    env = [{"name": f"SETTING_{number}", "value": f"value-{number}"} for number in range(12)]
    resources = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}}
    container = {
        "name": "int",
        "image": "registry.test/integration:f929a38",
        "env": env,
        "resources": resources,
        "ports": [{"name": "http", "containerPort": 9090}],
    }
    return {
        "apiVersion": DEPLOYMENT.api_version,
        "kind": DEPLOYMENT.name,
        "metadata": {"namespace": namespace, "name": name, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def _table(rows: list[Row]) -> str:
    heads = ("CLIENT", "DEPLOYMENTS", "PER S", "CPU MS EACH", "SHARE", "GOAL")
    lines = [
        (
            row.client,
            count(row.deployments),
            figure(row.per_s),
            figure(row.cpu_ms),
            f"{row.share:.0%}",
            _goal(row),
        )
        for row in rows
    ]
    return draw("Kubernetes: Deployments applied to a real API server", heads, lines)


def _goal(row: Row) -> str:
    if row.client == "aiohttp":
        return "-"
    return f"{SHARE_MIN:.0%}: {'kept' if row.share >= SHARE_MIN else 'missed'}"
