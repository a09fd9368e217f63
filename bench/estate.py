"""What working out an estate costs: its shards, their workloads, and what differs from what runs.

Ten integrations are split by account, in one namespace each. *same* runs what is declared, as it is
nearly always; *image* runs another image everywhere. What runs is what was rendered, with what a
server adds by itself. PLAN renders and compares, as `tidegate plan` does after it has read the
clusters.

There is no peer to be had in Python: the existing manager renders through two other programs. The
floor is the least any manager must do, encoding the same manifests as JSON by the fastest encoder
there is; RATIO is all of the work over that.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from bench.table import Report, count, draw, figure, times
from bench.timing import Best, Effort, best_ms, new_memory
from tidegate.kinds.integrations.core.objects.changes import changes_of
from tidegate.kinds.integrations.core.sharding.model import (
    Integration,
    Managed,
    Namespace,
    Sharding,
    ShardKey,
)
from tidegate.kinds.integrations.core.workloads.change import (
    ClusterReading,
    FoundObject,
    ObjectAction,
)
from tidegate.kinds.integrations.core.workloads.estate import Estate, Piece, estate_of, manifest_of
from tidegate.kinds.integrations.core.workloads.workloads import Manifest
from tidegate.model.problem import Problems

SIZES = (100, 1_000, 10_000)
INTEGRATIONS = 10
CLUSTER = "appsrep05ue1"
RESOURCES = {"requests": {"cpu": "100m", "memory": "200Mi"}, "limits": {"memory": "400Mi"}}
VERBS = {"same": ObjectAction.UNCHANGED, "image": ObjectAction.CONFIGURE}


class Row(msgspec.Struct, frozen=True):
    """One estate, beside one thing that runs."""

    shards: int
    runs: str
    compute_ms: float
    render_ms: float
    plan_ms: float
    floor_ms: float
    ratio: float
    # New bytes a shard, of computing and planning: what stays, and the most on the way; None: not
    # measured.
    kept: int | None
    peak: int | None


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Measure every size beside everything that may run; in a hurry, not the largest."""
    rows = []
    for size in (size for size in SIZES if size <= max(SIZES[0], effort.sizes[-1] // 10)):
        for runs in VERBS:
            say(f"estate: {size:,} shards, runs {runs}")
            rows.append(_measured(size, runs, effort))
    return Report(rows, [_table(rows)])


def _measured(size: int, runs: str, effort: Effort) -> Row:
    estate, seen = _estate(size), _seen(size, runs)
    manifests = _rendered(estate)
    encode = msgspec.json.Encoder().encode
    found = changes_of(estate, seen)
    assert {each.verb for each in found} <= {VERBS[runs], ObjectAction.UNCHANGED}, (
        "not what was meant"
    )
    del found
    best = Best()
    for _ in range(effort.passes):
        for part, work in (
            ("compute", lambda: _estate(size)),
            ("render", lambda: _rendered(estate)),
            ("plan", lambda: changes_of(estate, seen)),
            ("floor", lambda: [encode(each) for each in manifests]),
        ):
            best.note(size, runs, {part: best_ms(work, effort.patience_s)})
    ((_, _, ms),) = best.rows()
    # Of a shard it is the same at every size, and tracing a plan takes long.
    memory = new_memory(lambda: changes_of(_estate(size), seen)) if size < SIZES[-1] else None
    return Row(
        shards=size,
        runs=runs,
        compute_ms=ms["compute"],
        render_ms=ms["render"],
        plan_ms=ms["plan"],
        floor_ms=ms["floor"],
        ratio=(ms["compute"] + ms["plan"]) / ms["floor"],
        kept=round(memory.kept / size) if memory else None,
        peak=round(memory.peak / size) if memory else None,
    )


def _estate(size: int, image: str = "ed21267") -> Estate:
    keys = tuple(_key(i) for i in range(size // INTEGRATIONS))
    problems = Problems()
    every = [_integration(i, image) for i in range(INTEGRATIONS)]
    estate = estate_of(every, {"aws_accounts": keys}, problems)
    assert not problems.errors, problems.errors[0]
    assert sum(1 for place in estate.places for _ in place.shards) == size
    return estate


def _key(i: int) -> ShardKey:
    name = f"account-{i:05d}"
    return ShardKey(name=name, key=name, suffix=name, argument=name)


def _integration(i: int, image: str) -> Integration:
    namespace = Namespace(
        path=f"/namespaces/{i}.yml", name=f"namespace-{i}", cluster=CLUSTER, environment="prod"
    )
    managed = Managed(
        namespace=namespace,
        spec={"resources": RESOURCES, "imageRef": image, "state": True, "extraArgs": "--internal"},
        sharding=Sharding(strategy="per-aws-account"),
        where=f"integrations/{i}.yml:5",
    )
    return Integration(name=f"terraform-{i}", managed=(managed,))


def _rendered(estate: Estate) -> list[Manifest]:
    return [manifest_of(piece, estate.site) for piece in estate.pieces()]


def _seen(size: int, runs: str) -> dict[str, ClusterReading]:
    estate = _estate(size, "ed21267" if runs == "same" else "f929a38")
    return {CLUSTER: ClusterReading(found=tuple(_live(estate.pieces(), estate)))}


def _live(pieces: Iterable[Piece], estate: Estate) -> Iterable[FoundObject]:
    for piece in pieces:
        document = _with_defaults(manifest_of(piece, estate.site))
        yield FoundObject(
            cluster=piece.cluster,
            namespace=piece.namespace,
            kind=piece.kind,
            name=piece.name,
            ours=True,
            document=document,
        )


def _with_defaults(manifest: Manifest) -> dict[str, Any]:
    """A manifest as a server gives it back: a document of its own, with the server's defaults."""
    live: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(manifest))
    live["metadata"] |= {"uid": "0", "resourceVersion": "1", "generation": 1}
    live["status"] = {"observedGeneration": 1, "replicas": 1, "readyReplicas": 1}
    if live["kind"] == "Deployment":
        live["spec"] |= {"progressDeadlineSeconds": 600, "strategy": {"type": "RollingUpdate"}}
        pod = live["spec"]["template"]["spec"]
        pod |= {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "securityContext": {}}
        for container in pod["containers"]:
            container |= {"imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/x"}
        for volume in pod["volumes"]:
            for source in ("secret", "projected"):
                if source in volume:
                    volume[source]["defaultMode"] = 420
    return live


def _table(rows: list[Row]) -> str:
    heads = ("SHARDS", "RUNS", "COMPUTE", "RENDER", "PLAN", "FLOOR", "RATIO", "KEPT B", "PEAK B")
    lines = [
        (
            count(row.shards),
            row.runs,
            figure(row.compute_ms),
            figure(row.render_ms),
            figure(row.plan_ms),
            figure(row.floor_ms),
            times(row.ratio),
            count(row.kept),
            count(row.peak),
        )
        for row in rows
    ]
    title = "An estate, ms of CPU: its shards, their workloads, and what differs from what runs"
    return draw(f"{title}\nRATIO is COMPUTE + PLAN over FLOOR; bytes are a shard's", heads, lines)
