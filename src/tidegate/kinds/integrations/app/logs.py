"""The log lines of shards, each with the shard and the image that wrote it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import msgspec

from tidegate.kinds.integrations.app.estate import FindCluster, open_clusters
from tidegate.kinds.integrations.app.shards import Units
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace, Unit
from tidegate.kinds.integrations.core.workloads.live import CONTAINER, Pod
from tidegate.kinds.integrations.fleet.snapshot import NamespaceSnapshots, where_of
from tidegate.model.errors import OutsideError
from tidegate.registry.image import tag_of

# Called with the shard and image, and a line that they wrote.
OnLine = Callable[[str, str], None]


class LogRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which lines to read."""

    follow: bool = False
    # Only so many of the last lines; None: all.
    tail: int | None = None
    container: str = CONTAINER


async def read_logs(
    units: Units, find: FindCluster, request: LogRequest, on_line: OnLine
) -> tuple[str, ...]:
    """Pass every line on as it arrives; what could not be read."""
    names = dict.fromkeys(place.managed.namespace.cluster for place, _ in units)
    opened, shut = open_clusters(names, find)
    troubles = list(shut.values())
    snapshots = NamespaceSnapshots(lambda name: opened[name])
    readers: list[asyncio.Task[str]] = []
    # A shard that runs in several environments is shown with each.
    twice = len({unit.name for _, unit in units}) < len(units)
    for place, unit in units:
        cluster, namespace = where_of(place)
        if cluster not in opened:
            continue
        try:
            pods = await _pods(snapshots, place, unit)
        except OutsideError as error:
            troubles.append(str(error))
            continue
        if not pods:
            troubles.append(f"{unit.name}: nothing runs in {cluster}/{namespace}")
        for pod in pods:
            lines = opened[cluster].logs(
                namespace, pod.name, request.container, follow=request.follow, tail=request.tail
            )
            source = _source(unit, pod)
            if twice:
                source = f"{place.managed.namespace.environment} {source}"
            readers.append(asyncio.create_task(_read(source, lines, on_line)))
    troubles += [why for why in await asyncio.gather(*readers) if why]
    return tuple(dict.fromkeys(troubles))


async def _pods(snapshots: NamespaceSnapshots, place: ManagedPlace, unit: Unit) -> list[Pod]:
    snapshot = await snapshots.of(where_of(place))
    every = (pod for shard in unit.shards for pod in snapshot.pods.get(shard.workload, ()))
    return [pod for pod in every if not pod.ending]


def _source(unit: Unit, pod: Pod) -> str:
    """The shard, which of its parts, and the image."""
    part = f"[{pod.env.get('SHARD_ID', '?')}]" if len(unit.shards) > 1 else ""
    return f"{unit.name}{part} {tag_of(pod.image) or pod.image}"


async def _read(source: str, lines: AsyncGenerator[str, None], on_line: OnLine) -> str:
    """Pass the lines of one pod on; why there are no more."""
    try:
        async with aclosing(lines):
            async for line in lines:
                on_line(source, line)
    except OutsideError as error:
        return f"{source}: {error}"
    return ""
