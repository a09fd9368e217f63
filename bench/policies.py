"""Policies on a real hub: an edit until every cluster is compliant with it, beside OCM's own.

On one hub, with the same simulated agents (0.5 s) and the same groups, one after the other:

    replica set   a ManifestWorkReplicaSet is edited; the hub's work manager goes group by group
    bare script   pointers written as fast as the hub takes them; it knows at once what agents say
    tidegate      the author's Policy is edited; `tidegate run --hub --act` does the rest

A cluster counts once its agent has said so to the hub: of a policy with the stamp of the revision,
of a work at the value that was written. The bare script is the least that staged revisions can
take: what is above it is ours. Our own latency is the time from what we could know (the edit, or
the last answer of the group before) to the first and to the last pointer of the next group, by the
agents' own record and the server's audit log.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import msgspec
from msgspec.structs import replace

from bench.hub import PATIENCE_S, ROLLOUTS, WORKS, Call, HubBench, adopt, worker
from bench.hub_agents import WORK, Agents
from bench.pointer_cost import PointerRow, measure_pointers, pointer_table
from bench.policy_scale import (
    Estate,
    ScaleRow,
    clear_estate,
    edit_table,
    measure_estate,
    start_table,
)
from bench.table import Report, count, draw, figure, times
from bench.timing import Effort
from tests.real.hub import POLICIES
from tests.real.hub import found as found_hub
from tests.real.kube import found, kubernetes
from tidegate.kinds.policies.core.names import pointer_map
from tidegate.kinds.policies.core.revision import revision_object, revision_of
from tidegate.kubernetes.port import POLICY, ResourceKind

# Clusters, groups, and how often each side is measured: the best counts.
SIZES = ((60, 3, 3), (250, 5, 2), (1_000, 10, 1))
# A worker has decided everything once by then.
CALM_S = 2.0
RATIO_MAX = 1.5
FIRST_S_MAX, ALL_S_MAX = 5.0, 45.0


class Row(msgspec.Struct, frozen=True):
    """One side at one size."""

    clusters: int
    groups: int
    side: str
    first_s: float
    all_s: float
    # Of the replica set's time, and of the bare script's.
    of_works: float | None = None
    of_bare: float | None = None
    # From what could be known to the first, and to the last pointer of a group: the median and the
    # slowest group.
    begun_ms: float | None = None
    begun_max_ms: float | None = None
    ended_ms: float | None = None
    ended_max_ms: float | None = None
    writes: int | None = None
    reads: int | None = None
    cpu_s: float | None = None
    megabytes: float | None = None


class Fleet(msgspec.Struct, frozen=True):
    """The clusters of one size, by group, and the namespace of what is rolled out to them."""

    namespace: str
    groups: tuple[tuple[str, ...], ...]

    @property
    def clusters(self) -> list[str]:
        """All of them."""
        return [each for group in self.groups for each in group]

    @property
    def source(self) -> str:
        """The namespace of the author's policy."""
        return f"{self.namespace}-source"

    @property
    def replica(self) -> str:
        """What the policy is called on clusters."""
        return f"{self.namespace}.web"


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """All sizes on one hub; nothing where the programs are not."""
    programs, hub = found(), found_hub()
    if programs is None or hub is None:
        say("no Open Cluster Management hub here (dev/kube/build, dev/hub/build): not measured")
        return Report([], ["Policies: not measured, as there is no hub here (dev/hub/build)"])
    sizes = SIZES if effort.peer else SIZES[:1]
    say("policies: starting a hub")
    with tempfile.TemporaryDirectory() as folder, kubernetes(programs, Path(folder)) as servers:
        bench = HubBench(servers, hub, Path(folder))
        measured = asyncio.run(_measure(bench, servers.etcd.url, Path(folder), sizes, say))
    rows, large, pointers = measured
    tables = [_table(rows), _latency_table(rows), start_table(large), edit_table(large)]
    return Report([*rows, *large, *pointers], [*tables, pointer_table(pointers)])


async def _measure(
    bench: HubBench,
    etcd: str,
    folder: Path,
    sizes: tuple[tuple[int, int, int], ...],
    say: Callable[[str], None],
) -> tuple[list[Row], list[ScaleRow], list[PointerRow]]:
    agents = Agents(bench.plane.access())
    rows: list[Row] = []
    large: list[ScaleRow] = []
    fleets: list[Fleet] = []
    try:
        await bench.define()
        say("policies: what a pointer costs the server")
        pointers = await measure_pointers(bench)
        await agents.start()
        for clusters, groups, passes in sizes:
            fleet = await _prepare(bench, agents, folder, clusters, groups, say)
            fleets.append(fleet)
            rows += await _compare(bench, agents, fleet, folder, passes, say)
            where = f"{POLICIES}/namespaces/{fleet.clusters[0]}/policies/{fleet.replica}"
            prototype = await bench.ask("GET", where)
            await _clear(bench, fleet)
        await agents.stop()
        bench.hub.propagator.stop()
        per_s = max(row.clusters / row.all_s for row in rows if row.side == BARE)
        for fleet in fleets:
            estate = Estate(bench, tuple(fleet.clusters), fleet.namespace, len(fleet.groups))
            large.append(await measure_estate(bench, etcd, folder, estate, prototype, per_s, say))
            # After the last one, the whole hub goes.
            if fleet is not fleets[-1]:
                await clear_estate(bench, estate)
    finally:
        await agents.stop()
        await bench.close()
    return rows, large, pointers


