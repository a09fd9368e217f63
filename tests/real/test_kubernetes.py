"""A real control plane, asked through the real adapter: what servers do to a caller."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any

import pytest
import yaml

from tests.contract.clusters import REAL, config_map, deployment
from tests.patience import PATIENCE_S
from tests.real.kube import ROOT, ControlPlane, Kubernetes
from tests.real.kubelet import METRICS_PORT, kubelet
from tidegate.kubernetes.client.access import ClusterAccess, read_access
from tidegate.kubernetes.client.cluster import KubernetesCluster
from tidegate.kubernetes.client.server import ServerLimits
from tidegate.kubernetes.client.watch import Watching
from tidegate.kubernetes.port import (
    CONFIG_MAP,
    DEPLOYMENT,
    POD,
    REPLICA_SET,
    ROLLOUT,
    STATEFUL_SET,
    AbsentError,
    ApplyOutcome,
    ConflictError,
    ExpiredError,
    FieldConflict,
    NotAllowedError,
    Object,
    ObjectEvent,
    ObjectRefusedError,
    Take,
)
from tidegate.model.errors import OutsideError

pytestmark = REAL

# One try, and no long wait for it: a source that is down is reported at once.
IMPATIENT = ServerLimits(tries_max=2, pause_s=0.05, total_s=5)


@pytest.fixture
def plane(kubernetes: Kubernetes) -> ControlPlane:
    """One control plane for all stories that leave it as it was."""
    return kubernetes.plane("one")


@pytest.fixture
def moving(kubernetes: Kubernetes) -> ControlPlane:
    """One whose controllers run, so that Deployments progress."""
    plane = kubernetes.plane("three")
    kubernetes.controllers(plane)
    return plane


def play(
    access: ClusterAccess, story: Callable[[KubernetesCluster], Awaitable[None]], **options: Any
) -> None:
    """A story on one cluster."""

    async def played() -> None:
        cluster = KubernetesCluster(access, **options)
        try:
            async with asyncio.timeout(PATIENCE_S * 2):
                await story(cluster)
        finally:
            await cluster.close()

    asyncio.run(played())


async def until(looked: Callable[[], Awaitable[bool]], pause_s: float = 0.1) -> None:
    """Look until it is so."""
    end = time.monotonic() + PATIENCE_S
    while not await looked():
        assert time.monotonic() < end, "it never came to pass"
        await asyncio.sleep(pause_s)


# Drift, and who may do what


def test_drift_is_shown_with_its_author(plane: ControlPlane) -> None:
    """A person scaled our Deployment: a dry run names the field and whose it is now."""
    ns = plane.namespace()

    async def story(cluster: KubernetesCluster) -> None:
        made = (await cluster.apply(deployment(ns, replicas=1))).object
        path = f"/apis/apps/v1/namespaces/{ns}/deployments/a/scale"
        scale: dict[str, Any] = await asyncio.to_thread(plane.ask, "GET", path)
        scale["spec"] = {"replicas": 3}
        await asyncio.to_thread(plane.ask, "PUT", f"{path}?fieldManager=kubectl", scale)
        with pytest.raises(ConflictError) as caught:
            await cluster.apply(deployment(ns, replicas=1), before=made, dry_run=True)
        assert caught.value.conflicts == (FieldConflict(".spec.replicas", "kubectl"),)
        back = await cluster.apply(deployment(ns, replicas=1), before=made, take=Take.BACK)
        assert back.object.document["spec"]["replicas"] == 1

    play(plane.access(), story)


def test_a_document_that_fits_no_schema_is_refused_at_once(plane: ControlPlane) -> None:
    """The server says 500, as if it were ill; it is the document that is."""
    ns = plane.namespace()
    misfit = deployment(ns, replicas="many")
    wordy = deployment(ns)
    limits = {"limits": {"memory": "2Gazillions"}}
    wordy["spec"]["template"]["spec"]["containers"][0]["resources"] = limits

    async def story(cluster: KubernetesCluster) -> None:
        with pytest.raises(ObjectRefusedError, match=r"\.spec\.replicas: expected numeric"):
            await cluster.apply(misfit)
        with pytest.raises(ObjectRefusedError, match="quantities must match"):
            await cluster.apply(wordy)
        with pytest.raises(ObjectRefusedError, match=r"\.spec\.replica: field not declared"):
            await cluster.apply(deployment(ns, replica=1))

    # It would take longer than the story lasts if it were tried again.
    play(plane.access(), story, limits=ServerLimits(pause_s=60, total_s=300))


def test_a_kind_that_a_server_does_not_have_is_told_from_one_that_cannot_be_read(
    plane: ControlPlane,
) -> None:
    async def story(cluster: KubernetesCluster) -> None:
        with pytest.raises(AbsentError, match="HTTP 404"):
            await cluster.read("", [ROLLOUT])

    play(plane.access(), story)


def test_an_unknown_or_forbidden_account_is_reported(plane: ControlPlane) -> None:
    """401 and 403 in words, for every call, and at once."""
    ns = plane.namespace()

    def refused(user: str, words: str) -> None:
        async def story(cluster: KubernetesCluster) -> None:
            with pytest.raises(NotAllowedError, match=words):
                await cluster.read(ns, [DEPLOYMENT])
            with pytest.raises(NotAllowedError, match=words):
                await cluster.apply(deployment(ns))
            with pytest.raises(NotAllowedError, match=words):
                await anext(cluster.watch(ns, DEPLOYMENT, "1"))

        play(plane.access(user), story)

    refused("wrong-token", r"one: deployment/.* it does not know us \(401\)")
    refused("nobody", r'one: deployment/.* not allowed \(403\): .* User "nobody" cannot')


def test_a_certificate_and_a_kubeconfig_open_the_same_door(plane: ControlPlane) -> None:
    """Whichever way we are known."""
    ns = plane.namespace()
    issued = plane.authority.issue("robot", group="system:masters")
    known = ClusterAccess(
        name="by-certificate",
        server=plane.url,
        ca=plane.authority.certificate.read_text(),
        certificate=issued.certificate.read_text(),
        key=issued.key.read_text(),
    )

    async def story(cluster: KubernetesCluster) -> None:
        assert (await cluster.apply(config_map(ns))).object.ours

    play(known, story)
    play(read_access(files=str(plane.kubeconfig())), story)
    stranger = ClusterAccess(name="stranger", server=plane.url, token=plane.tokens["admin"])

    async def distrusted(cluster: KubernetesCluster) -> None:
        with pytest.raises(
            OutsideError,
            match=r"not one we trust.*kubectl config set-cluster NAME --certificate-authority",
        ):
            await cluster.read(ns, [DEPLOYMENT])

    play(stranger, distrusted, limits=IMPATIENT)


def test_the_role_in_the_handbook_is_enough_and_no_more(plane: ControlPlane) -> None:
    """It lets us do everything the port has; other people's pods and secrets stay shut."""
    ns, elsewhere = plane.namespace(), plane.namespace()
    page = (ROOT / "docs/guides/kubernetes.md").read_text()
    block = page.split("```yaml\n", 1)[1].split("```", 1)[0]
    role, bindings = None, 0
    for document in yaml.safe_load_all(block):
        if document["kind"] == "ClusterRole":
            role = document
            plane.ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", document)
        if document["kind"] == "RoleBinding":
            document["metadata"]["namespace"] = ns
            document["subjects"] = [{"kind": "User", "name": "nobody"}]
            path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings"
            plane.ask("POST", path, document)
            bindings += 1
    assert role is not None
    assert bindings == 1

    async def story(cluster: KubernetesCluster) -> None:
        await allowed(cluster, ns)
        made = (await cluster.apply(deployment(ns), take=Take.OVER)).object
        read = await cluster.read(ns, [DEPLOYMENT, STATEFUL_SET, POD, CONFIG_MAP])
        assert not read.complete, "ConfigMaps are not ours to read"
        assert [each.name for each in read.objects] == ["a"]
        (gap,) = read.gaps
        assert "configmaps is forbidden" in gap
        assert (await cluster.release(made)).ours is False
        with pytest.raises(NotAllowedError, match="403"):
            await cluster.apply(deployment(elsewhere))

    # A role takes a moment to count.
    async def allowed(cluster: KubernetesCluster, namespace: str) -> None:
        async def looked() -> bool:
            try:
                return (await cluster.read(namespace, [DEPLOYMENT])).complete
            except NotAllowedError:
                return False

        await until(looked)

    play(plane.access("nobody"), story)


