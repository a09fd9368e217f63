"""A check on a real control plane: Jobs of both images beside each other, and gone afterwards."""

import asyncio

import pytest

from tests.contract.clusters import REAL
from tests.real.kube import ControlPlane, Kubernetes
from tests.real.kubelet import kubelet
from tests.staged import INTEGRATION, Declared
from tidegate.kinds.integrations.app.check.runs import CheckData, CheckLimits, CheckRuns
from tidegate.kinds.integrations.core.review.affected import CheckedSide, affected_by
from tidegate.kinds.integrations.core.review.effect import effects_of
from tidegate.kinds.integrations.core.review.fault import CheckFault
from tidegate.kinds.integrations.fleet.dry_jobs import JobRunner
from tidegate.kubernetes.client.cluster import KubernetesCluster
from tidegate.kubernetes.port import JOB, POD

pytestmark = REAL


@pytest.fixture
def plane(kubernetes: Kubernetes) -> ControlPlane:
    """One whose controllers run."""
    plane = kubernetes.plane("three")
    kubernetes.controllers(plane)
    return plane


def test_the_new_lines_of_a_new_image_are_found_and_its_jobs_are_gone(plane: ControlPlane) -> None:
    """With the image before it says one line less; both succeed."""

    async def story() -> None:
        cluster = KubernetesCluster(plane.access())
        namespace = plane.namespace()
        declared = Declared(namespace)
        declared.accounts = {"stage-1": "stage", "prod-1": "prod"}
        base = await declared.estates.read()
        declared.image = "talks"
        head = await declared.estates.read()
        views = [
            CheckedSide(estate=each, integrations=tuple(place.integration for place in each.places))
            for each in (base, head)
        ]
        affected = affected_by(views[0], views[1], effects_of(base, head), {})
        runner = JobRunner(lambda _: cluster, every_s=0.2)
        limits = CheckLimits(time_s=60.0, retries=0)
        checking = CheckRuns(runner, limits, CheckData(), lambda *_: None, lambda _: None, key="k")
        try:
            async with kubelet(plane):
                results = await checking.all(affected.cases)
                for _ in range(100):
                    if not (left := (await cluster.read(namespace, [JOB, POD])).objects):
                        break
                    await asyncio.sleep(0.2)
        finally:
            await runner.close()
            await cluster.close()
        assert [each.case.shard for each in results] == [
            f"{INTEGRATION}/prod-1",
            f"{INTEGRATION}/stage-1",
        ]
        assert {each.judgement.fault for each in results} == {CheckFault.OK}
        assert {len(each.judgement.difference.added) for each in results} == {1}
        assert left == ()

    asyncio.run(story())
