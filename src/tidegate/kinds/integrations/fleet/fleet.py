"""Integrations as a fleet: every place is a rollout, every unit a target, an image a revision.

Observing reads the bundle, the namespaces and the runs of shards on trial. Acting gives a unit
its workloads as the bundle has them, with the image that is its turn. What another manager owns,
and what has an image of its own in the bundle, stays unchanged and says so.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing

import msgspec

from tidegate.kinds.integrations.core.waves.declaration import ADOPT, declared_of, last_good_of
from tidegate.kinds.integrations.core.waves.holds import released
from tidegate.kinds.integrations.core.waves.rehearsal import target_of as rehearsal_of
from tidegate.kinds.integrations.core.waves.rehearsal import with_dry_run
from tidegate.kinds.integrations.core.waves.reshape import Reshape
from tidegate.kinds.integrations.core.waves.rules import ImageRules, MoveVia
from tidegate.kinds.integrations.core.waves.shard_state import revisions_in, standing_of
from tidegate.kinds.integrations.core.waves.trial import Trial
from tidegate.kinds.integrations.core.workloads.default_image import NO_IMAGE_REMEDY
from tidegate.kinds.integrations.core.workloads.estate import (
    Estate,
    ManagedPlace,
    Unit,
    kind_of,
)
from tidegate.kinds.integrations.core.workloads.live import Pod, workload_of
from tidegate.kinds.integrations.estates_port import Estates
from tidegate.kinds.integrations.fleet.git_waves import GitWaves
from tidegate.kinds.integrations.fleet.rehearsal import Rehearsing
from tidegate.kinds.integrations.fleet.reshard import Resharding
from tidegate.kinds.integrations.fleet.snapshot import (
    FRESH_S,
    WORKLOADS,
    Find,
    NamespaceSnapshot,
    NamespaceSnapshots,
    Where,
    where_of,
)
from tidegate.kinds.integrations.fleet.trials import Trials
from tidegate.kinds.integrations.fleet.units import give
from tidegate.kinds.integrations.runs_port import Runs
from tidegate.kinds.rollouts.core.journal.facts import RolloutTask
from tidegate.kinds.rollouts.fleet import Observation
from tidegate.kubernetes.port import (
    DEPLOYMENT,
    STATEFUL_SET,
    ApplyOutcome,
    NotAllowedError,
    ResourceKind,
)
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.plan import ChangeKind
from tidegate.model.problem import nearest
from tidegate.model.target import Status, Target
from tidegate.registry.image import image_named

NOT_OURS = f"not Tidegate's; {ADOPT} takes it over"
# Runs end without a word from the cluster: places are looked at again this often.
LOOK_S = 10.0
# A list of all rollouts waits for one namespace no longer than this.
GLANCE_S = 10.0


class IntegrationsFleet:
    """Images of integrations, shard by shard."""

    def __init__(
        self,
        estates: Estates,
        find: Find,
        runs: Runs,
        clock: Clock,
        *,
        fresh_s: float = FRESH_S,
        look_s: float = LOOK_S,
        waves: GitWaves | None = None,
    ) -> None:
        self.estates = estates
        self._git = waves or GitWaves(None)
        self.snapshots = NamespaceSnapshots(find, fresh_s)
        self._trials = Trials(runs, clock)
        self.resharding = Resharding(self.snapshots, clock)
        self._rehearsing = Rehearsing(self.snapshots)
        self.look_s = look_s

    async def partitions(self) -> list[str]:
        """The places whose images move by rules, and the sets that are to become others."""
        estate = await self.estates.read()
        wheres = list(dict.fromkeys(map(where_of, estate.places)))
        found = await asyncio.gather(*map(self._glance, wheres))
        seen = dict(zip(wheres, found, strict=True))
        for place in estate.places:
            snapshot = seen[where_of(place)]
            if snapshot is not None:
                self.resharding.see(place, snapshot)
        # One whose image is not known stays listed, so that its worker can say so.
        every = estate.every_place
        staged = (place for place in every if place.managed.rollout is not None)
        return [place.partition for place in staged] + self.resharding.partitions()

    async def _glance(self, where: Where) -> NamespaceSnapshot | None:
        """What a namespace holds; None if that takes long or fails: a trouble of its own rounds."""
        try:
            async with asyncio.timeout(GLANCE_S):
                return await self.snapshots.of(where)
        except (OutsideError, TimeoutError, OSError):
            return None

    def system_of(self, partition: str) -> str:
        """The cluster a rollout is on: one that fails does not stop the others."""
        return partition.partition("@")[2].partition(".")[0]

    async def observe(self, partition: str) -> Observation:
        """What the bundle wants of a place, and where each unit stands."""
        reshape = self.resharding.of(partition)
        if reshape is not None:
            return await self.resharding.observe(reshape)
        estate, place, rules = await self._place(partition)
        snapshot = await self.snapshots.of(where_of(place))
        self.resharding.see(place, snapshot)
        busy = {unit.name: each for each in self.resharding.under_way(place) for unit in each.units}
        cluster = self.snapshots.find(place.managed.namespace.cluster)
        trials = await self._trials.read(place, rules, snapshot, cluster)
        via_git = rules.via is MoveVia.GIT
        meant = released(place) if via_git else place
        # What another manager applies moves with its Git, too.
        others = {} if via_git else _others(place, snapshot)
        declared = declared_of(meant, rules, _running(meant, snapshot), others)
        rehearsed = await self._rehearsing.report(meant, rules, declared.last_good)
        declared = with_dry_run(meant, rules, declared)
        if busy:
            words = {name: each.words for name, each in busy.items()}
            declared = msgspec.structs.replace(declared, busy=words)
        reports = tuple(
            _reshaped(unit, busy[unit.name])
            if unit.name in busy
            else self._standing(place, unit, rules, snapshot, trials)
            for unit in place.units
            # Of a partial reading nothing is concluded from absence.
            if snapshot.complete or all(each.workload in snapshot.workloads for each in unit.shards)
        )
        if via_git:
            reports = await self._git.reports(place, reports)
        complete = snapshot.complete and estate.complete
        return Observation(declared, (*rehearsed, *reports), complete=complete, dated=False)

    def _standing(
        self,
        place: ManagedPlace,
        unit: Unit,
        rules: ImageRules,
        snapshot: NamespaceSnapshot,
        trials: Mapping[str, Trial],
    ) -> Target:
        found = standing_of(
            unit,
            rules,
            place.repository,
            snapshot.workloads,
            snapshot.pods,
            trials,
            self._trials.restarts,
            place.wanted(unit),
        )
        # Without an earlier report: not before its youngest pod.
        started = [pod.started_at for pod in _pods(unit, snapshot) if pod.started_at is not None]
        if found.status is not Status.Succeeded or not started:
            return found
        return msgspec.structs.replace(found, since=max(started))

    async def act(self, partition: str, task: RolloutTask) -> str:
        """Give a unit its workloads with an image, or take those of one that is gone away."""
        reshape = self.resharding.of(partition)
        if reshape is not None:
            return await self.resharding.act(await self.estates.read(), reshape, task)
        estate, place, rules = await self._place(partition)
        if task.target == rehearsal_of(place):
            running = _running(place, await self.snapshots.of(where_of(place)))
            return await self._rehearsing.act(place, rules, task, last_good_of(place, running))
        if task.change.kind is ChangeKind.REMOVE and rules.via is MoveVia.CLUSTER:
            return await self._remove(place, task.target)
        unit = place.unit(task.target)
        if unit is None or task.change.revision is None:
            raise StaleError(f"{task.target} is not in the bundle any more")
        where, revision = where_of(place), task.change.revision
        snapshot = await self.snapshots.of(where)
        self.resharding.see(place, snapshot)
        for each in self.resharding.under_way(place):
            if unit in each.units:
                raise StaleError(f"{task.target}: {each.words} comes first")
        self._trials.begin(place, unit, revision, _pods(unit, snapshot))
        if rules.via is MoveVia.GIT:
            return await self._git.act(place, task)
        try:
            async with self.snapshots.unit(where, unit.name):
                cluster = self.snapshots.find(where[0])
                done = await give(cluster, estate.site, place, unit, revision)
            ended = await self._unstick(place, unit, revision, snapshot)
        finally:
            self.snapshots.forget(where)
        counts = {each: sum(one.outcome is each for one in done) for each in ApplyOutcome}
        parts = [f"{count} {each.value}" for each, count in counts.items() if count]
        return ", ".join(parts + ended)

    async def tidy(self, partition: str) -> None:
        """Close what is offered for an earlier default, where images move through Git."""
        if self.resharding.of(partition) is not None:
            return
        _, place, rules = await self._place(partition)
        if rules.via is MoveVia.GIT:
            await self._git.tidy(place)

    async def _unstick(
        self, place: ManagedPlace, unit: Unit, revision: str, snapshot: NamespaceSnapshot
    ) -> list[str]:
        """End pods that never got ready where their controller would leave them for ever."""
        if kind_of(place.managed) != "StatefulSet":
            return []
        image = image_named(revision, place.repository)
        stuck = [
            pod
            for pod in _pods(unit, snapshot)
            if not pod.ready and not pod.ending and pod.image != image
        ]
        cluster = self.snapshots.find(place.managed.namespace.cluster)
        try:
            ended = [await cluster.end(snapshot.objects[pod.uid]) for pod in stuck]
        except NotAllowedError:
            return [f"{stuck[0].name} must be deleted by hand: Tidegate may not"]
        return [f"{sum(ended)} stuck pods ended"] if any(ended) else []

    async def _remove(self, place: ManagedPlace, target: str) -> str:
        """Take away what a unit has that the bundle knows no more."""
        where = where_of(place)
        cluster = self.snapshots.find(where[0])
        reading = await cluster.read(where[1], WORKLOADS)
        if not reading.complete:
            raise OutsideError(f"{where[0]}: {'; '.join(reading.gaps)}")
        removed = 0
        try:
            for each in reading.objects:
                if each.ours and workload_of(each.document).unit == target:
                    removed += await cluster.delete(each)
        finally:
            self.snapshots.forget(where)
        return f"{removed} removed"

    async def changes(self) -> AsyncIterator[str]:
        """Places whose workloads change, and all of them now and then: runs end in silence."""
        news: asyncio.Queue[str] = asyncio.Queue()
        tasks: dict[Where, asyncio.Task[None]] = {}
        try:
            while True:
                estate = await self.estates.read()
                for where in {where_of(place) for place in estate.places} - tasks.keys():
                    tasks[where] = asyncio.create_task(self._follow(where, news))
                for place in estate.places:
                    if place.managed.rollout is not None:
                        yield place.partition
                async for partition in _until(news, self.look_s):
                    yield partition
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)

    async def _follow(self, where: Where, news: asyncio.Queue[str]) -> None:
        """Tell of every workload that changes in a namespace, for good."""
        while True:
            try:
                snapshot = await self.snapshots.of(where)
                async with asyncio.TaskGroup() as group:
                    for kind in (DEPLOYMENT, STATEFUL_SET):
                        after = snapshot.versions.get(kind.name, "")
                        group.create_task(self._watch(where, kind, after, news))
            except* (OutsideError, StaleError, OSError):
                pass
            await asyncio.sleep(self.look_s)
            self.snapshots.forget(where)

    async def _watch(
        self, where: Where, kind: ResourceKind, after: str, news: asyncio.Queue[str]
    ) -> None:
        events = self.snapshots.find(where[0]).watch(where[1], kind, after)
        async with aclosing(events):
            async for event in events:
                self.snapshots.forget(where)
                integration = workload_of(event.object.document).integration
                estate = await self.estates.read()
                for place in estate.places:
                    if where_of(place) == where and place.integration.name == integration:
                        news.put_nowait(place.partition)

    async def _place(self, partition: str) -> tuple[Estate, ManagedPlace, ImageRules]:
        estate = await self.estates.read()
        place = estate.place(partition)
        if place is None or place.managed.rollout is None:
            if no_image := estate.no_image(partition):
                raise OutsideError(f"{partition}: {no_image}; {NO_IMAGE_REMEDY}")
            hint = nearest(partition, (each.partition for each in estate.places))
            raise OutsideError(
                f"{partition} is not in the bundle, or cannot be read there; "
                + (hint or "`tidegate validate` says what is wrong")
            )
        return estate, place, place.managed.rollout


async def _until(news: asyncio.Queue[str], seconds: float) -> AsyncIterator[str]:
    """What comes in within some time."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while (left := end - loop.time()) > 0:
        try:
            async with asyncio.timeout(left):
                partition = await news.get()
        except TimeoutError:
            return
        yield partition


def _reshaped(unit: Unit, reshape: Reshape) -> Target:
    """A unit that is busy with something else: an image waits until it is done."""
    return Target(unit.name, Status.Progressing, revision=reshape.words, detail=reshape.words)


def _pods(unit: Unit, snapshot: NamespaceSnapshot) -> list[Pod]:
    return [pod for shard in unit.shards for pod in snapshot.pods.get(shard.workload, ())]


def _running(place: ManagedPlace, snapshot: NamespaceSnapshot) -> dict[str, str]:
    """The revision of every unit whose parts all have one and the same."""
    found: dict[str, str] = {}
    for unit in place.units:
        wanted = place.wanted(unit)
        revisions = revisions_in(unit, snapshot.workloads, snapshot.pods, wanted, place.repository)
        if len(revisions) == 1:
            found[unit.name] = revisions.pop()
    return found


def _others(place: ManagedPlace, snapshot: NamespaceSnapshot) -> dict[str, str]:
    """Units of which some part is there and is not ours."""
    return {
        unit.name: NOT_OURS
        for unit in place.units
        for shard in unit.shards
        if shard.workload in snapshot.objects and not snapshot.objects[shard.workload].ours
    }