# A server that dies


def test_a_server_killed_in_the_middle_of_an_apply_is_waited_for(kubernetes: Kubernetes) -> None:
    """Every object is there once, as it was asked for; nothing has to begin again."""
    plane = kubernetes.plane("mortal")
    ns, count = plane.namespace(), 300
    done = 0

    async def story(cluster: KubernetesCluster) -> None:
        async def one(number: int) -> ApplyOutcome:
            nonlocal done
            applied = await cluster.apply(deployment(ns, f"d{number}", replicas=0))
            done += 1
            return applied.outcome

        tasks = [asyncio.create_task(one(number)) for number in range(count)]

        async def some() -> bool:
            return done >= count // 5

        await until(some, 0.001)
        assert plane.api is not None
        await asyncio.to_thread(plane.api.kill)
        assert done < count, "it was killed too late to prove anything"
        await asyncio.sleep(1)
        await asyncio.to_thread(plane.restart)
        outcomes = await asyncio.gather(*tasks)
        assert set(outcomes) <= {ApplyOutcome.CREATED, ApplyOutcome.CONFIGURED}
        read = await cluster.read(ns, [DEPLOYMENT])
        assert read.complete
        assert {each.name for each in read.objects} == {f"d{n}" for n in range(count)}
        assert {each.document["metadata"]["generation"] for each in read.objects} == {1}
        again = await asyncio.gather(
            *(
                cluster.apply(deployment(ns, each.name, replicas=0), before=each)
                for each in read.objects
            )
        )
        assert {each.outcome for each in again} == {ApplyOutcome.UNCHANGED}

    play(plane.access(), story)


