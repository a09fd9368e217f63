"""The controllers and nodes of a simulated cluster: what happens to what is applied.

One task for a whole cluster. Whatever changed, or is due, is looked at as it is now: nothing is
lost if it changed twice. It runs on any loop, the virtual one too; `speed` makes everything that
takes time take less of it, while every moment that is written is the clock's.
"""

import asyncio
import heapq
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from tidegate.kubernetes.port import (
    CRON_JOB,
    DEPLOYMENT,
    JOB,
    POD,
    STATEFUL_SET,
    ExpiredError,
    ObjectEvent,
    ResourceKind,
)
from tidegate.kubernetes.simulated.api import Key, SimulatedApi, StoredObject, part_of
from tidegate.kubernetes.simulated.behaviour_doc import Behaviour, ContainerPurpose
from tidegate.kubernetes.simulated.fields import unflatten
from tidegate.kubernetes.simulated.life import deployments, jobs, stateful_sets
from tidegate.kubernetes.simulated.life.cron_jobs import CronJobs
from tidegate.kubernetes.simulated.life.life import SLEEP_DEFAULT, Life, grace_of
from tidegate.kubernetes.simulated.life.pod_output import PodOutput
from tidegate.kubernetes.simulated.life.pods import pod_document, pod_status
from tidegate.kubernetes.simulated.life.replica_sets import ReplicaSets, reference
from tidegate.kubernetes.simulated.life.steps import NewPod, Scene, WorkloadStep, revision_of
from tidegate.kubernetes.simulated.life.words import worker_of
from tidegate.machine.clock import Clock
from tidegate.model.time import SECOND, Duration, Instant, format_second

_Steps = Callable[[Scene], WorkloadStep]
_Status = Callable[[Scene], dict[str, Any]]
_CONTROLLERS: Mapping[ResourceKind, tuple[_Steps, _Status]] = {
    DEPLOYMENT: (deployments.next_step, deployments.status_of),
    STATEFUL_SET: (stateful_sets.next_step, stateful_sets.status_of),
    JOB: (jobs.next_step, jobs.status_of),
}
_WORKLOADS = frozenset({*_CONTROLLERS, CRON_JOB})
# Letters that make no words, as in real names.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
# After so many looks others get their turn.
_BATCH = 100


class _Progress(msgspec.Struct, frozen=True):
    """How far a Deployment was, and when it got there."""

    at: Instant
    # This template was out already once.
    done: bool
    revision: str
    updated: int
    left: int
    ready: int
    available: int

    def beats(self, other: "_Progress") -> bool:
        """Whether it got on since the other."""
        return (
            self.revision != other.revision
            or self.left < other.left
            or self.updated > other.updated
            or self.ready > other.ready
            or self.available > other.available
        )


