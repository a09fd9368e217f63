"""A story of images and shards in virtual time, drawn from a seed: edits, faults, dead workers.

The real engine manages a simulated cluster whose pods run, fail and end as real ones do. A witness
hears every change of the cluster itself, and knows nothing of what the engine thinks:

* no target behind others ever gets an image that does not run there;
* two numbers of shards never have pods at once, ending ones included;
* what has an image of its own in the bundle keeps it;
* a group gets a new image only when every earlier one runs it, with clean runs behind it.

In the end the faults are over, and every object is what the bundle says: images, arguments and how
many pods, new ones and none that are declared no more.
"""

import asyncio
from random import Random
from typing import Any

import msgspec

from tests.staged import INTEGRATION, NUMBERED, TIERS, Declared, rules
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.worker import Worker
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.kinds.integrations.core.workloads.live import pod_of, workload_of
from tidegate.kinds.integrations.kind import NamespaceKind
from tidegate.kinds.integrations.wire.run_numbers import read_run
from tidegate.kinds.rollouts.kind import RolloutKind
from tidegate.kubernetes.port import DEPLOYMENT, POD, STATEFUL_SET, ObjectEvent, Take
from tidegate.kubernetes.simulated.api import SimulatedApi
from tidegate.kubernetes.simulated.behaviour_doc import read_behaviour
from tidegate.kubernetes.simulated.cluster import SimulatedCluster
from tidegate.kubernetes.simulated.life.nodes import Nodes
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Instant
from tidegate.simulation.virtual_loop import VirtualClock, VirtualLoop, run_virtually
from tidegate.store.client.memory import MemoryStore

START = Instant(1_790_000_000 * SECOND)
NAMESPACE, PORT = "ns", 9090
RULES = rules(soak="2m", deadline="30m")
BEHAVIOUR: dict[str, Any] = {
    "defaults": {"readyAfter": "10s", "every": "30s", "takes": "5s"},
    "rules": [
        {"tag": "failing-*", "fails": {"from": 1}},
        {"tag": "crashing-*", "start": "crash-loop"},
        {"tag": "stuck-*", "start": "never-ready"},
    ],
}
BAD = ("failing", "crashing", "stuck")
HAPPENINGS = (
    *("image", "image", "image", "bad", "revert", "pin", "number", "die"),
    *("arguments", "drift", "join"),
)
# An account that joins and leaves.
JOINER = "prod-4"
RANKS = {"canary": 0, "stage": 1, "prod": 2}
# An edit reaches the worker within so long.
GRACE_S = 30.0
END_MAX_S = 8 * 3600


class Told(msgspec.Struct, frozen=True):
    """What a story resulted in."""

    seed: int
    edits: int
    faults: int
    deaths: int
    moves: int
    virtual_s: float


def live_through(seed: int) -> Told:
    """The whole story of a seed."""

    async def main(loop: VirtualLoop) -> Told:
        scene = _Scene(seed, loop)
        try:
            return await scene.tell()
        except AssertionError as error:
            lines = "\n".join(scene.log[-60:])
            again = f"python -m tests.sim --shards 1 --seed {seed}"
            raise AssertionError(f"{error}\n\nseed: {again}\n{lines}") from error
        finally:
            await scene.end()

    return run_virtually(main, START)