async def _prepare(
    bench: HubBench,
    agents: Agents,
    folder: Path,
    clusters: int,
    groups: int,
    say: Callable[[str], None],
) -> Fleet:
    """Clusters in groups, with a work and a policy of the first revision, taken over."""
    say(f"policies: {clusters:,} clusters in {groups} groups")
    namespace = f"p{clusters}"
    names = [f"c{number:04d}" for number in range(clusters)]
    group_of = {name: f"g{at * groups // clusters}" for at, name in enumerate(names)}
    await bench.declare({name: {namespace: group} for name, group in group_of.items()})
    known = [f"g{number}" for number in range(groups)]
    await bench.place(namespace, namespace, known)
    fleet = Fleet(namespace, tuple(tuple(n for n in names if group_of[n] == g) for g in known))
    await bench.ask("POST", "/api/v1/namespaces", {"metadata": {"name": fleet.source}})
    await bench.write_works(namespace, "0", "POST")
    await agents.all_said(WORK, "web", "0", fleet.clusters, PATIENCE_S)
    await bench.write_policy(fleet.source, "web", "0", "POST")
    await bench.write_policy(namespace, "web", "0", "POST")
    await bench.bind(namespace, "web")
    await agents.all_said(POLICY, fleet.replica, "", fleet.clusters, PATIENCE_S)
    await bench.roll_out(namespace, "web", fleet.source)
    say(f"policies: {clusters:,} clusters: taking the policy over")
    await asyncio.to_thread(adopt, bench, folder / namespace, fleet.replica)
    await agents.all_said(
        POLICY, fleet.replica, await _wanted(bench, fleet), fleet.clusters, PATIENCE_S
    )
    return fleet


async def _clear(bench: HubBench, fleet: Fleet) -> None:
    """Leave nothing that the next size would wait for."""
    for path in (
        f"{ROLLOUTS}/namespaces/{fleet.namespace}/rollouts/web",
        f"{POLICIES}/namespaces/{fleet.namespace}/placementbindings/web",
        f"{POLICIES}/namespaces/{fleet.namespace}/policies/web",
        f"{WORKS}/namespaces/{fleet.namespace}/manifestworkreplicasets/web",
        f"/api/v1/namespaces/{fleet.namespace}/configmaps",
    ):
        await bench.ask("DELETE", path)


async def _wanted(bench: HubBench, fleet: Fleet) -> str:
    """The name of the revision that the author's policy is."""
    found = await bench.ask("GET", f"{POLICIES}/namespaces/{fleet.source}/policies/web")
    return revision_of(found["spec"]).name


async def _compare(
    bench: HubBench,
    agents: Agents,
    fleet: Fleet,
    folder: Path,
    passes: int,
    say: Callable[[str], None],
) -> list[Row]:
    """Every side in turn, so that whatever else the machine does befalls all."""
    best: dict[str, Row] = {}
    size = f"{len(fleet.clusters):,} clusters"
    for number in range(passes):
        value = str(number + 1)
        for side, measure in SIDES.items():
            say(f"policies: {size}: {side}, pass {number + 1} of {passes}")
            row = await measure(bench, agents, fleet, folder, f"{value} {side}")
            if side not in best or row.all_s < best[side].all_s:
                best[side] = row
    works, bare = best[REPLICA_SET].all_s, best[BARE].all_s
    return [
        replace(row, of_works=row.all_s / works, of_bare=row.all_s / bare) for row in best.values()
    ]


def _row(
    agents: Agents, fleet: Fleet, side: str, kind: ResourceKind, name: str, edited_s: float
) -> Row:
    """When the first group and all clusters had said so, after the edit."""
    said = agents.said[kind.name, name]
    ends = [max(said[each].said_s for each in group) - edited_s for group in fleet.groups]
    return Row(len(fleet.clusters), len(fleet.groups), side, ends[0], max(ends))


async def _works(bench: HubBench, agents: Agents, fleet: Fleet, _folder: Path, value: str) -> Row:
    edited_s = time.time()
    await bench.write_works(fleet.namespace, value, "PATCH")
    await agents.all_said(WORK, "web", value, fleet.clusters, PATIENCE_S)
    return _row(agents, fleet, REPLICA_SET, WORK, "web", edited_s)


