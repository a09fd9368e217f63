"""Namespaces are read once for all who ask at the same time, and anew before an act."""

import asyncio
from collections.abc import Sequence

from tests.estates import Land
from tidegate.kinds.integrations.fleet.snapshot import NamespaceSnapshot, NamespaceSnapshots
from tidegate.kubernetes.port import ObjectReading, ResourceKind
from tidegate.kubernetes.simulated.cluster import SimulatedCluster

WHERE = ("c1", "ns")


class Slow(SimulatedCluster):
    """Lets others ask while it reads, and counts."""

    readings = 0

    async def read(
        self, namespace: str, kinds: Sequence[ResourceKind], selector: str = ""
    ) -> ObjectReading:
        self.readings += 1
        await asyncio.sleep(0.01)
        return await super().read(namespace, kinds, selector)


def slow() -> tuple[Slow, NamespaceSnapshots]:
    """A cluster that counts, and its readings."""
    cluster = Slow(Land("c1").apis["c1"])
    return cluster, NamespaceSnapshots(lambda _: cluster, fresh_s=60.0)


def test_many_who_act_at_once_share_one_reading_that_begins_after_they_asked() -> None:
    """A set of fifty shards is drained on two readings, not on fifty in a row.

    The first to ask begins one at once; to the other 49, who ask while it is under way, it is old.
    """

    async def look() -> int:
        cluster, snapshots = slow()
        await snapshots.of(WHERE)  # fresh for a minute, and too old for the one that acts
        found = await asyncio.gather(*(snapshots.anew(WHERE) for _ in range(50)))
        assert all(each is found[1] for each in found[1:])
        return cluster.readings

    assert asyncio.run(look()) == 1 + 2


def test_a_reading_under_way_is_too_old_for_a_caller_that_asks_anew() -> None:
    """It may have seen what was there before they were asked to act."""

    async def look() -> tuple[NamespaceSnapshot, NamespaceSnapshot, int]:
        cluster, snapshots = slow()
        first = asyncio.create_task(snapshots.of(WHERE))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert cluster.readings == 1
        return await first, await snapshots.anew(WHERE), cluster.readings

    old, new, readings = asyncio.run(look())
    assert old is not new
    assert readings == 2


def test_what_was_changed_meanwhile_is_read_again() -> None:
    """A caller that asks anew after a change gets nothing from before it."""

    async def look() -> int:
        cluster, snapshots = slow()
        await snapshots.anew(WHERE)
        snapshots.forget(WHERE)
        await snapshots.anew(WHERE)
        return cluster.readings

    assert asyncio.run(look()) == 2
