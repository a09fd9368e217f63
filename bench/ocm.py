"""Reading a fleet from OpenShift Cluster Manager: how many calls, and how long they take.

The simulated one runs in a process of its own, takes 20 ms a call, and refuses what is beyond 1,000
calls a second. The predecessor's calls were counted on worlds of the same sizes; it asks one after
the other, so its time is its calls times 20 ms, and nothing else is counted against it.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from bench.table import Report, count, draw, figure
from bench.timing import Effort, Start
from tidegate.kinds.upgrades.app.read.survey import Survey, survey
from tidegate.kinds.upgrades.ocm.client.client import ClusterManagerClient
from tidegate.kinds.upgrades.ocm.client.http import OcmLimits
from tidegate.kinds.upgrades.ocm.client.token import ServiceAccount

LATENCY_S = 0.02
RATE = 1000
# What was promised for the largest.
WALL_MAX_S = 10.0
# Its calls, as they were counted.
PREDECESSOR = {1_000: 1_692, 5_000: 8_311}
SMOKE_SIZE = 100
_FAULTS = ("500=5", "cut=5", "lost=5")


class Row(msgspec.Struct, frozen=True):
    """One reading of a fleet."""

    clusters: int
    faults: bool
    calls: int
    refused: int
    wall_s: float
    cpu_s: float
    predecessor_calls: int
    predecessor_s: float


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Each size in calm and with faults; only the smaller one where time is short."""
    rows = []
    few = (SMOKE_SIZE,) if effort.smoke else tuple(PREDECESSOR)[:1]
    for size in PREDECESSOR if effort.peer else few:
        for faults in ((),) if effort.smoke else ((), _FAULTS):
            say(f"ocm: {size:,} clusters{', with faults' if faults else ''}")
            rows.append(_measure(size, faults, effort.start))
    return Report(rows, [_table(rows)])


def _measure(size: int, faults: tuple[str, ...], start: Start) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder) / "world.json"
        world.write_bytes(msgspec.json.encode(_world(size)))
        with _simulated(world, faults, start) as url:
            return asyncio.run(_read(url, size, bool(faults)))


async def _read(url: str, size: int, faults: bool) -> Row:
    account = ServiceAccount(f"{url}/token", "tidegate", "simulated")
    client = ClusterManagerClient(url, account, OcmLimits(rate_max=RATE))
    wall, cpu = time.perf_counter(), time.process_time()
    seen = await survey(client)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    calls = sum(client.calls().values())
    await client.close()
    _check(seen, size)
    async with aiohttp.ClientSession() as session, session.get(f"{url}/simulation") as response:
        met = (await response.json())["faults"]
    refused = met.get("429", 0)
    known = PREDECESSOR.get(size, 0)
    return Row(size, faults, calls, refused, wall, cpu, known, known * LATENCY_S)


def _check(seen: Survey, size: int) -> None:
    """It is all there, or the figures mean nothing."""
    assert seen.complete
    assert len(seen.clusters) == len(seen.details) == size
    assert not any(each.error for each in seen.details.values())


@contextmanager
def _simulated(world: Path, faults: tuple[str, ...], start: Start) -> Iterator[str]:
    options = [part for fault in faults for part in ("--fault", fault)]
    command = [sys.executable, "-m", "tidegate", "simulate", "ocm", str(world)]
    process = start(
        [*command, "--latency", "20ms", "--rate", str(RATE), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _world(size: int) -> dict[str, Any]:
    """A fifth with hosted control planes, two pools each; of ten one upgrades, one has a gate."""
    labels = {"sector-deps.stage": "dev", "sector-deps.prod": "stage", "blocked-versions": "-rc"}
    return {
        "now": "2026-03-02T08:00:00Z",
        "orgs": [{"id": "o1", "labels": labels}],
        "clusters": [_cluster(i) for i in range(size)],
        "versions": [{"version": f"4.16.{i}"} for i in range(3, 8)] + [{"version": "4.17.1"}],
        "gates": [{"id": "g", "prefix": "4.17", "label": "api.openshift.com/gate-ocp"}],
    }


def _cluster(i: int) -> dict[str, Any]:
    name, sector = f"c{i:026d}", ("dev", "stage", "prod")[i % 3]
    cluster: dict[str, Any] = {
        "name": name,
        "org": "o1",
        "version": "4.16.4",
        "channel": "stable-4.17" if i % 10 == 3 else "stable-4.16",
        "labels": {
            "soak-days": str(i % 5),
            "workloads": f"w{i % 7}",
            "schedule": "* * * * *",
            "sector": sector,
            "mutexes": f"m{i % 50}",
        },
    }
    if i % 5 == 0:
        pools = [{"id": "a", "version": "4.16.4"}, {"id": "b", "version": f"4.16.{3 + i % 2}"}]
        cluster |= {"product": "rosa", "hypershift": True, "node_pools": pools}
    if i % 10 == 1:
        cluster["upgrade_policies"] = [{"id": "p", "version": "4.16.5", "state": "started"}]
    return cluster


def _table(rows: list[Row]) -> str:
    drawn = [
        (
            count(row.clusters),
            "some fail" if row.faults else "none",
            count(row.calls),
            count(row.refused),
            figure(row.wall_s),
            figure(row.cpu_s),
            count(row.predecessor_calls),
            figure(row.predecessor_s),
        )
        for row in rows
    ]
    title = (
        f"Reading a fleet from OpenShift Cluster Manager: 20 ms a call, {RATE:,} calls a second "
        f"(promised: 5,000 clusters in {WALL_MAX_S:.0f} s)"
    )
    heads = ("CLUSTERS", "FAULTS", "CALLS", "HTTP 429", "WALL s", "CPU s", "ITS CALLS", "ITS s")
    return draw(title, heads, drawn)