class _Scene:
    def __init__(self, seed: int, loop: VirtualLoop) -> None:
        self.seed, self._loop = seed, loop
        self._draw = Random(seed)
        self._clock = VirtualClock(loop)
        self.api = SimulatedApi("one", self._fault, self._clock)
        self.api.namespaces.add(NAMESPACE)
        self._nodes = Nodes(self.api, self._clock, read_behaviour(BEHAVIOUR))
        self.declared = Declared(NAMESPACE, rules=RULES)
        self.declared.numbered, self.declared.image = 2, "good-0"
        # StatefulSets leave a pod for ever that never got ready: the way back is harder.
        self.declared.fields = self._draw.choice(("", "cache: true, "))
        self._store = MemoryStore()
        self._trouble = 0.0
        self._faults = self._deaths = self._edits = 0
        self.log: list[str] = []
        self.witness = _Witness(self)
        self._tasks = [
            asyncio.create_task(self._nodes.run()),
            asyncio.create_task(self.witness.run()),
        ]
        self._worker: Worker | None = None
        self._working: asyncio.Task[None] | None = None

    def say(self, text: str) -> None:
        self.log.append(f"{self._loop.time():9.1f} {text}")

    def time(self) -> float:
        return self._loop.time()

    def _fault(self, what: str) -> None:
        if self._draw.random() < self._trouble:
            self._faults += 1
            self.say(f"fault: {what}")
            raise OutsideError(f"one: {what}: no answer")

    def _begin(self) -> None:
        """A worker that knows nothing but what the journal and the cluster tell."""
        cluster = SimulatedCluster(self.api)
        fleet = self.declared.fleet(lambda _: cluster, self._clock, port=PORT, look_s=20.0)
        settings = WorkerSettings(
            holder=f"w{self._deaths}", act=("*",), discover_s=30, listen_s=10, resync_s=20
        )
        self._worker = Worker(
            self._store,
            (RolloutKind(fleet), NamespaceKind(fleet)),
            self._clock,
            Executor(Limits(), Breaker()),
            settings,
            self._told,
        )
        self._working = asyncio.create_task(self._worker.run())

    def _told(self, partition: str, outcome: object) -> None:
        if isinstance(outcome, Exception):
            self.say(f"{partition}: {outcome!r}")

    async def _kill(self) -> None:
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)
            self._deaths += 1

    async def tell(self) -> Told:
        self._begin()
        await self._arrive("good-0")
        self._trouble = self._draw.choice((0.0, 0.01, 0.05, 0.2))
        for number in range(1, self._draw.randint(3, 8)):
            await asyncio.sleep(self._draw.choice((5, 60, 300, 1200, 2400)))
            await self._happen(number)
            self._check()
        self._trouble = 0.0
        self.declared.overrides = []
        self.declared.accounts = dict(TIERS)
        self._edit(image=f"good-{self.seed}-last", numbered=self._draw.randint(1, 4))
        await self._arrive(f"good-{self.seed}-last")
        return Told(
            self.seed,
            self._edits,
            self._faults,
            self._deaths,
            self.witness.moves,
            self._loop.time(),
        )

    async def _happen(self, number: int) -> None:
        match self._draw.choice(HAPPENINGS):
            case "image":
                self._edit(image=f"good-{number}")
            case "bad":
                self._edit(image=f"{self._draw.choice(BAD)}-{number}")
            case "revert":
                self._edit(image="good-0")
            case "pin":
                name = self._draw.choice(sorted(TIERS))
                running = self.witness.images.get(f"qontract-reconcile-{INTEGRATION}-{name}")
                if running:
                    pins = [{"shard": name, "imageRef": running.rpartition(":")[2]}]
                    self._edit(overrides=pins)
            case "number":
                self._edit(numbered=self._draw.randint(1, 4))
            case "arguments":
                self._edit(arguments=f"--number {number}")
            case "drift":
                await self._drift(self._draw.choice(sorted(self.witness.images)))
            case "join":
                joined = JOINER in self.declared.accounts
                accounts = dict(TIERS) if joined else {**TIERS, JOINER: "prod"}
                self._edit(accounts=accounts)
            case _:
                self.say("the worker dies")
                await self._kill()
                self._begin()

    async def _drift(self, name: str) -> None:
        """A person scales a workload on the cluster."""
        kinds = (DEPLOYMENT, STATEFUL_SET)
        there = [kind for kind in kinds if (kind, NAMESPACE, name) in self.api.records]
        for kind in there:
            self.say(f"a person scales {name}")
            document = {
                "apiVersion": kind.api_version,
                "kind": kind.name,
                "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": {"replicas": 2},
            }
            theirs = SimulatedCluster(self.api, "a-person")
            try:
                await theirs.apply(document, take=Take.OVER)
            except OutsideError:
                self.say("in vain")

    def _edit(self, **fields: Any) -> None:
        self._edits += 1
        for name, value in fields.items():
            setattr(self.declared, name, value)
        self.witness.edited_at = self._loop.time()
        self.say(f"edit: {fields}")

    async def _arrive(self, tag: str) -> None:
        end = self._loop.time() + END_MAX_S
        while not self.witness.all_have(tag):
            await asyncio.sleep(20)
            self._check()
            left = self.witness.missing(tag)
            assert self._loop.time() < end, f"never arrived: {tag}: {left}"

    def _check(self) -> None:
        assert not self.witness.broken, "\n".join(self.witness.broken[:5])
        for task in (*self._tasks, self._working):
            if task is not None and task.done() and not task.cancelled():
                raise AssertionError(f"somebody ended: {task.exception()!r}")

    async def end(self) -> None:
        """Nothing is left."""
        await self._kill()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._store.close()