def test_a_watcher_of_a_server_knows_what_is_there_after_it_died(
    kubernetes: Kubernetes,
) -> None:
    """A watch goes on where it was, or says that it cannot; then a new reading tells."""
    plane = kubernetes.plane("mortal")
    ns = plane.namespace()
    known: set[str] = set()

    async def follow(cluster: KubernetesCluster) -> None:
        while True:
            read = await cluster.read(ns, [CONFIG_MAP], "app")
            known.clear()
            known.update(each.name for each in read.objects)
            after = read.versions["ConfigMap"]
            with suppress(ExpiredError):
                async with aclosing(cluster.watch(ns, CONFIG_MAP, after, "app")) as events:
                    async for event in events:
                        gone = event.change is ObjectEvent.DELETED
                        (known.discard if gone else known.add)(event.object.name)

    async def story(cluster: KubernetesCluster) -> None:
        async def knows(*names: str) -> None:
            async def looked() -> bool:
                assert not following.done(), following.exception()
                return known == set(names)

            await until(looked, 0.02)

        following = asyncio.create_task(follow(cluster))
        first = (await cluster.apply(config_map(ns, "first"))).object
        await knows("first")
        assert plane.api is not None
        await asyncio.to_thread(plane.api.kill)
        await asyncio.to_thread(plane.restart)
        await cluster.apply(config_map(ns, "second"))
        await knows("first", "second")
        await cluster.delete(first)
        await cluster.apply(config_map(ns, "third"))
        await knows("second", "third")
        following.cancel()

    play(plane.access(), story)


