"""What becomes of workloads, whichever cluster they are applied to: statuses, pods, deadlines."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.contract.clusters import (
    EVERY,
    Stage,
    deployment,
    job,
    loop,
    running_stage_of,
    until,
)
from tidegate.kubernetes.port import (
    DEPLOYMENT,
    JOB,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
    Cluster,
    Object,
    ResourceKind,
)
from tidegate.model.errors import OutsideError


@pytest.fixture(params=EVERY)
def stage(request: pytest.FixtureRequest) -> Stage:
    """Clusters in which pods run."""
    return running_stage_of(request.param, request)


async def found(us: Cluster, kind: ResourceKind, ns: str, name: str = "a") -> Object:
    """One object that is there."""
    there = await us.get(kind, ns, name)
    assert there is not None
    return there


def is_out(there: Object) -> bool:
    """Whether all pods are new and available."""
    wanted: int = there.document["spec"]["replicas"]
    status = there.document.get("status") or {}
    seen = status.get("observedGeneration") == there.document["metadata"]["generation"]
    counts = {status.get(f"{name}Replicas", 0) for name in ("updated", "ready", "available")}
    return seen and counts == {wanted} and status.get("replicas", 0) == wanted


def when(
    us: Cluster, kind: ResourceKind, ns: str, holds: Callable[[Object], bool]
) -> Callable[[], Awaitable[bool]]:
    """Whether something holds of the only workload."""

    async def looked() -> bool:
        return holds(await found(us, kind, ns))

    return looked


async def pods(us: Cluster, ns: str) -> list[Object]:
    """All pods, by name."""
    read = await us.read(ns, [POD])
    return sorted(read.objects, key=lambda each: each.name)


def condition(there: Object, kind: str) -> dict[str, Any]:
    """One of its conditions; empty if it has none of the kind."""
    status = there.document.get("status") or {}
    every = status.get("conditions") or ()
    return next((each for each in every if each["type"] == kind), {})


def test_a_deployment_gets_its_pods(stage: Stage) -> None:
    """As many as are wished, each saying whose it is, what it runs and since when."""

    async def story(us: Cluster, _: Cluster, ns: str) -> None:
        made = (await us.apply(deployment(ns, replicas=2))).object
        assert made.document["metadata"]["generation"] == 1
        await until(when(us, DEPLOYMENT, ns, is_out))
        one, two = await pods(us, ns)
        there = await found(us, DEPLOYMENT, ns)
        assert condition(there, "Progressing")["reason"] == "NewReplicaSetAvailable"
        assert condition(there, "Available")["status"] == "True"
        for pod in (one, two):
            assert not pod.ours
            assert pod.document["metadata"]["labels"]["app"] == "a"
            (owner,) = pod.document["metadata"]["ownerReferences"]
            assert owner["kind"] == "ReplicaSet"
            between = await found(us, REPLICA_SET, ns, owner["name"])
            (top,) = between.document["metadata"]["ownerReferences"]
            assert (top["kind"], top["name"], top["uid"]) == ("Deployment", "a", made.uid)
            status = pod.document["status"]
            assert status["phase"] == "Running"
            (container,) = status["containerStatuses"]
            assert container["image"] == "registry.test/a:1"
            assert "sha256:" in container["imageID"]
            assert container["restartCount"] == 0
            assert container["state"]["running"]["startedAt"] > "2026"
        assert one.document["status"]["podIP"] != two.document["status"]["podIP"]

    stage.play(story, runs=True)


def test_a_new_image_replaces_every_pod_and_the_same_replaces_none(stage: Stage) -> None:
    """The generation counts wishes, and nothing else."""

    async def story(us: Cluster, _: Cluster, ns: str) -> None:
        await us.apply(deployment(ns, replicas=2))
        await until(when(us, DEPLOYMENT, ns, is_out))
        before = {each.uid for each in await pods(us, ns)}
        again = await us.apply(deployment(ns, replicas=2), before=await found(us, DEPLOYMENT, ns))
        assert again.outcome == "unchanged"
        assert {each.uid for each in await pods(us, ns)} == before
        await us.apply(deployment(ns, image="registry.test/a:2", replicas=2))

        async def replaced() -> bool:
            there = await found(us, DEPLOYMENT, ns)
            return is_out(there) and len(await pods(us, ns)) == 2

        await until(replaced)
        after = await pods(us, ns)
        assert not before & {each.uid for each in after}
        images = [each.document["status"]["containerStatuses"][0]["image"] for each in after]
        assert images == ["registry.test/a:2"] * 2
        there = await found(us, DEPLOYMENT, ns)
        assert there.document["metadata"]["generation"] == 2

    stage.play(story, runs=True)


def test_what_is_scaled_to_nothing_or_deleted_loses_its_pods(stage: Stage) -> None:
    """After a while; and what it reads like then."""

    async def story(us: Cluster, _: Cluster, ns: str) -> None:
        async def empty() -> bool:
            return not await pods(us, ns)

        await us.apply(deployment(ns, replicas=2))
        await until(when(us, DEPLOYMENT, ns, is_out))
        await us.apply(deployment(ns, replicas=0))
        await until(empty)
        await until(when(us, DEPLOYMENT, ns, is_out))
        await us.apply(deployment(ns, replicas=1))
        await until(when(us, DEPLOYMENT, ns, is_out))
        assert await us.delete(await found(us, DEPLOYMENT, ns))
        await until(empty)

    stage.play(story, runs=True)


def test_an_image_that_never_gets_ready_is_seen_in_the_deployment(stage: Stage) -> None:
    """The old pods stay, and the deadline passes with a word; the old image fixes it."""

    async def story(us: Cluster, _: Cluster, ns: str) -> None:
        def late(there: Object) -> bool:
            progress = condition(there, "Progressing")
            return progress.get("reason") == "ProgressDeadlineExceeded"

        async def pulls_in_vain() -> bool:
            reasons = {
                container["state"]["waiting"]["reason"]
                for pod in await pods(us, ns)
                for container in pod.document["status"].get("containerStatuses", ())
                if "waiting" in container["state"]
            }
            return reasons == {"ImagePullBackOff"}

        fields: dict[str, Any] = {"replicas": 1, "progressDeadlineSeconds": 1}
        await us.apply(deployment(ns, **fields))
        await until(when(us, DEPLOYMENT, ns, is_out))
        await us.apply(deployment(ns, image="registry.test/a:broken", **fields))
        # A busy server is late before the new pod is there, and then makes progress again.
        await until(pulls_in_vain)
        await until(when(us, DEPLOYMENT, ns, late))
        there = await found(us, DEPLOYMENT, ns)
        assert condition(there, "Progressing")["status"] == "False"
        assert there.document["status"]["availableReplicas"] == 1
        await us.apply(deployment(ns, **fields))
        await until(when(us, DEPLOYMENT, ns, is_out))
        assert condition(await found(us, DEPLOYMENT, ns), "Progressing")["status"] == "True"

    stage.play(story, runs=True)


def test_a_stateful_set_replaces_its_pods_by_number(stage: Stage) -> None:
    """Their names stay."""

    async def story(us: Cluster, _: Cluster, ns: str) -> None:
        document = deployment(ns, replicas=2)
        document["kind"] = "StatefulSet"
        await us.apply(document)
        await until(when(us, STATEFUL_SET, ns, is_out))
        before = await pods(us, ns)
        assert [each.name for each in before] == ["a-0", "a-1"]
        document["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.test/a:2"
        await us.apply(document)
        await until(when(us, STATEFUL_SET, ns, is_out))
        after = await pods(us, ns)
        assert [each.name for each in after] == ["a-0", "a-1"]
        assert not {each.uid for each in before} & {each.uid for each in after}
        status = (await found(us, STATEFUL_SET, ns)).document["status"]
        assert status["currentRevision"] == status["updateRevision"]

    stage.play(story, runs=True)


def test_a_stateful_set_that_is_stuck_stays_so_whatever_is_wished(stage: Stage) -> None:
    """A pod that never got ready is not replaced by a better one, unless a person deletes it."""

    async def story(us: Cluster, _: Cluster, ns: str) -> None:
        document = deployment(ns, image="registry.test/a:broken", replicas=1)
        document["kind"] = "StatefulSet"
        await us.apply(document)

        async def there() -> bool:
            return len(await pods(us, ns)) == 1

        def seen(found: Object) -> bool:
            return bool((found.document.get("status") or {}).get("observedGeneration") == 2)

        await until(there)
        (before,) = await pods(us, ns)
        document["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.test/a:1"
        await us.apply(document)
        await until(when(us, STATEFUL_SET, ns, seen))
        await asyncio.sleep(0.5)
        (after,) = await pods(us, ns)
        assert after.uid == before.uid
        status = (await found(us, STATEFUL_SET, ns)).document["status"]
        assert status["currentRevision"] != status["updateRevision"]
        assert not is_out(await found(us, STATEFUL_SET, ns))
        assert await us.end(after)
        await until(when(us, STATEFUL_SET, ns, is_out))
        assert not await us.end(after)

    stage.play(story, runs=True)


@pytest.mark.parametrize("tag", ["1", "failing"])
def test_a_job_runs_once_and_its_log_stays(stage: Stage, tag: str) -> None:
    """With the exit code of its run."""
    failing = tag == "failing"

    async def story(us: Cluster, _: Cluster, ns: str) -> None:
        def ended(there: Object) -> bool:
            kind = "Failed" if failing else "Complete"
            return condition(there, kind).get("status") == "True"

        await us.apply(job(ns, image=f"registry.test/a:{tag}"))
        await until(when(us, JOB, ns, ended))
        status = (await found(us, JOB, ns)).document["status"]
        assert (status.get("succeeded", 0), status.get("failed", 0)) == (not failing, failing)
        (pod,) = await pods(us, ns)
        (container,) = pod.document["status"]["containerStatuses"]
        assert container["state"]["terminated"]["exitCode"] == int(failing)
        assert pod.document["status"]["phase"] == ("Failed" if failing else "Succeeded")
        assert [line async for line in us.logs(ns, pod.name)]
        assert [line async for line in us.logs(ns, pod.name, follow=True)], "it comes to an end"

    stage.play(story, runs=True)


def test_a_pod_that_does_not_run_yet_has_no_log(stage: Stage) -> None:
    """And that is said."""

    async def story(us: Cluster, _: Cluster, ns: str) -> None:
        await us.apply(loop(ns, image="registry.test/a:broken"))

        async def there() -> bool:
            for pod in await pods(us, ns):
                statuses = pod.document["status"].get("containerStatuses") or ()
                if any("waiting" in each["state"] for each in statuses):
                    return True
            return False

        await until(there)
        (pod,) = await pods(us, ns)
        with pytest.raises(OutsideError, match="is waiting to start"):
            await anext(us.logs(ns, pod.name))

    stage.play(story, runs=True)