class Nodes:
    """Everything that runs in one simulated cluster."""

    def __init__(
        self,
        api: SimulatedApi,
        clock: Clock,
        behaviour: Behaviour | None = None,
        speed: int = 1,
    ) -> None:
        self._api = api
        self._clock = clock
        self._behaviour = behaviour or Behaviour()
        self._speed = speed
        self._lives: dict[Key, Life] = {}
        self._owned: dict[Key, set[Key]] = {}
        self._progress: dict[Key, _Progress] = {}
        # The declaration of each object, by its identity and generation.
        self._specs: dict[Key, tuple[tuple[str, int], Mapping[str, Any]]] = {}
        self._sets = ReplicaSets(api)
        self._crons = CronJobs(api, clock.now(), speed)
        self._dirty: dict[Key, None] = {}
        # When to look at what, soonest first; and the same as a set, for look-ups.
        self._due: list[tuple[Instant, Key]] = []
        self._awaited: set[tuple[Instant, Key]] = set()
        self._news = asyncio.Event()
        self._made = 0
        self.talk = PodOutput(api, clock, self._lives)
        api.insides = self.talk

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen(self._api.version))
            self._look_at_everything()
            while True:
                await self._settle_all()
                await self._wait()

    async def _listen(self, after: int) -> None:
        while True:
            try:
                async for key, change, record in self._api.happened(after):
                    after = record.version
                    self._see(key, change, record)
                    self._news.set()
            except ExpiredError:
                after = self._api.version
                self._look_at_everything()
                self._news.set()

    def _look_at_everything(self) -> None:
        for key, record in list(self._api.records.items()):
            self._see(key, ObjectEvent.MODIFIED, record)
        for key in [key for key in self._lives if key not in self._api.records]:
            self._drop(key)
        for key in self._owned:
            self._dirty[key] = None

    def _see(self, key: Key, change: ObjectEvent, record: StoredObject) -> None:
        if key[0] in _WORKLOADS:
            self._dirty[key] = None
            if change is ObjectEvent.DELETED:
                self._orphan(key)
        elif key[0] == POD:
            life = self._lives.get(key)
            if change is ObjectEvent.DELETED:
                if life is not None and life.uid == record.uid:
                    self._drop(key)
            elif life is None and record.owners:
                self._adopt(key, record)

    async def _settle_all(self) -> None:
        """Look at whatever changed or is due, until nothing is."""
        count = 0
        while True:
            now = self._clock.now()
            while self._due and self._due[0][0] <= now:
                due = heapq.heappop(self._due)
                self._awaited.discard(due)
                self._dirty[due[1]] = None
            if not self._dirty:
                return
            key = next(iter(self._dirty))
            del self._dirty[key]
            if key[0] == POD:
                self._report(key, now)
            else:
                self._settle(key, now)
            count += 1
            if count % _BATCH == 0:
                await asyncio.sleep(0)

    async def _wait(self) -> None:
        """Until something changes, or is due."""
        try:
            left = (self._due[0][0] - self._clock.now()) / SECOND if self._due else None
            async with asyncio.timeout(left):
                await self._news.wait()
        except TimeoutError:
            pass
        self._news.clear()

    def _settle(self, key: Key, now: Instant) -> None:
        record = self._api.records.get(key)
        if record is None:
            return
        if key[0] == CRON_JOB:
            self._look(key, self._crons.settle(key, record, now))
            return
        steps, status = _CONTROLLERS[key[0]]
        scene = self._scene(key, record, now)
        step = steps(scene)
        for life in step.stops:
            self._stop(life, now)
        for birth in step.births:
            self._bear(key, record, scene, birth)
        if step.stops or step.births:
            scene = self._scene(key, record, now)
        scene = self._progressed(key, scene)
        self._api.put_status(key, status(scene))
        self._look(key, step.look_at)
        self._finish(key, record, scene)

    def _finish(self, key: Key, record: StoredObject, scene: Scene) -> None:
        """What else a kind has around it."""
        if key[0] == DEPLOYMENT:
            self._sets.settle(key, record, scene)
        if key[0] != JOB:
            return
        gone_at = jobs.gone_at(scene)
        if gone_at is not None and scene.now >= gone_at:
            self._api.remove(key)
        else:
            self._look(key, gone_at)
        for cron, _ in self._api.listed(CRON_JOB, key[1]):
            if key[2].startswith(f"{cron[2]}-"):
                self._dirty[cron] = None

    def _scene(self, key: Key, record: StoredObject, now: Instant) -> Scene:
        known = self._progress.get(key)
        return Scene(
            name=key[2],
            spec=self._spec(key, record),
            generation=record.generation,
            status=part_of(self._api.records.get(key, record), "status"),
            pods=[self._lives[each] for each in sorted(self._owned.get(key, ()))],
            now=now,
            speed=self._speed,
            progressed_at=known.at if known is not None else now,
            done=known is not None and known.done,
        )

    def _spec(self, key: Key, record: StoredObject) -> Mapping[str, Any]:
        """The declaration of an object; parsed again only if it changed."""
        wish = record.uid, record.generation
        known = self._specs.get(key)
        if known is None or known[0] != wish:
            known = self._specs[key] = wish, part_of(record, "spec")
        return known[1]

    def _progressed(self, key: Key, scene: Scene) -> Scene:
        """The same, knowing when it last got on."""
        if key[0] != DEPLOYMENT:
            return scene
        before = self._progress.get(key)
        revision = revision_of(scene.spec.get("template") or {})
        done = scene.done and before is not None and before.revision == revision
        status = deployments.status_of(msgspec.structs.replace(scene, done=done))
        updated = status.get("updatedReplicas", 0)
        reached = _Progress(
            scene.now,
            deployments.is_done(status),
            revision,
            updated,
            status.get("replicas", 0) - updated,
            status.get("readyReplicas", 0),
            status.get("availableReplicas", 0),
        )
        if before is not None and not reached.beats(before):
            reached = msgspec.structs.replace(reached, at=before.at)
        else:
            # A deadline begins anew.
            self._dirty[key] = None
        self._progress[key] = reached
        return msgspec.structs.replace(scene, progressed_at=reached.at, done=reached.done)

    def _bear(self, key: Key, record: StoredObject, scene: Scene, birth: NewPod) -> None:
        template = scene.spec.get("template") or {}
        revision = revision_of(template)
        owner = reference(key, record.uid)
        prefix = key[2]
        if key[0] == DEPLOYMENT:
            owner = self._sets.reference(key, record, scene, revision)
            prefix = f"{key[2]}-{revision}"
        name = birth.name or f"{prefix}-{self._suffix(prefix)}"
        life = self._life((POD, key[1], name), template, key, scene.now)
        life = msgspec.structs.replace(life, revision=revision, first_run=birth.first_run)
        made = self._api.put(life.key, pod_document(life, template, owner, scene.now))
        self._keep(msgspec.structs.replace(life, uid=made.uid), scene.now)

    def _adopt(self, key: Key, record: StoredObject) -> None:
        """A pod that was applied by itself."""
        document = unflatten(record.fields)
        now = self._clock.now()
        life = self._life(key, document, None, now)
        life = msgspec.structs.replace(life, uid=record.uid)
        self._keep(life, now)
        self._api.put_status(key, pod_status(life, document.get("spec") or {}, now))

    def _life(self, key: Key, template: Mapping[str, Any], owner: Key | None, now: Instant) -> Life:
        spec = template.get("spec") or {}
        worker = worker_of(spec)
        once = owner is not None and owner[0] == JOB
        manner = self._behaviour.of(
            worker.tag,
            worker.integration,
            worker.shard,
            self._api.name,
            ContainerPurpose.JOB if once else ContainerPurpose.LOOP,
        )
        sleep = manner.every if manner.every is not None else worker.sleep
        return Life(
            key=key,
            uid="",
            owner=owner,
            revision="",
            born_at=now,
            manner=manner,
            sleep=Duration((SLEEP_DEFAULT if sleep is None else sleep) // self._speed),
            grace=grace_of(spec, manner, self._speed),
            speed=self._speed,
            once=once,
        )

    def _keep(self, life: Life, now: Instant) -> None:
        self._lives[life.key] = life
        if life.owner is not None:
            self._owned.setdefault(life.owner, set()).add(life.key)
        self._look(life.key, life.at(now).until)

    def _stop(self, life: Life, now: Instant) -> None:
        """Tell a pod to stop; it is gone a while after."""
        gone_at = Instant(now + life.grace)
        self._lives[life.key] = msgspec.structs.replace(life, gone_at=gone_at)
        record = self._api.records.get(life.key)
        if record is not None:
            document = unflatten(record.fields)
            document["metadata"] |= {
                "deletionTimestamp": format_second(gone_at),
                "deletionGracePeriodSeconds": life.grace * self._speed // SECOND,
            }
            self._api.put(life.key, document)
        self._look(life.key, gone_at)

    def _report(self, key: Key, now: Instant) -> None:
        """Write the status of a pod; remove it once it has stopped."""
        life, record = self._lives.get(key), self._api.records.get(key)
        if life is None or record is None:
            return
        if life.gone_at is not None and now >= life.gone_at:
            self._api.remove(key)
            self._drop(key)
            return
        self._api.put_status(key, pod_status(life, self._spec(key, record), now))
        self._look(key, life.at(now).until)
        if life.owner is not None:
            self._dirty[life.owner] = None

    def _drop(self, key: Key) -> None:
        life = self._lives.pop(key)
        self._specs.pop(key, None)
        self.talk.gone(key)
        if life.owner is not None:
            self._owned[life.owner].discard(key)
            self._dirty[life.owner] = None

    def _orphan(self, key: Key) -> None:
        """A workload is gone: so are its pods, after a while."""
        now = self._clock.now()
        for pod in sorted(self._owned.get(key, ())):
            if self._lives[pod].gone_at is None:
                self._stop(self._lives[pod], now)
        self._progress.pop(key, None)
        self._specs.pop(key, None)
        if key[0] == DEPLOYMENT:
            self._sets.forget(key)
        if key[0] == CRON_JOB:
            self._crons.forget(key)

    def _look(self, key: Key, at: Instant | None) -> None:
        if at is not None and (at, key) not in self._awaited:
            self._awaited.add((at, key))
            heapq.heappush(self._due, (at, key))

    def _suffix(self, prefix: str) -> str:
        self._made += 1
        digits = sha256(f"{self._api.name}/{prefix}/{self._made}".encode()).digest()
        return "".join(_LETTERS[part % len(_LETTERS)] for part in digits[:_SUFFIX_LENGTH])