def test_one_cluster_of_three_that_is_down_holds_nothing_up(kubernetes: Kubernetes) -> None:
    """It is named; the other two get everything; no one concludes that it is empty."""
    planes = kubernetes.planes("one", "mortal", "three")
    namespaces = [plane.namespace() for plane in planes]
    down = planes[1]
    assert down.api is not None
    down.api.kill()

    async def story() -> None:
        clusters = [KubernetesCluster(plane.access(), limits=IMPATIENT) for plane in planes]
        try:
            applied = await asyncio.gather(
                *(
                    cluster.apply(deployment(ns, f"d{number}"))
                    for cluster, ns in zip(clusters, namespaces, strict=True)
                    for number in range(50)
                ),
                return_exceptions=True,
            )
            read = await asyncio.gather(
                *(
                    cluster.read(ns, [DEPLOYMENT])
                    for cluster, ns in zip(clusters, namespaces, strict=True)
                ),
                return_exceptions=True,
            )
        finally:
            for cluster in clusters:
                await cluster.close()
        failed = [each for each in applied if isinstance(each, BaseException)]
        assert len(failed) == 50
        assert all("mortal: deployment/" in str(each) for each in failed)
        assert all("cannot be reached" in str(each) for each in failed)
        first, second, third = read
        assert isinstance(second, OutsideError)
        assert not isinstance(first, BaseException)
        assert not isinstance(third, BaseException)
        assert (len(first.objects), len(third.objects)) == (50, 50)

    try:
        asyncio.run(asyncio.wait_for(story(), PATIENCE_S))
    finally:
        down.restart()


def test_a_log_is_followed_through_the_death_of_the_server(kubernetes: Kubernetes) -> None:
    """A line a run: none twice, none left out."""
    plane = kubernetes.plane("mortal")
    kubernetes.controllers(plane)
    ns = plane.namespace()
    told: list[str] = []

    async def story(cluster: KubernetesCluster) -> None:
        async def follow(name: str) -> None:
            async with aclosing(cluster.logs(ns, name, follow=True)) as lines:
                async for line in lines:
                    told.append(line)  # noqa: PERF401  it is looked at meanwhile

        async with kubelet(plane) as nodes:
            await cluster.apply(deployment(ns, replicas=1))

            async def ready() -> bool:
                return bool(nodes.ready)

            async def more() -> bool:
                return len(told) > count

            await until(ready)
            ((pod, _),) = nodes.ready.values()
            following = asyncio.create_task(follow(pod["metadata"]["name"]))
            count = 3
            await until(more)
            assert plane.api is not None
            await asyncio.to_thread(plane.api.kill)
            await asyncio.to_thread(plane.restart)
            count = len(told) + 10
            await until(more)
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
        assert told == [f"run {number}" for number in range(len(told))]

    play(plane.access(), story)


# A server that forgets, or knows nothing yet


def test_a_watch_from_the_future_is_not_taken_for_peace(plane: ControlPlane) -> None:
    """The server is silent for ever, as after an older copy was restored: read anew."""
    ns = plane.namespace()

    async def story(cluster: KubernetesCluster) -> None:
        events = cluster.watch(ns, CONFIG_MAP, "999999999")
        with pytest.raises(ExpiredError, match="not a word in 2 s"):
            await anext(events)

    play(plane.access(), story, watching=Watching(period_s=2))


def test_pages_that_grew_too_old_are_read_again(kubernetes: Kubernetes) -> None:
    """However often the history goes while a list is read, what comes of it is whole."""
    plane = kubernetes.plane("uncached", "--watch-cache=false")
    ns, names = plane.namespace(), [f"n{number:02d}" for number in range(40)]

    async def story(cluster: KubernetesCluster) -> None:
        await asyncio.gather(*(cluster.apply(config_map(ns, name)) for name in names))

        async def forget() -> None:
            for _ in range(2):
                await cluster.apply(config_map(ns, "n00", x=str(time.monotonic_ns())))
                await asyncio.to_thread(kubernetes.etcd.compact)

        for _ in range(5):
            forgetting = asyncio.create_task(forget())
            read = await cluster.read(ns, [CONFIG_MAP], selector="app")
            await forgetting
            assert [each.name for each in read.objects] == names
            assert read.complete

    play(plane.access(), story, page=1, limits=ServerLimits(concurrency_max=3))