class _Witness:
    """Hears every change of the cluster, and judges it by itself."""

    def __init__(self, scene: _Scene) -> None:
        self._scene = scene
        self.images: dict[str, str] = {}
        # What else is declared of each: how many pods, and with which arguments.
        self.shapes: dict[str, tuple[int, str]] = {}
        self._pods: dict[str, tuple[str, str]] = {}
        self._names: dict[str, tuple[str, str]] = {}
        self.broken: list[str] = []
        self.moves = 0
        self.edited_at = 0.0
        # Images that every target ran at once.
        self._out: set[str] = set()

    async def run(self) -> None:
        async for key, change, record in self._scene.api.happened(self._scene.api.version):
            document = self._scene.api.document(record)
            if key[0] in (DEPLOYMENT, STATEFUL_SET):
                self._deployment(key[2], change, document)
            elif key[0] == POD:
                self._pod(change, document)

    def _deployment(self, name: str, change: ObjectEvent, document: dict[str, Any]) -> None:
        if change is ObjectEvent.DELETED:
            self.images.pop(name, None)
            self.shapes.pop(name, None)
            return
        found = workload_of(document)
        image = found.image
        self.shapes[name] = found.replicas, found.env.get("INTEGRATION_EXTRA_ARGS", "")
        before = self.images.get(name)
        self.images[name] = image
        if before != image:
            self.moves += 1
            self._scene.say(f"{name}: {before} -> {image}")
            self._moved(name, before, image)
        mine = {n for n in self.images if f"-{INTEGRATION}-" in n}
        if len(mine) == len(TIERS) and len({self.images[n] for n in mine}) == 1:
            self._out.add(image)

    def _moved(self, name: str, before: str | None, image: str) -> None:
        shard = name.removeprefix(f"qontract-reconcile-{INTEGRATION}-")
        tag = image.rpartition(":")[2]
        if shard not in TIERS or before is None:
            return
        rank = RANKS[TIERS[shard]]
        calm = self._scene.time() - self.edited_at > GRACE_S
        pinned = {each["shard"] for each in self._scene.declared.overrides}
        # Nothing waits for what is pinned: where all earlier ones are, it goes first.
        earlier = {name for name, tier in TIERS.items() if RANKS[tier] < rank} - pinned
        if earlier and tag.partition("-")[0] in BAD:
            self.broken.append(f"{shard} got {tag}, which nobody before it survives")
        if shard in pinned and calm:
            self.broken.append(f"{shard} is pinned and moved from {before} to {image}")
        if image in self._out or not calm:
            return
        for other in sorted(earlier):
            if not self._proven(other, image):
                self.broken.append(f"{shard} got {tag} before {other} had proven it")

    def _proven(self, shard: str, image: str) -> bool:
        """Whether a shard runs an image, with clean runs behind it."""
        name = f"qontract-reconcile-{INTEGRATION}-{shard}"
        if self.images.get(name) != image:
            return False
        for uid, (workload, running) in self._pods.items():
            if workload == name and running == image:
                insides = self._scene.api.insides
                assert insides is not None
                try:
                    run = read_run(insides.answer(*self._names[uid], PORT, "/metrics"))
                except OutsideError:
                    continue
                if run is not None and run.status == 0 and run.completed >= 3:
                    return True
        return False

    def _pod(self, change: ObjectEvent, document: dict[str, Any]) -> None:
        pod = pod_of(document)
        self._pods[pod.uid] = pod.workload, pod.image
        self._names[pod.uid] = document["metadata"]["namespace"], pod.name
        if pod.workload.startswith(f"qontract-reconcile-{NUMBERED}"):
            self._shapes(change, pod.uid, pod.env["SHARDS"])
        if change is ObjectEvent.DELETED:
            del self._pods[pod.uid], self._names[pod.uid]

    def _shapes(self, change: ObjectEvent, uid: str, shape: str) -> None:
        shapes: dict[str, str] = self.__dict__.setdefault("shaped", {})
        shapes[uid] = shape
        if len(set(shapes.values())) > 1:
            self.broken.append(f"pods of {' and of '.join(sorted(set(shapes.values())))} shards")
        if change is ObjectEvent.DELETED:
            del shapes[uid]

    def missing(self, tag: str) -> list[str]:
        """What is not yet as it is to be."""
        count = self._scene.declared.numbered
        suffixes = [f"-{i}" for i in range(count)] if count > 1 else [""]
        wanted = {f"qontract-reconcile-{INTEGRATION}-{name}" for name in TIERS}
        wanted |= {f"qontract-reconcile-{NUMBERED}{suffix}" for suffix in suffixes}
        found = [f"{n}: {self.images.get(n)}" for n in sorted(wanted)
                 if self.images.get(n, "").rpartition(":")[2] != tag]  # fmt: skip
        arguments = self._scene.declared.arguments
        found += [f"{name}: {shape}" for name, shape in sorted(self.shapes.items())
                  if shape[0] != 1 or arguments not in shape[1]]  # fmt: skip
        found += [f"{name} is left" for name in sorted(self.images.keys() - wanted)]
        shapes = set(self.__dict__.get("shaped", {}).values())
        return found + [f"shapes {shapes}"] * (shapes != {str(count)})

    def all_have(self, tag: str) -> bool:
        """Whether everything is as it is to be."""
        return not self.missing(tag)