async def _bare(bench: HubBench, agents: Agents, fleet: Fleet, _folder: Path, value: str) -> Row:
    edited_s = time.time()
    await bench.write_policy(fleet.source, "web", value, "PATCH")
    found = await bench.ask("GET", f"{POLICIES}/namespaces/{fleet.source}/policies/web")
    revision = revision_of(found["spec"])
    maps = f"/api/v1/namespaces/{fleet.namespace}/configmaps"
    await bench.ask("POST", maps, revision_object(fleet.namespace, "web", revision))

    async def point(cluster: str) -> None:
        await bench.ask("PATCH", f"{maps}/{pointer_map(cluster)}", {"data": {"web": revision.name}})

    for group in fleet.groups:
        await asyncio.gather(*map(point, group))
        await agents.all_said(POLICY, fleet.replica, revision.name, list(group), PATIENCE_S)
    return _row(agents, fleet, BARE, POLICY, fleet.replica, edited_s)


async def _tidegate(bench: HubBench, agents: Agents, fleet: Fleet, folder: Path, value: str) -> Row:
    mark = bench.audited()
    with worker(bench, folder / fleet.namespace) as process:
        await bench.watched(mark)
        await asyncio.sleep(CALM_S)
        await _settled(bench, fleet, await _wanted(bench, fleet))
        mark, cpu_s = bench.audited(), process.cpu_s()
        edited_s = time.time()
        await bench.write_policy(fleet.source, "web", value, "PATCH")
        revision = await _wanted(bench, fleet)
        await agents.all_said(POLICY, fleet.replica, revision, fleet.clusters, PATIENCE_S)
        await _settled(bench, fleet, revision)
        cpu_s = process.cpu_s() - cpu_s
        megabytes = process.megabytes("VmHWM")
    row = _row(agents, fleet, TIDEGATE, POLICY, fleet.replica, edited_s)
    calls = bench.calls(mark)
    begun, ended = _latencies(agents, fleet, calls, edited_s)
    changes = [each for each in calls if each.verb not in ("get", "list")]
    return replace(
        row,
        begun_ms=median(begun),
        begun_max_ms=max(begun),
        ended_ms=median(ended),
        ended_max_ms=max(ended),
        writes=len(changes),
        reads=len(calls) - len(changes),
        cpu_s=cpu_s,
        megabytes=megabytes,
    )


async def _settled(bench: HubBench, fleet: Fleet, revision: str) -> None:
    """Until the Rollout object says that a revision is everywhere."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = await bench.ask("GET", f"{ROLLOUTS}/namespaces/{fleet.namespace}/rollouts/web")
            status = found.get("status") or {}
            if (status.get("rolloutStatus"), status.get("revision")) == ("Succeeded", revision):
                return
            await asyncio.sleep(0.1)


def _latencies(
    agents: Agents, fleet: Fleet, calls: list[Call], edited_s: float
) -> tuple[list[float], list[float]]:
    """From what could be known to the first, and to the last pointer of each group; ms."""
    said = agents.said[POLICY.name, fleet.replica]
    written = {each.name: each for each in calls if each.resource == "configmaps"}
    firsts: list[float] = []
    lasts: list[float] = []
    known_s = edited_s
    for group in fleet.groups:
        writes = [written[pointer_map(each)] for each in group]
        firsts.append((min(each.begun_s for each in writes) - known_s) * 1000)
        lasts.append((max(each.ended_s for each in writes) - known_s) * 1000)
        known_s = max(said[each].said_s for each in group)
    return firsts, lasts


REPLICA_SET, BARE, TIDEGATE = "replica set", "bare script", "tidegate"
SIDES = {REPLICA_SET: _works, BARE: _bare, TIDEGATE: _tidegate}


def _table(rows: list[Row]) -> str:
    heads = ("CLUSTERS", "GROUPS", "SIDE", "FIRST S", "ALL S", "OF WORKS", "OF BARE", "GOAL")
    lines = [
        (
            count(row.clusters),
            count(row.groups),
            row.side,
            figure(row.first_s),
            figure(row.all_s),
            times(row.of_works),
            times(row.of_bare),
            _goal(row),
        )
        for row in rows
    ]
    return draw("Policies: an edit until every cluster is compliant with it", heads, lines)


def _latency_table(rows: list[Row]) -> str:
    heads = (
        "CLUSTERS", "BEGUN MS", "WORST", "ENDED MS", "WORST", "WRITES", "READS", "CPU S", "MB",
    )  # fmt: skip
    lines = [
        (
            count(row.clusters),
            figure(row.begun_ms),
            figure(row.begun_max_ms),
            figure(row.ended_ms),
            figure(row.ended_max_ms),
            count(row.writes),
            count(row.reads),
            figure(row.cpu_s),
            figure(row.megabytes),
        )
        for row in rows
        if row.writes is not None
    ]
    return draw("Policies: what Tidegate itself adds, calls and takes", heads, lines)


def _goal(row: Row) -> str:
    if row.side != TIDEGATE:
        return "-"
    if row.clusters == SIZES[0][0]:
        kept = row.of_works is not None and row.of_works <= RATIO_MAX
        return f"{RATIO_MAX:g}× of works: {'kept' if kept else 'missed'}"
    if row.clusters == SIZES[-1][0]:
        kept = row.first_s <= FIRST_S_MAX and row.all_s <= ALL_S_MAX
        return f"{FIRST_S_MAX:g} s and {ALL_S_MAX:g} s: {'kept' if kept else 'missed'}"
    return "-"