# Deployments that progress


def _available(found: Object | None) -> bool:
    assert found is not None
    wanted: int = found.document["spec"]["replicas"]
    status = found.document.get("status") or {}
    seen = status.get("observedGeneration") == found.document["metadata"]["generation"]
    updated = status.get("updatedReplicas", 0) == status.get("availableReplicas", 0) == wanted
    return bool(seen and updated and status.get("replicas") == wanted)


def test_deployments_progress_and_are_adopted_without_a_restart(moving: ControlPlane) -> None:
    """Under the real controllers; adopting, applying the same and giving back touch no pod."""
    ns = moving.namespace()

    async def story(cluster: KubernetesCluster) -> None:
        theirs = KubernetesCluster(moving.access(), manager="kubectl")
        async with kubelet(moving, metrics=True) as nodes:

            async def available() -> bool:
                return _available(await cluster.get(DEPLOYMENT, ns, "a"))

            await theirs.apply(deployment(ns, replicas=2))
            await theirs.close()
            await until(available)
            before = await cluster.get(DEPLOYMENT, ns, "a")
            pods = await cluster.read(ns, [POD, REPLICA_SET])
            adopted = await cluster.apply(deployment(ns, replicas=2), before=before)
            await cluster.release(adopted.object)
            ours = await cluster.apply(deployment(ns, replicas=2), take=Take.OVER)
            assert ours.object.ours
            again = await cluster.read(ns, [POD, REPLICA_SET])
            assert {each.uid for each in again.objects} == {each.uid for each in pods.objects}
            assert ours.object.document["metadata"]["generation"] == 1
            await _scraped(nodes.ready, ns)
            second = deployment(ns, image="registry.test/a:2", replicas=2)
            await cluster.apply(second, take=Take.BACK)
            await until(available)
            # Its status is written to all the time: that is no change to its owner.
            newest = await cluster.get(DEPLOYMENT, ns, "a")
            assert newest is not None
            stale = await cluster.apply(
                deployment(ns, image="registry.test/a:3", replicas=2), before=newest
            )
            await until(available)
            assert await cluster.delete(stale.object)

            async def gone() -> bool:
                return not (await cluster.read(ns, [POD, REPLICA_SET])).objects

            await until(gone)

    play(moving.access(), story)


async def _scraped(ready: dict[str, Any], ns: str) -> None:
    """A pod tells its numbers at its own address; those of other tests may be there still."""
    import aiohttp

    address = next(a for a, (pod, _) in ready.items() if pod["metadata"]["namespace"] == ns)
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://{address}:{METRICS_PORT}/metrics") as answer,
    ):
        assert "qontract_reconcile_last_run_status 0" in await answer.text()


def test_an_image_that_cannot_be_pulled_is_seen_in_the_deployment(moving: ControlPlane) -> None:
    """The old pods stay; the controller says that the deadline has passed."""
    ns = moving.namespace()

    async def story(cluster: KubernetesCluster) -> None:
        async with kubelet(moving):

            async def available() -> bool:
                return _available(await cluster.get(DEPLOYMENT, ns, "a"))

            async def overdue() -> bool:
                found = await cluster.get(DEPLOYMENT, ns, "a")
                assert found is not None
                conditions = found.document["status"].get("conditions", ())
                return any(c.get("reason") == "ProgressDeadlineExceeded" for c in conditions)

            fields: dict[str, Any] = {"replicas": 1, "progressDeadlineSeconds": 2}
            await cluster.apply(deployment(ns, **fields))
            await until(available)
            await cluster.apply(deployment(ns, image="registry.test/a:broken", **fields))
            await until(overdue)
            found = await cluster.get(DEPLOYMENT, ns, "a")
            assert found is not None
            assert found.document["status"]["availableReplicas"] == 1

    play(moving.access(), story)
