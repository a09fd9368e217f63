"""A hundred policies on every cluster: what a worker reads, keeps and writes, and its cost idle.

On the same hub without its propagator, which would take an hour for 100,000 replicas: they are put
straight into the server's store, each a copy of a real one, as a propagator and agents left them.
Pointers are answered by the agents, as if it had been propagated.

    start   a worker with an empty journal, until every Rollout says that its revision is everywhere
    idle    nothing moves
    edit    one policy of the hundred is edited, until it is everywhere

The propagator's own rate, measured beside it, bounds how many rollouts an hour there can be: LOAD
is the share of one core that Tidegate would use for as many.
"""

import asyncio
import base64
import copy
import json
import time
import urllib.request
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bench.hub import PATIENCE_S, ROLLOUTS, HubBench, Worker, policy_spec, worker
from bench.hub_agents import Agents, compliance
from bench.table import count, draw, figure
from tests.real.hub import PLACEMENTS, POLICIES
from tidegate.kinds.policies.core.names import (
    CLUSTER_LABEL,
    DECISION_GROUP,
    DECISION_INDEX,
    DECISION_PLACEMENT,
    PLACEMENT,
    POINTER_MANAGER,
    ROOT_POLICY,
    SCHEDULING_OFF,
    own_placement,
    pointer_map,
)
from tidegate.kinds.policies.core.placement import DECISION_CLUSTERS_MAX
from tidegate.kinds.policies.core.revision import (
    AuthorPolicy,
    frame_of,
    revision_object,
    revision_of,
    root_object,
)
from tidegate.kubernetes.port import POLICY

POLICIES_EACH = 100
# etcd takes no more in one transaction.
BATCH = 100
IDLE_S = 30.0
# 100,000 replicas are read in pages of 500, and a busy server takes a second and more for each.
START_S_MAX = 1_200.0


class ScaleRow(msgspec.Struct, frozen=True):
    """One number of clusters."""

    clusters: int
    policies: int
    start_s: float
    start_cpu_s: float
    start_reads: int
    megabytes: float
    peak_megabytes: float
    # A minute of nothing.
    idle_cpu_ms: float
    idle_calls: float
    edit_s: float
    edit_cpu_s: float
    edit_writes: int
    edit_reads: int
    # Rollouts an hour that the propagator leaves room for, and our share of a core then.
    an_hour: float
    load: float


