"""New images on a real control plane, moved by the real engine: canary, stage, and the rest."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress

import pytest

from tests.contract.clusters import REAL
from tests.explained import rows
from tests.patience import PATIENCE_S
from tests.real.kube import ControlPlane, Kubernetes
from tests.real.kubelet import METRICS_PORT, kubelet
from tests.staged import INTEGRATION, RULES, Declared
from tidegate.app.text.view_text import TARGET_HEAD
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.round import RoundResult
from tidegate.engine.worker import Worker
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.explain.sentence import sentence
from tidegate.explain.table import layout
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Asked, Verb
from tidegate.kinds.integrations.core.workloads.live import pod_of
from tidegate.kinds.rollouts.core.journal.facts import Decided
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.kind import RolloutKind
from tidegate.kubernetes.client.cluster import KubernetesCluster
from tidegate.kubernetes.client.pods import PodReach
from tidegate.kubernetes.port import POD, ObjectEvent
from tidegate.machine.system_clock import SystemClock
from tidegate.model.time import Instant
from tidegate.store.client.memory import MemoryStore

pytestmark = REAL


@pytest.fixture
def plane(kubernetes: Kubernetes) -> ControlPlane:
    """One whose controllers run."""
    plane = kubernetes.plane("three")
    kubernetes.controllers(plane)
    return plane


class Stage:
    """A declared estate, its cluster, and a worker that can be stopped and started."""

    def __init__(self, declared: Declared, cluster: KubernetesCluster) -> None:
        self.declared, self.cluster = declared, cluster
        self.store = MemoryStore()
        self.rounds: list[RoundResult] = []
        self.troubles: list[Exception] = []

    def worker(self) -> Worker:
        """One that knows nothing but what the journal and the cluster tell it."""
        clock = SystemClock()
        fleet = self.declared.fleet(lambda _: self.cluster, clock, port=METRICS_PORT, look_s=0.1)
        settings = WorkerSettings(
            holder="w", act=("*",), discover_s=0.2, listen_s=0.1, resync_s=0.3
        )
        kinds, executor = (RolloutKind(fleet),), Executor(Limits(), Breaker())
        return Worker(self.store, kinds, clock, executor, settings, self._told)

    def _told(self, _: str, outcome: object) -> None:
        if isinstance(outcome, RoundResult):
            self.rounds.append(outcome)
        elif isinstance(outcome, Exception):
            self.troubles.append(outcome)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """For as long as a worker manages the estate."""
        worker = self.worker()
        task = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            worker.stop()
            await task

    async def until(self, so: Callable[[RoundResult], bool]) -> RoundResult:
        """The first round from now on of which something is so."""
        seen = len(self.rounds)
        try:
            async with asyncio.timeout(PATIENCE_S * 2):
                while True:
                    for each in self.rounds[seen:]:
                        if so(each):
                            return each
                    seen = len(self.rounds)
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"it never came to pass\n{self._last()}") from None

    def _last(self) -> str:
        """Where every target stands, and what went wrong on the way."""
        lines = [repr(each) for each in self.troubles[-5:]]
        for each in self.rounds[-1:]:
            if each.world is not None and each.plan is not None:
                lines += layout(TARGET_HEAD, rows(each.world, each.plan, Instant(0)))
        return "\n".join(lines)

    async def images(self) -> dict[str, set[str]]:
        """The tags that pods of each shard run now."""
        read = await self.cluster.read(self.declared.namespace, [POD])
        found: dict[str, set[str]] = {}
        for each in read.objects:
            pod = pod_of(each.document)
            if not pod.ending and "RUN_ONCE" not in pod.env:
                found.setdefault(pod.env["SHARD_KEY"], set()).add(pod.image.rpartition(":")[2])
        return found

    def order(self) -> list[tuple[str, str]]:
        """Who was started, in the order in which that was decided, and with what."""
        found: list[tuple[str, str]] = []
        for entry in self.store.read(self.declared.partition):
            fact = entry.fact()
            if isinstance(fact, Decided):
                found += (
                    (task.target.partition("/")[2], str(task.change.revision))
                    for task in fact.tasks
                )
        return found


def shaped(count: str) -> Callable[[RoundResult], bool]:
    """Whether a resharding to so many is over."""

    def is_so(each: RoundResult) -> bool:
        assert each.plan is not None
        out = str(each.plan.course.revision).startswith(f"{count} shards/")
        return out and each.plan.summary is Summary.SUCCEEDED

    return is_so


@asynccontextmanager
async def owners(stage: Stage, seen: list[set[str]]) -> AsyncIterator[None]:
    """Note which numbers of shards there are pods of, ending ones too, at every change."""

    async def watch() -> None:
        namespace = stage.declared.namespace
        read = await stage.cluster.read(namespace, [POD])
        there = {each.uid: pod_of(each.document).env["SHARDS"] for each in read.objects}
        seen.append(set(there.values()))
        events = stage.cluster.watch(namespace, POD, read.versions[POD.name])
        async with aclosing(events):
            async for event in events:
                there[event.object.uid] = pod_of(event.object.document).env["SHARDS"]
                if event.change is ObjectEvent.DELETED:
                    del there[event.object.uid]
                seen.append(set(there.values()))

    task = asyncio.create_task(watch())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def done(image: str) -> Callable[[RoundResult], bool]:
    """Whether an image is out."""

    def is_so(each: RoundResult) -> bool:
        assert each.plan is not None
        return each.plan.summary is Summary.SUCCEEDED and each.plan.course.revision == image

    return is_so


@asynccontextmanager
async def staged(plane: ControlPlane, sharding: str = "") -> AsyncIterator[Stage]:
    """Every target on the first image."""
    cluster = KubernetesCluster(plane.access(), reach=PodReach.DIRECT)
    stage = Stage(Declared(plane.namespace()), cluster)
    stage.declared.sharding = sharding or stage.declared.sharding
    try:
        async with kubelet(plane, metrics=True):
            async with stage.working():
                await stage.until(done("good-1"))
            yield stage
    finally:
        await cluster.close()
        # Watches that were cut say goodbye to the server in their own time.
        await asyncio.sleep(0.25)


def test_an_image_goes_out_group_by_group_and_only_after_clean_runs(plane: ControlPlane) -> None:
    """Canary, then stage, then the rest; a worker that is replaced in the middle goes on."""

    async def story() -> None:
        async with staged(plane) as stage:
            stage.declared.image = "good-2"
            before = len(stage.order())
            async with stage.working():
                await stage.until(lambda _: len(stage.order()) - before >= 2)
            # Another one that has seen nothing of it.
            async with stage.working():
                await stage.until(done("good-2"))
            order = [name for name, revision in stage.order()[before:] if revision == "good-2"]
            assert order[0] == "ter-int-dev"
            assert set(order[1:3]) == {"stage-1", "stage-2"}
            assert set(order[3:]) == {"prod-1", "prod-2", "prod-3"}
            assert len(order) == 6
            assert all(tags == {"good-2"} for tags in (await stage.images()).values())

    asyncio.run(story())


def test_an_image_whose_runs_fail_stops_in_the_canary_and_rolls_back(plane: ControlPlane) -> None:
    """Its pods are up and ready all the time; no target behind the canary ever gets it."""

    async def story() -> None:
        async with staged(plane) as stage:
            before = len(stage.order())
            stage.declared.image = "failing"
            async with stage.working():
                failed = await stage.until(
                    lambda each: each.plan is not None and each.plan.summary is Summary.FAILED
                )
                assert failed.plan is not None
                said = [sentence(v) for option in failed.plan.options for v in option.verdicts]
                assert any("runs failed in a row" in each for each in said)
                async with asyncio.timeout(PATIENCE_S):
                    while (await stage.images())["ter-int-dev"] != {"good-1"}:  # noqa: ASYNC110
                        await asyncio.sleep(0.1)
            assert stage.order()[before:] == [("ter-int-dev", "failing"), ("ter-int-dev", "good-1")]
            assert all(tags == {"good-1"} for tags in (await stage.images()).values())

    asyncio.run(story())


def test_a_revert_in_the_bundle_returns_what_was_touched_at_once(plane: ControlPlane) -> None:
    """No groups, no soak: only the canary had it, only the canary returns."""

    async def story() -> None:
        async with staged(plane) as stage:
            before = len(stage.order())
            stage.declared.image = "broken"
            async with stage.working():
                await stage.until(lambda _: len(stage.order()) > before)
                stage.declared.image = "good-1"
                await stage.until(done("good-1"))
            assert stage.order()[before:] == [("ter-int-dev", "broken"), ("ter-int-dev", "good-1")]

    asyncio.run(story())


def test_a_shard_with_an_image_of_its_own_is_left_alone_and_says_so(plane: ControlPlane) -> None:
    """It is written in the bundle, and the reason names the line."""

    async def story() -> None:
        async with staged(plane) as stage:
            stage.declared.overrides = [{"shard": "stage-1", "imageRef": "good-1"}]
            stage.declared.image = "good-2"
            async with stage.working():
                last = await stage.until(done("good-2"))
            images = await stage.images()
            assert images.pop("stage-1") == {"good-1"}
            assert all(tags == {"good-2"} for tags in images.values())
            assert last.plan is not None
            assert last.world is not None
            at = [t.name for t in last.world.targets].index("terraform-resources/stage-1")
            said = [
                sentence(v)
                for option in last.plan.options
                if option.target == at
                for v in option.verdicts
            ]
            assert any("integrations/terraform-resources.yml:" in each for each in said)

    asyncio.run(story())


def test_another_number_of_shards_never_has_two_owners(plane: ControlPlane) -> None:
    """The old set is gone to its last pod before the first of the new one is made."""

    async def story() -> None:
        async with staged(plane, "strategy: static\nshards: 3") as stage:
            stage.declared.sharding = "strategy: static\nshards: 5"
            seen: list[set[str]] = []
            async with stage.working(), owners(stage, seen):
                await stage.until(shaped("5"))
                await stage.until(done("good-1"))
            assert {"3"} in seen
            assert {"5"} in seen
            assert all(len(each) <= 1 for each in seen)
            (name,) = [each for each in stage.store.partitions() if each.endswith("+shards")]
            tasks = [
                task.target
                for entry in stage.store.read(name)
                if isinstance(fact := entry.fact(), Decided)
                for task in fact.tasks
            ]
            assert [each.partition("/")[0] for each in tasks] == ["drain"] * 3 + [INTEGRATION] * 5

    asyncio.run(story())


def test_a_dry_run_that_says_something_new_stops_every_target_until_it_is_accepted(
    plane: ControlPlane,
) -> None:
    """Two real jobs beside each other; the difference is named, and accepted by its digest."""
    dry = RULES.replace("rollout:\n", "rollout:\n  dryRun: {shard: stage-1}\n", 1)

    async def story() -> None:
        async with staged(plane) as stage:
            stage.declared.rules = dry
            stage.declared.image = "good-2"
            async with stage.working():
                await stage.until(done("good-2"))
            before = len(stage.order())
            stage.declared.image = "talks"
            async with stage.working():
                failed = await stage.until(
                    lambda each: each.plan is not None and each.plan.summary is Summary.FAILED
                )
                assert failed.plan is not None
                said = [sentence(v) for option in failed.plan.options for v in option.verdicts]
                (why,) = {each for each in said if "line differs" in each}
            assert {name for name, revision in stage.order()[before:] if revision == "talks"} == {
                "dry-run"
            }
            assert all(tags == {"good-2"} for tags in (await stage.images()).values())
            digest = why.partition("accepts: [")[2].partition("]")[0]
            stage.declared.rules = dry.replace("stage-1}", f"stage-1, accepts: ['{digest}']}}")
            stage.store.append(
                stage.declared.partition,
                [JournalNote(SystemClock().now(), "anna", Asked(verb=Verb.RETRY_FAILED))],
            )
            async with stage.working():
                await stage.until(done("talks"))
            assert all(tags == {"talks"} for tags in (await stage.images()).values())

    asyncio.run(story())
