"""A namespace on a real control plane, kept equal to Git by the real engine."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.contract.clusters import REAL
from tests.patience import PATIENCE_S
from tests.real.kube import ControlPlane, Kubernetes
from tests.real.kubelet import METRICS_PORT, kubelet
from tests.staged import Declared
from tidegate.app.partitions.journals import Journals
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.worker import Worker
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.explain.view import PartitionView
from tidegate.journal.facts import Acted
from tidegate.kind_table import rules_of
from tidegate.kinds.integrations.core.workloads.live import LiveWorkload, workload_of
from tidegate.kinds.integrations.kind import NamespaceKind
from tidegate.kinds.rollouts.kind import RolloutKind
from tidegate.kubernetes.client.cluster import KubernetesCluster
from tidegate.kubernetes.client.pods import PodReach
from tidegate.kubernetes.port import DEPLOYMENT, Take
from tidegate.machine.system_clock import SystemClock
from tidegate.store.client.memory import MemoryStore

pytestmark = REAL
DEV = "qontract-reconcile-terraform-resources-ter-int-dev"
UNIT = "terraform-resources/ter-int-dev"


@pytest.fixture
def plane(kubernetes: Kubernetes) -> ControlPlane:
    """One whose controllers run."""
    plane = kubernetes.plane("three")
    kubernetes.controllers(plane)
    return plane


class Stage:
    """A bundle that is edited, its cluster, and what a worker makes of it."""

    def __init__(self, declared: Declared, cluster: KubernetesCluster) -> None:
        self.git, self.cluster = declared, cluster
        self.partition = f"integrations/{declared.cluster}.{declared.namespace}"
        self.store, self.clock = MemoryStore(), SystemClock()
        self.troubles: list[str] = []

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """For as long as a worker runs."""
        fleet = self.git.fleet(lambda _: self.cluster, self.clock, port=METRICS_PORT, look_s=0.1)
        settings = WorkerSettings(
            holder="w", act=("*",), discover_s=0.2, listen_s=0.1, resync_s=0.3
        )
        worker = Worker(
            self.store,
            (RolloutKind(fleet), NamespaceKind(fleet)),
            self.clock,
            Executor(Limits(), Breaker()),
            settings,
            lambda _, outcome: (
                self.troubles.append(repr(outcome)) if isinstance(outcome, Exception) else None
            ),
        )
        task = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            worker.stop()
            await task

    async def workloads(self) -> dict[str, LiveWorkload]:
        """Every Deployment there is."""
        read = await self.cluster.read(self.git.namespace, [DEPLOYMENT])
        return {each.name: workload_of(each.document) for each in read.objects}

    def view(self) -> PartitionView | None:
        """The namespace as readers see it."""
        found = Journals(self.store, rules_of, self.clock.now()).read(self.partition)
        return None if found is None else found.view

    def details(self) -> list[str]:
        """What was noted of each act."""
        facts = (entry.fact() for entry in self.store.read(self.partition))
        return [fact.detail for fact in facts if isinstance(fact, Acted)]

    async def until(self, so: Callable[[dict[str, LiveWorkload]], bool], what: str) -> None:
        """Until something is so of the workloads, and nothing is left to do."""
        try:
            async with asyncio.timeout(PATIENCE_S * 2):
                while True:
                    view = self.view()
                    rests = view is not None and view.summary == "Succeeded"
                    if rests and so(await self.workloads()):
                        return
                    await asyncio.sleep(0.1)
        except TimeoutError:
            view = self.view()
            rows = [(row.name, row.state, row.shut) for row in view.targets] if view else []
            lines = "\n".join(map(str, (*rows, *self.troubles[-5:])))
            raise AssertionError(f"it never happened: {what}\n{lines}") from None


def test_a_namespace_is_kept_equal_to_git(plane: ControlPlane) -> None:
    """Created, overridden, given other arguments, put back where a person edited it, and removed.

    What another manager runs beside it stays as it is.
    """

    async def story() -> None:
        cluster = KubernetesCluster(plane.access(), reach=PodReach.DIRECT)
        person = KubernetesCluster(plane.access(), manager="kubectl-edit")
        stage = Stage(Declared(plane.namespace()), cluster)
        theirs = other(stage.git.namespace)
        try:
            await person.apply(theirs)
            async with kubelet(plane, metrics=True), stage.working():
                await stage.until(lambda found: len(found) == 7, "all are created")
                stage.git.overrides = [{"shard": "ter-int-dev", "imageRef": "fix-1"}]
                await stage.until(lambda found: found[DEV].image.endswith(":fix-1"), "overridden")
                stage.git.arguments, stage.git.numbered = "--more", 1
                await stage.until(
                    lambda found: (
                        len(found) == 8
                        and all(
                            "--more" in each.env["INTEGRATION_EXTRA_ARGS"]
                            for name, each in found.items()
                            if name != "theirs"
                        )
                    ),
                    "other arguments, and one more",
                )
                await person.apply(scaled(stage.git.namespace), take=Take.OVER)
                await stage.until(lambda found: found[DEV].replicas == 1, "put back")
                assert any("kubectl-edit" in each for each in stage.details())
                stage.git.numbered = 0
                await stage.until(lambda found: len(found) == 7, "removed")
                left = await cluster.get(DEPLOYMENT, stage.git.namespace, "theirs")
                assert left is not None
                assert not left.ours
                head = stage.store.head(stage.partition).seq
                await asyncio.sleep(2)
                assert stage.store.head(stage.partition).seq == head, "it rests"
            rules = rules_of(stage.partition)
            again = list(rules.replay(stage.store.read(stage.partition), lambda *_: {}))
            assert again
            assert not [each for each in again if each.difference is not None]
        finally:
            await cluster.close()
            await person.close()
            await asyncio.sleep(0.25)

    asyncio.run(story())


def scaled(namespace: str) -> dict[str, Any]:
    """What a person writes who scales a shard."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": DEV, "namespace": namespace},
        "spec": {"replicas": 3},
    }


def other(namespace: str) -> dict[str, Any]:
    """What another manager runs, with our label on it."""
    labels = {"app": "theirs"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "theirs",
            "namespace": namespace,
            "labels": {"app.kubernetes.io/managed-by": "tidegate"},
        },
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "int", "image": "quay.io/x/y:z"}]},
            },
        },
    }
