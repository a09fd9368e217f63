"""Carries resharding out: the old set ends, and none of the new one starts before it has."""

from collections.abc import Iterator

import msgspec

from tidegate.kinds.integrations.core.waves.reshape import (
    KeyOwner,
    Reshape,
    declared_of,
    drain_target,
    drained_workload,
    image_in,
    owners_of,
    reshapes_of,
    share_of,
    share_of_workload,
    still_there,
    waits_for,
)
from tidegate.kinds.integrations.core.workloads.estate import Estate, ManagedPlace, Unit
from tidegate.kinds.integrations.fleet.snapshot import (
    NamespaceSnapshot,
    NamespaceSnapshots,
    where_of,
)
from tidegate.kinds.integrations.fleet.units import give
from tidegate.kinds.rollouts.core.journal.facts import RolloutTask
from tidegate.kinds.rollouts.fleet import Observation
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.plan import ChangeKind
from tidegate.model.target import Status, Target
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.registry.image import revision_of

# A resharding that is over is listed for a while yet, so that its end is written down.
LISTED_AFTER = Duration(60 * SECOND)


class Resharding:
    """The reshardings under way, as this process has seen them begin."""

    def __init__(self, snapshots: NamespaceSnapshots, clock: Clock) -> None:
        self._snapshots = snapshots
        self._clock = clock
        self._known: dict[str, Reshape] = {}
        self._over_at: dict[str, Instant] = {}

    def see(self, place: ManagedPlace, snapshot: NamespaceSnapshot) -> None:
        """Take note of what is split otherwise than it is to be."""
        wanted = {share_of(shard) for shard in place.shards}
        for partition, known in list(self._known.items()):
            shares = {share_of(shard) for unit in known.units for shard in unit.shards}
            if known.place.name == place.name and not shares <= wanted:
                # The bundle wants something else by now: whatever is there is looked at anew.
                del self._known[partition]
                self._over_at.pop(partition, None)
        for each in reshapes_of(place, owners_in(place, snapshot)):
            known_one = self._known.get(each.partition)
            if known_one is not None:
                # A workload that is drained already is of the old set all the same.
                old = tuple(sorted({*known_one.old, *each.old} - {*each.theirs}))
                each = msgspec.structs.replace(known_one, old=old, theirs=each.theirs, place=place)
            self._known[each.partition] = each
            self._over_at.pop(each.partition, None)

    def under_way(self, place: ManagedPlace) -> Iterator[Reshape]:
        """Those of a place that are not over."""
        for partition, each in self._known.items():
            if each.place.name == place.name and partition not in self._over_at:
                yield each

    def partitions(self) -> list[str]:
        """Their rollouts."""
        now = self._clock.now()
        for partition, at in list(self._over_at.items()):
            if now - at > LISTED_AFTER:
                del self._over_at[partition], self._known[partition]
        return sorted(self._known)

    def of(self, partition: str) -> Reshape | None:
        """The resharding of a rollout; None: it is none's."""
        return self._known.get(partition)

    async def observe(self, reshape: Reshape) -> Observation:
        """Who has ended, and who has begun."""
        snapshot = await self._snapshots.of(where_of(reshape.place))
        reshape = _with_others(reshape, snapshot)
        left = still_there(reshape, snapshot.workloads, snapshot.pods)
        # What was not read may exist all the same, unless everything was read.
        reports = [
            _drained(name, left.get(name), reshape.revision)
            for name in reshape.old
            if snapshot.complete or name in left
        ]
        begun = (_begun(unit, reshape.revision, snapshot) for unit in reshape.units)
        reports += (each for each in begun if snapshot.complete or each.status is Status.Succeeded)
        if all(each.status is Status.Succeeded for each in reports) and snapshot.complete:
            self._over_at.setdefault(reshape.partition, self._clock.now())
        return Observation(declared_of(reshape), tuple(reports), snapshot.complete, dated=False)

    async def act(self, estate: Estate, reshape: Reshape, task: RolloutTask) -> str:
        """End a workload of the old set, or begin a unit of the new one."""
        if task.change.kind is ChangeKind.REMOVE:
            return "nothing to remove"
        where = where_of(reshape.place)
        snapshot = await self._snapshots.anew(where)
        if not snapshot.complete:
            raise OutsideError(f"{where[0]}: {where[1]}: not all of it can be read")
        if (reshape := _with_others(reshape, snapshot)).theirs:
            raise StaleError(f"{waits_for(reshape)} comes first")
        left = still_there(reshape, snapshot.workloads, snapshot.pods)
        try:
            name = drained_workload(task.target)
            if name is not None:
                return await self._drain(reshape, snapshot, name, left)
            return await self._start(estate, reshape, task, left)
        finally:
            self._snapshots.forget(where)

    async def _drain(
        self, reshape: Reshape, snapshot: NamespaceSnapshot, name: str, left: dict[str, str]
    ) -> str:
        found = snapshot.objects.get(name)
        if left.get(name) != "runs" or found is None:
            return "ended already"
        cluster = self._snapshots.find(where_of(reshape.place)[0])
        await cluster.delete(found)
        return "deleted"

    async def _start(
        self, estate: Estate, reshape: Reshape, task: RolloutTask, left: dict[str, str]
    ) -> str:
        # Decided on what was seen then; two sets at once must not be, whatever was decided.
        if left:
            who = ", ".join(f"{name} ({how})" for name, how in left.items())
            raise StaleError(f"the old shards are not gone: {who}")
        unit = next((each for each in reshape.units if each.name == task.target), None)
        if unit is None or task.change.revision is None:
            raise StaleError(f"{task.target} is not in the bundle any more")
        place = reshape.place
        revision = revision_of(image_in(task.change.revision), place.repository)
        cluster = self._snapshots.find(place.managed.namespace.cluster)
        await give(cluster, estate.site, place, unit, revision)
        return f"{len(unit.shards)} started"


def owners_in(place: ManagedPlace, snapshot: NamespaceSnapshot) -> Iterator[KeyOwner]:
    """Every owner of this integration here, ours and of other managers."""
    name = place.integration.name
    theirs = {
        each.name
        for each in snapshot.workloads.values()
        if each.integration == name and not snapshot.objects[each.name].ours
    }
    workloads = (each for each in snapshot.workloads.values() if each.integration == name)
    pods = (
        pod
        for some in snapshot.pods.values()
        for pod in some
        if pod.env.get("INTEGRATION_NAME") == name
    )
    return owners_of(workloads, pods, theirs)


def _with_others(reshape: Reshape, snapshot: NamespaceSnapshot) -> Reshape:
    """A reshape with what of other managers it waits for now."""
    found = reshapes_of(reshape.place, owners_in(reshape.place, snapshot))
    theirs = next((each.theirs for each in found if each.partition == reshape.partition), ())
    return msgspec.structs.replace(reshape, theirs=theirs)


def _drained(name: str, how: str | None, revision: str) -> Target:
    target = drain_target(name)
    if how is None:
        return Target(target, Status.Succeeded, revision=revision)
    if how == "runs":
        return Target(target)
    return Target(target, Status.Progressing, revision=revision, detail=how)


def _begun(unit: Unit, revision: str, snapshot: NamespaceSnapshot) -> Target:
    found = [snapshot.workloads.get(shard.workload) for shard in unit.shards]
    there = [
        each
        for each, shard in zip(found, unit.shards, strict=True)
        if each is not None and share_of_workload(each) == share_of(shard)
    ]
    if len(there) < len(unit.shards):
        return Target(unit.name)
    # Whether its image is any good is the business of the rollout of images.
    return Target(unit.name, Status.Succeeded, revision=revision)
