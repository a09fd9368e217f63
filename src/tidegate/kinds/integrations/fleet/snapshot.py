"""What namespaces hold, read once for all callers at the same time.

Many places share a namespace; after a change there it is read again.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable

import msgspec

from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace
from tidegate.kinds.integrations.core.workloads.live import LiveWorkload, Pod, pod_of, workload_of
from tidegate.kubernetes.port import (
    CRON_JOB,
    DEPLOYMENT,
    POD,
    SERVICE,
    STATEFUL_SET,
    Cluster,
    Object,
)
from tidegate.model.errors import OutsideError

WORKLOADS = (DEPLOYMENT, STATEFUL_SET, CRON_JOB)
# A reading so young serves the next caller.
FRESH_S = 1.0

# The cluster of a name; OutsideError if nothing is known of it.
Find = Callable[[str], Cluster]
Where = tuple[str, str]


def where_of(place: ManagedPlace) -> Where:
    """Where a place is."""
    return place.managed.namespace.cluster, place.managed.namespace.name


class NamespaceSnapshot(msgspec.Struct, frozen=True):
    """One reading of one namespace."""

    workloads: dict[str, LiveWorkload]
    # By the workload they are of.
    pods: dict[str, list[Pod]]
    # The documents behind them: workloads by name, pods by uid.
    objects: dict[str, Object]
    # Whether all workloads and pods were read.
    complete: bool
    versions: dict[str, str]
    services: tuple[Object, ...] = ()
    # What could not be read, in words.
    gaps: tuple[str, ...] = ()


class NamespaceSnapshots:
    """Readings of namespaces, each for as long as it is fresh."""

    def __init__(self, find: Find, fresh_s: float = FRESH_S) -> None:
        self.find = find
        self._fresh_s = fresh_s
        # When it began, which one of that namespace it was, and what it found.
        self._known: dict[Where, tuple[float, int, NamespaceSnapshot]] = {}
        self._begun: dict[Where, int] = defaultdict(int)
        # How often something was changed there: a reading from before is not kept.
        self._changes: dict[Where, int] = defaultdict(int)
        self._locks: dict[Where, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._units: dict[tuple[Where, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    def unit(self, where: Where, unit: str) -> asyncio.Lock:
        """Held while a unit is changed: an image and the rest of it are not applied at once."""
        return self._units[where, unit]

    async def of(self, where: Where) -> NamespaceSnapshot:
        """What a namespace holds; OutsideError if nothing of it can be read."""
        loop = asyncio.get_running_loop()
        async with self._locks[where]:
            known = self._known.get(where)
            if known is not None and loop.time() - known[0] < self._fresh_s:
                return known[2]
            return await self._look(where)

    async def anew(self, where: Where) -> NamespaceSnapshot:
        """What it holds by a reading that begins after this; all who wait meanwhile share one."""
        before = self._begun[where]
        async with self._locks[where]:
            known = self._known.get(where)
            if known is not None and known[1] > before:
                return known[2]
            return await self._look(where)

    async def _look(self, where: Where) -> NamespaceSnapshot:
        self._begun[where] += 1
        number, changes = self._begun[where], self._changes[where]
        began = asyncio.get_running_loop().time()
        snapshot = await self._read(where)
        if changes == self._changes[where]:
            self._known[where] = began, number, snapshot
        return snapshot

    def changes(self, where: Where) -> int:
        """How often something was seen to change there."""
        return self._changes[where]

    def forget(self, where: Where) -> None:
        """Something was changed there."""
        self._changes[where] += 1
        self._known.pop(where, None)

    async def _read(self, where: Where) -> NamespaceSnapshot:
        reading = await self.find(where[0]).read(where[1], (*WORKLOADS, POD, SERVICE))
        if POD.name not in reading.versions:
            # Without pods all shards would look stopped.
            raise OutsideError(f"{where[0]}: {where[1]}: pods cannot be read")
        pods: dict[str, list[Pod]] = defaultdict(list)
        workloads: dict[str, LiveWorkload] = {}
        objects: dict[str, Object] = {}
        services: list[Object] = []
        for each in reading.objects:
            if each.kind == SERVICE:
                services.append(each)
            elif each.kind == POD:
                pod = pod_of(each.document)
                pods[pod.workload].append(pod)
                objects[pod.uid] = each
            else:
                workloads[each.name] = workload_of(each.document)
                objects[each.name] = each
        complete = all(kind.name in reading.versions for kind in (*WORKLOADS, POD))
        return NamespaceSnapshot(
            workloads,
            dict(pods),
            objects,
            complete,
            dict(reading.versions),
            tuple(services),
            reading.gaps,
        )