class Estate:
    """A namespace with a hundred policies, all staged, on some clusters."""

    def __init__(self, bench: HubBench, clusters: tuple[str, ...], label: str, groups: int) -> None:
        self._bench = bench
        self._label = label
        self._groups = [f"g{number}" for number in range(groups)]
        self.clusters = clusters
        self.namespace = f"s{len(clusters)}"
        self.source = f"{self.namespace}-source"
        self.policies = [f"p{number:03d}" for number in range(POLICIES_EACH)]
        self.revisions = {each: revision_of(policy_spec(each, "0")) for each in self.policies}

    async def build(self, etcd: str, prototype: Mapping[str, Any]) -> None:
        """Write all of it, its replicas into the store of the server."""
        bench = self._bench
        await bench.place(self.namespace, self._label, self._groups)
        await bench.ask("POST", "/api/v1/namespaces", {"metadata": {"name": self.source}})
        await asyncio.gather(*map(self._write_policy, self.policies))
        await asyncio.gather(*map(self._write_pointers, self.clusters))
        for cluster in self.clusters:
            replicas = [self._replica(prototype, cluster, each) for each in self.policies]
            await asyncio.to_thread(_put, etcd, replicas)
        await asyncio.gather(
            *(bench.roll_out(self.namespace, each, self.source) for each in self.policies)
        )

    async def _write_policy(self, name: str) -> None:
        bench, where = self._bench, f"namespaces/{self.namespace}"
        spec, revision = policy_spec(name, "0"), self.revisions[name]
        await bench.write_policy(self.source, name, "0", "POST")
        document = revision_object(self.namespace, name, revision)
        await bench.ask("POST", f"/api/v1/{where}/configmaps", document)
        author = AuthorPolicy(self.source, name, spec)
        root = root_object(author, frame_of(spec), self.namespace, name)
        await bench.ask("POST", f"{POLICIES}/{where}/policies", root)
        own, group = own_placement(name), "cluster.open-cluster-management.io"
        head = {"apiVersion": f"{group}/v1beta1", "kind": "Placement"}
        metadata = {"name": own, "annotations": {SCHEDULING_OFF: "true"}}
        placement = {**head, "metadata": metadata, "spec": {}}
        await bench.ask("POST", f"{PLACEMENTS}/{where}/placements", placement)
        for at in range(0, len(self.clusters), DECISION_CLUSTERS_MAX):
            some = self.clusters[at : at + DECISION_CLUSTERS_MAX]
            labels = {DECISION_PLACEMENT: own, DECISION_GROUP: "", DECISION_INDEX: "0"}
            part = f"{own}-decision-{at // DECISION_CLUSTERS_MAX + 1}"
            decision = {
                "apiVersion": f"{group}/v1beta1",
                "kind": "PlacementDecision",
                "metadata": {"name": part, "labels": labels},
            }
            path = f"{PLACEMENTS}/{where}/placementdecisions"
            await bench.ask("POST", path, decision)
            chosen = [{"clusterName": each, "reason": ""} for each in some]
            status = {"status": {"decisions": chosen}}
            await bench.ask("PATCH", f"{path}/{part}/status", status)
        await bench.bind(self.namespace, name, own, {PLACEMENT: "fleet"})

    async def _write_pointers(self, cluster: str) -> None:
        """The pointers of a cluster, as so many rollouts have written them."""
        fields: dict[str, Any] = {
            "f:data": {f"f:{each}": {} for each in self.policies},
            "f:metadata": {"f:labels": {f"f:{CLUSTER_LABEL}": {}}},
        }
        owner = {
            "manager": POINTER_MANAGER,
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        document = {
            "metadata": {
                "name": pointer_map(cluster),
                "labels": {CLUSTER_LABEL: cluster},
            },
            "data": {name: revision.name for name, revision in self.revisions.items()},
        }
        path = f"/api/v1/namespaces/{self.namespace}/configmaps"
        await self._bench.ask("POST", path, document)
        await self._bench.own(f"{path}/{pointer_map(cluster)}", [owner])

    def _replica(self, prototype: Mapping[str, Any], cluster: str, policy: str) -> dict[str, Any]:
        """A replica as the hub made one, with other names."""
        found: dict[str, Any] = copy.deepcopy(dict(prototype))
        metadata, name = found["metadata"], f"{self.namespace}.{policy}"
        metadata |= {"namespace": cluster, "name": name, "uid": str(uuid.uuid4())}
        metadata["labels"] |= {
            ROOT_POLICY: name,
            "policy.open-cluster-management.io/cluster-name": cluster,
            "policy.open-cluster-management.io/cluster-namespace": cluster,
        }
        for field in ("resourceVersion", "selfLink"):
            metadata.pop(field, None)
        revision = self.revisions[policy]
        for template in found["spec"]["policy-templates"]:
            template["objectDefinition"]["metadata"]["name"] = policy
        said = f"Compliant; [rev {revision.name}] notification - configmaps found as specified"
        found["status"] = compliance({policy: said}, {})
        return found


def _put(etcd: str, documents: list[dict[str, Any]]) -> None:
    """Put objects of a defined kind straight into the store."""
    for at in range(0, len(documents), BATCH):
        puts = [{"requestPut": _entry(each)} for each in documents[at : at + BATCH]]
        body = json.dumps({"success": puts}).encode()
        request = urllib.request.Request(f"{etcd}/v3/kv/txn", body)
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()


def _entry(document: dict[str, Any]) -> dict[str, str]:
    metadata = document["metadata"]
    group = POLICY.api_version.partition("/")[0]
    key = f"/hub/{group}/{POLICY.plural}/{metadata['namespace']}/{metadata['name']}"
    pair = {"key": key.encode(), "value": msgspec.json.encode(document)}
    return {name: base64.b64encode(text).decode() for name, text in pair.items()}


async def measure_estate(
    bench: HubBench,
    etcd: str,
    folder: Path,
    estate: Estate,
    prototype: Mapping[str, Any],
    per_s: float,
    say: Callable[[str], None],
) -> ScaleRow:
    """One size; `per_s` is what the propagator resolves in a second."""
    size = f"{len(estate.clusters):,} clusters × {POLICIES_EACH} policies"
    say(f"policies: {size}: writing them")
    await estate.build(etcd, prototype)
    agents = Agents(bench.plane.access())
    await agents.start(propagates=True)
    say(f"policies: {size}: starting a worker")
    mark, began_s = bench.audited(), time.monotonic()
    try:
        with worker(bench, folder / estate.namespace) as process:
            await _everywhere(bench, estate, len(estate.policies), patience_s=START_S_MAX)
            start_s, start_cpu_s = time.monotonic() - began_s, process.cpu_s()
            reads = sum(each.verb in ("get", "list") for each in bench.calls(mark))
            say(f"policies: {size}: idle")
            idle_cpu_s, idle_calls = await _idle(bench, process)
            say(f"policies: {size}: an edit")
            megabytes = process.megabytes()
            mark, began_s, before = bench.audited(), time.monotonic(), process.cpu_s()
            first = estate.policies[0]
            await bench.write_policy(estate.source, first, "1", "PATCH")
            wanted = revision_of(policy_spec(first, "1")).name
            name = f"{estate.namespace}.{first}"
            await agents.all_said(POLICY, name, wanted, list(estate.clusters), PATIENCE_S)
            await _everywhere(bench, estate, 1, wanted)
            edit_s, edit_cpu_s = time.monotonic() - began_s, process.cpu_s() - before
            peak = process.megabytes("VmHWM")
    finally:
        await agents.stop()
    calls = bench.calls(mark)
    writes = sum(each.verb not in ("get", "list") for each in calls)
    an_hour = per_s * 3600 / len(estate.clusters)
    return ScaleRow(
        clusters=len(estate.clusters),
        policies=POLICIES_EACH,
        start_s=start_s,
        start_cpu_s=start_cpu_s,
        start_reads=reads,
        megabytes=megabytes,
        peak_megabytes=peak,
        idle_cpu_ms=idle_cpu_s * 60_000,
        idle_calls=idle_calls * 60,
        edit_s=edit_s,
        edit_cpu_s=edit_cpu_s,
        edit_writes=writes,
        edit_reads=len(calls) - writes,
        an_hour=an_hour,
        load=an_hour * edit_cpu_s / 3600,
    )


async def _idle(bench: HubBench, process: Worker) -> tuple[float, float]:
    """CPU seconds and calls in a second of nothing."""
    # What the start left behind is done by then.
    await asyncio.sleep(5)
    mark, began_s, before = bench.audited(), time.monotonic(), process.cpu_s()
    await asyncio.sleep(IDLE_S)
    took_s = time.monotonic() - began_s
    return (process.cpu_s() - before) / took_s, len(bench.calls(mark)) / took_s


async def _everywhere(
    bench: HubBench,
    estate: Estate,
    wanted: int,
    revision: str = "",
    patience_s: float = PATIENCE_S,
) -> None:
    """Until so many Rollouts say that their revision is everywhere; maybe this one."""
    async with asyncio.timeout(patience_s):
        while True:
            found = await bench.ask("GET", f"{ROLLOUTS}/namespaces/{estate.namespace}/rollouts")
            states = [each.get("status") or {} for each in found["items"]]
            done = [each for each in states if each.get("rolloutStatus") == "Succeeded"]
            if sum(revision in ("", each.get("revision")) for each in done) >= wanted:
                return
            await asyncio.sleep(0.5)


async def clear_estate(bench: HubBench, estate: Estate) -> None:
    """Leave nothing that the next size would read."""
    where = f"namespaces/{estate.namespace}"
    for path in (
        f"{ROLLOUTS}/{where}/rollouts",
        f"{POLICIES}/{where}/placementbindings",
        f"{POLICIES}/{where}/policies",
        f"/api/v1/{where}/configmaps",
    ):
        await bench.ask("DELETE", path)
    each = (f"{POLICIES}/namespaces/{cluster}/policies" for cluster in estate.clusters)
    await asyncio.gather(*(bench.ask("DELETE", path) for path in each))


def start_table(rows: list[ScaleRow]) -> str:
    """What a worker takes for as many."""
    heads = (
        "CLUSTERS", "POLICIES", "START S", "CPU S", "READS", "MB", "PEAK MB",
        "IDLE CPU MS/MIN", "CALLS/MIN",
    )  # fmt: skip
    lines = [
        (
            count(row.clusters),
            count(row.policies),
            figure(row.start_s),
            figure(row.start_cpu_s),
            count(row.start_reads),
            figure(row.megabytes),
            figure(row.peak_megabytes),
            figure(row.idle_cpu_ms),
            figure(row.idle_calls),
        )
        for row in rows
    ]
    return draw("Policies: a worker of a hundred, started and idle", heads, lines)


def edit_table(rows: list[ScaleRow]) -> str:
    """What one edit takes beside the others."""
    heads = ("CLUSTERS", "POLICIES", "EDIT S", "WRITES", "READS", "CPU S", "ROOM/HOUR", "LOAD")
    lines = [
        (
            count(row.clusters),
            count(row.policies),
            figure(row.edit_s),
            count(row.edit_writes),
            count(row.edit_reads),
            figure(row.edit_cpu_s),
            figure(row.an_hour),
            f"{row.load:.0%}",
        )
        for row in rows
    ]
    return draw("Policies: one of a hundred is edited", heads, lines)
