"""What a pointer costs the API server, by how many policies share a cluster's map.

    set      as Tidegate writes it: one entry, tested and set under one manager
    applied  as it was: server-side apply under a manager for each policy
    taken    the first write to a map that was applied so, which takes all of it over

CPU of the server's own process, so that other work on the machine does not matter much.
"""

from collections.abc import Awaitable, Callable

import msgspec

from bench.hub import HubBench, cpu_of
from bench.table import count, draw, figure
from tidegate.kinds.policies.core.names import POINTER_MANAGER, manager_of
from tidegate.kinds.policies.core.revision import pointer_head
from tidegate.kubernetes.client.cluster import KubernetesCluster
from tidegate.kubernetes.port import Take

NAMESPACE = "default"
SHARING = (1, 10, 100)
# As many writes are counted together: a clock tick is ten milliseconds.
SETS, APPLIES, MAPS = 200, 20, 5


class PointerRow(msgspec.Struct, frozen=True):
    """One number of policies that share a map; milliseconds of the server's CPU a write."""

    policies: int
    set_ms: float
    applied_ms: float
    taken_ms: float


async def measure_pointers(bench: HubBench) -> list[PointerRow]:
    """Every number of policies, each in maps of its own."""
    cluster = KubernetesCluster(bench.plane.access())
    try:
        return [await _measure(bench, cluster, number) for number in SHARING]
    finally:
        await cluster.close()


async def _measure(bench: HubBench, cluster: KubernetesCluster, number: int) -> PointerRow:
    names = [f"p{at:03d}" for at in range(number)]
    pointers = cluster.under(POINTER_MANAGER)
    head = pointer_head(NAMESPACE, f"set-{number}")
    await pointers.set_entries(head, dict.fromkeys(names, "0"), seen={})

    async def set_one(at: int) -> None:
        value, seen = {names[0]: str(at + 1)}, {names[0]: str(at)}
        await pointers.set_entries(head, value, seen=seen)

    applied = [pointer_head(NAMESPACE, f"applied-{number}-{at}") for at in range(MAPS)]
    for each in applied:
        for name in names:
            owner = cluster.under(manager_of(NAMESPACE, name))
            await owner.apply({**each, "data": {name: "0"}})
    owner = cluster.under(manager_of(NAMESPACE, names[0]))

    async def apply_one(at: int) -> None:
        await owner.apply({**applied[0], "data": {names[0]: str(at + 1)}}, take=Take.OVER)

    async def take_one(at: int) -> None:
        seen = {names[0]: str(APPLIES) if at == 0 else "0"}
        former = manager_of(NAMESPACE, "")
        await pointers.set_entries(applied[at], {names[0]: "end"}, seen=seen, former=former)

    return PointerRow(
        policies=number,
        set_ms=await _cost_ms(bench, set_one, SETS),
        applied_ms=await _cost_ms(bench, apply_one, APPLIES),
        taken_ms=await _cost_ms(bench, take_one, MAPS),
    )


async def _cost_ms(bench: HubBench, write: Callable[[int], Awaitable[None]], times: int) -> float:
    assert bench.plane.api is not None
    before = cpu_of(bench.plane.api.pid)
    for at in range(times):
        await write(at)
    return (cpu_of(bench.plane.api.pid) - before) * 1000 / times


def pointer_table(rows: list[PointerRow]) -> str:
    """What a pointer costs the server."""
    lines = [
        (count(row.policies), figure(row.set_ms), figure(row.applied_ms), figure(row.taken_ms))
        for row in rows
    ]
    heads = ("POLICIES", "SET MS", "APPLIED MS", "TAKEN OVER MS")
    return draw("Policies: the server's CPU for a pointer", heads, lines)
