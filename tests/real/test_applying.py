"""Integrations on real control planes: applied, put back, removed, adopted, given back.

Servers fill in defaults, write amounts their own way and drop empty texts; controllers write to
what we applied. None of that may look like a difference, and nothing of it may restart a pod.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.clusters import REAL
from tests.estates import estate, integration, managed, namespace
from tests.folders import Folder
from tests.patience import PATIENCE_S
from tests.real.kube import ADMIN, NOBODY, ROOT, ControlPlane, Kubernetes
from tests.real.kubelet import kubelet
from tests.vectors.test_rendering import FOLDER, OVERLAY
from tidegate.documents.strict_yaml import read_yaml
from tidegate.kinds.integrations.app.executor import (
    ObjectExecutor,
    ObjectOutcome,
    ObjectResult,
    apply,
    preview,
    release,
)
from tidegate.kinds.integrations.app.survey import KINDS, read_clusters
from tidegate.kinds.integrations.core.objects.changes import changes_of
from tidegate.kinds.integrations.core.workloads.change import ObjectAction, PlannedChange
from tidegate.kinds.integrations.core.workloads.changes import ChangeRequest
from tidegate.kinds.integrations.core.workloads.estate import (
    MANAGED_BY,
    US,
    Estate,
    Site,
    estate_of,
)
from tidegate.kinds.integrations.wire.shard_line import decode
from tidegate.kubernetes.client.cluster import KubernetesCluster
from tidegate.kubernetes.client.server import ServerLimits
from tidegate.kubernetes.port import DEPLOYMENT, POD, REPLICA_SET, Cluster
from tidegate.model.problem import Problems

pytestmark = REAL

# A source that is down is reported at once.
IMPATIENT = ServerLimits(tries_max=2, pause_s=0.05, total_s=5)
_PREFIX = "qontract-reconcile-"
PLANES = ("applied-1", "applied-2", "applied-3")


@pytest.fixture
def planes(kubernetes: Kubernetes) -> Iterator[list[ControlPlane]]:
    """Three clusters of this file's own; whatever is ours there at the end is taken away."""
    found = kubernetes.planes(*PLANES)
    yield found

    async def clean() -> None:
        for plane in found:
            cluster = KubernetesCluster(plane.access())
            for each in (await cluster.read("", KINDS, f"{MANAGED_BY}={US}")).objects:
                path = f"{each.kind.plural}/{each.name}"
                group = "api" if each.kind.api_version == "v1" else "apis"
                url = f"/{group}/{each.kind.api_version}/namespaces/{each.namespace}/{path}"
                await asyncio.to_thread(plane.ask, "DELETE", url)
            await cluster.close()

    asyncio.run(clean())


class Stage:
    """An estate on real clusters, through the engine."""

    def __init__(self, *planes: ControlPlane, limits: ServerLimits | None = None) -> None:
        self.clusters: dict[str, Cluster] = {
            plane.name: KubernetesCluster(plane.access(), limits=limits) for plane in planes
        }
        self.executor = ObjectExecutor(clusters=self.clusters, objects={})

    async def plan(self, wanted: Estate, *, adopt: bool = False) -> tuple[PlannedChange, ...]:
        """What would be done, by the servers' own word."""
        spaces: dict[str, set[str]] = {}
        for piece in wanted.pieces():
            spaces.setdefault(piece.cluster, set()).add(piece.namespace)
        sights = await read_clusters(self.clusters, spaces)
        seen = {name: sight.seen for name, sight in sights.items()}
        objects = {key: each for sight in sights.values() for key, each in sight.objects.items()}
        self.executor = ObjectExecutor(clusters=self.clusters, objects=objects, consent=adopt)
        changes = changes_of(wanted, seen, ChangeRequest(adopt=adopt))
        return (await preview(changes, self.executor))[0]

    async def apply(self, wanted: Estate, *, adopt: bool = False) -> tuple[ObjectResult, ...]:
        """Do it."""
        return await apply(await self.plan(wanted, adopt=adopt), self.executor)

    async def __aenter__(self) -> "Stage":
        return self

    async def __aexit__(self, *_: object) -> None:
        """Let go of all clusters."""
        for cluster in self.clusters.values():
            await cluster.close()


def tidegate(
    planes: list[ControlPlane], folder: Folder, command: str, *arguments: str, user: str = ADMIN
) -> subprocess.CompletedProcess[str]:
    """The command as people run it."""
    config = os.pathsep.join(str(plane.kubeconfig(user)) for plane in planes)
    cache = str(folder.root.parent / "cache")
    return subprocess.run(
        [sys.executable, "-m", "tidegate", command, str(folder.root), *arguments],
        cwd=folder.root.parent,
        env={**os.environ, "KUBECONFIG": config, "XDG_CACHE_HOME": cache},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S * 2,
    )


def acts(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """What was done, by the name of the object."""
    lines = (line.partition(" in ")[0].split() for line in done.stdout.splitlines())
    return {where: outcome for where, outcome, *_ in lines}


@pytest.fixture
def folder(planes: list[ControlPlane], tmp_path: Path) -> Folder:
    """Every kind of workload in one namespace of the first cluster."""
    plane = planes[0]
    found = Folder(tmp_path / "bundle", {plane.name: "production"}, plane.namespace())
    found.integration("terraform-resources", sharding="strategy: per-aws-account")
    found.integration("keeps-a-cache", more="    cache: true\n    state: true\n")
    found.integration("now-and-then", more='    cron: "0 * * * *"\n')
    found.integration("plain", more="    extraEnv: [{name: EMPTY, value: ''}]\n")
    return found


def test_what_was_applied_is_unchanged_whatever_servers_make_of_it(
    planes: list[ControlPlane], folder: Folder
) -> None:
    """Of every kind, with a site's overlay; no request is made about it."""
    overlay = ("--overlay", str(ROOT / "examples/overlays/fluentd.yaml"))
    done = tidegate(planes, folder, "apply", "--yes", *overlay)
    assert done.returncode == 0, done.stderr
    assert set(acts(done).values()) == {"created"}
    assert {where.partition("/")[0] for where in acts(done)} == {
        "service",
        "deployment",
        "statefulset",
        "cronjob",
    }
    same = tidegate(planes, folder, "plan", *overlay)
    assert same.stdout == "6 unchanged · 0 restarts\n", same.stderr
    again = tidegate(planes, folder, "apply", "--yes", *overlay)
    assert (again.returncode, set(acts(again).values())) == (0, {"unchanged"})
    assert tidegate(planes, folder, "diff", *overlay).returncode == 0


def test_drift_is_put_back_and_fields_of_another_owner_are_reported(
    planes: list[ControlPlane], folder: Folder
) -> None:
    """Scaled by hand: back to one. Scaled by hand, and declared otherwise: a conflict."""
    plane = planes[0]
    tidegate(planes, folder, "apply", "--yes")
    space = _space(folder)

    def scale(count: int) -> None:
        path = f"/apis/apps/v1/namespaces/{space}/deployments/{_PREFIX}plain/scale"
        found: dict[str, Any] = plane.ask("GET", path)
        found["spec"] = {"replicas": count}
        plane.ask("PUT", f"{path}?fieldManager=kubectl", found)

    def replicas() -> int:
        path = f"/apis/apps/v1/namespaces/{space}/deployments/{_PREFIX}plain"
        found: dict[str, Any] = plane.ask("GET", path)
        return int(found["spec"]["replicas"])

    scale(3)
    drifted = tidegate(planes, folder, "diff")
    assert drifted.returncode == 1
    assert "changed since: spec.replicas by kubectl" in drifted.stdout
    assert "~ spec.replicas: 3 → 1" in drifted.stdout
    back = tidegate(planes, folder, "apply", "--yes")
    assert acts(back)[f"deployment/{_PREFIX}plain"] == "configured"
    assert replicas() == 1
    scale(3)
    folder.integration("plain", "bbbbbbb", more="    extraEnv: [{name: EMPTY, value: ''}]\n")
    conflict = tidegate(planes, folder, "apply", "--yes")
    assert conflict.returncode == 1
    assert "spec.replicas belongs to kubectl" in conflict.stderr
    assert replicas() == 3
    taken = tidegate(planes, folder, "apply", "--yes", "--adopt")
    assert (taken.returncode, replicas()) == (0, 1)


def _space(folder: Folder) -> str:
    (path,) = folder.root.glob("*/namespace.yml")
    found: str = yaml.safe_load(path.read_text())["name"]
    return found


def test_what_is_gone_is_removed_and_a_namespace_that_is_not_named_is_cleaned(
    planes: list[ControlPlane], folder: Folder
) -> None:
    """Another owner's objects beside them stay."""
    plane, space = planes[0], _space(folder)
    foreign = {"metadata": {"name": "foreign"}, "data": {}}
    plane.ask("POST", f"/api/v1/namespaces/{space}/configmaps", foreign)
    service = {"metadata": {"name": "foreign"}, "spec": {"ports": [{"port": 1}]}}
    plane.ask("POST", f"/api/v1/namespaces/{space}/services", service)
    tidegate(planes, folder, "apply", "--yes")
    folder.drop("plain")
    one = tidegate(planes, folder, "apply", "--yes")
    assert acts(one)[f"deployment/{_PREFIX}plain"] == "removed"
    # Everything moves to another namespace: the old one is in the bundle no more.
    text = (folder.root / f"{plane.name}/namespace.yml").read_text()
    moved = plane.namespace()
    folder.write(f"{plane.name}/namespace.yml", text.replace(space, moved))
    kept = tidegate(planes, folder, "plan")
    assert "5 of 5 at once; at most 1 without --allow-mass-delete" in kept.stdout
    gone = tidegate(planes, folder, "apply", "--yes", "--allow-mass-delete")
    assert gone.returncode == 0, gone.stderr

    async def left() -> set[tuple[str, str]]:
        cluster = KubernetesCluster(plane.access())
        found = await cluster.read(space, KINDS)
        await cluster.close()
        ending = "deletionTimestamp"
        return {
            (each.kind.name, each.name)
            for each in found.objects
            if ending not in each.document["metadata"]
        }

    assert asyncio.run(left()) == {("Service", "foreign")}


def test_who_may_only_do_what_the_handbook_says_applies_and_removes_where_it_may(
    planes: list[ControlPlane], folder: Folder
) -> None:
    """Its role in one namespace is enough; that nothing else was read is said."""
    plane, space = planes[0], _space(folder)
    page = (ROOT / "docs/guides/kubernetes.md").read_text()
    for document in yaml.safe_load_all(page.split("```yaml\n", 1)[1].split("```", 1)[0]):
        rules = "/apis/rbac.authorization.k8s.io/v1"
        if document["kind"] == "RoleBinding":
            document["metadata"]["namespace"] = space
            document["subjects"] = [{"kind": "User", "name": NOBODY}]
            rules += f"/namespaces/{space}"
        plane.ask("POST", f"{rules}/{document['kind'].lower()}s", document)

    def may(*arguments: str) -> subprocess.CompletedProcess[str]:
        return tidegate(planes, folder, *arguments, user=NOBODY)

    until = time.monotonic() + PATIENCE_S
    while may("plan").returncode:  # a role takes a moment to count
        assert time.monotonic() < until, "the role never counts"
    done = may("apply", "--yes")
    assert done.returncode == 0, done.stderr
    assert (
        f"may not look into all namespaces, so ours are only looked for in {space}" in done.stderr
    )
    folder.drop("plain")
    gone = may("apply", "--yes")
    assert acts(gone)[f"deployment/{_PREFIX}plain"] == "removed"


# Adopting


def predecessors(plane: ControlPlane, space: str) -> tuple[Estate, list[dict[str, Any]]]:
    """An estate, and what the existing manager was recorded to make of it."""
    line = read_yaml("s2", (FOLDER / "s2_aws.yaml").read_text("utf-8")).data
    (place,) = line["integrations"][0]["managed"]
    place["namespace"] |= {"name": space, "cluster": {"name": plane.name}}
    overrides = place["sharding"]["shardSpecOverrides"]
    overrides[:] = overrides[1:2] + overrides[3:]  # strict refuses the double one
    problems = Problems()
    question = decode(line, problems)
    wanted = estate_of(
        question.integrations, question.inventories, problems, site=Site(overlay=OVERLAY)
    )
    assert not problems.errors
    text = (FOLDER / "s2_aws.render.yaml").read_text("utf-8")
    return wanted, [each for each in yaml.safe_load_all(text) if each]


def as_the_manager_does(plane: ControlPlane, space: str, manifest: dict[str, Any]) -> None:
    """Create it with its annotations, the way it always was: fields are owned by an update."""
    manifest["metadata"].setdefault("annotations", {}).update(
        {
            "qontract.integration": "integrations-manager",
            "qontract.integration_version": "0.1.0",
            "qontract.sha256sum": "0" * 64,
            "qontract.caller_name": "https://github.com/app-sre/qontract-reconcile",
        }
    )
    group = "/api/v1" if manifest["kind"] == "Service" else "/apis/apps/v1"
    path = f"{group}/namespaces/{space}/{manifest['kind'].lower()}s"
    plane.ask("POST", f"{path}?fieldManager=kubectl-client-side-apply", manifest)


def test_what_the_predecessor_runs_is_adopted_and_given_back_without_a_restart(
    kubernetes: Kubernetes, planes: list[ControlPlane]
) -> None:
    """The same pods before and after, under the real controllers; plan says so first."""
    plane = planes[0]
    kubernetes.controllers(plane)
    space = plane.namespace()
    wanted, manifests = predecessors(plane, space)
    for manifest in manifests:
        as_the_manager_does(plane, space, manifest)

    async def story() -> None:
        stage = Stage(plane)
        cluster = stage.clusters[plane.name]
        async with kubelet(plane), asyncio.timeout(PATIENCE_S * 2), stage:
            pods, specs = await _pods(cluster, space, 2), await _specs(cluster, space)
            planned = await stage.plan(wanted)
            assert {each.verb for each in planned} == {ObjectAction.ADOPT}
            assert not any(each.restarts for each in planned)
            assert await stage.apply(wanted) == ()
            done = await stage.apply(wanted, adopt=True)
            assert {each.outcome for each in done} == {ObjectOutcome.ADOPTED}
            assert {each.verb for each in await stage.plan(wanted)} == {ObjectAction.UNCHANGED}
            await asyncio.sleep(2)  # time enough for a controller to replace a pod
            assert await _pods(cluster, space, 2) == pods
            assert await _specs(cluster, space) == specs
            found = await cluster.read(space, KINDS)
            changes = {each.key: each for each in await stage.plan(wanted)}
            pairs = [
                (changes[plane.name, space, each.kind.name, each.name], each)
                for each in found.objects
            ]
            back = await release(pairs, stage.executor)
            assert {each.outcome for each in back} == {ObjectOutcome.RELEASED}
            assert not any(each.ours for each in (await cluster.read(space, KINDS)).objects)
            await asyncio.sleep(1)
            assert await _pods(cluster, space, 2) == pods
            again = await stage.plan(wanted)
            assert {(each.verb, each.restarts) for each in again} == {(ObjectAction.ADOPT, False)}

    asyncio.run(story())


async def _pods(cluster: Cluster, space: str, count: int) -> set[str]:
    """The pods and what made them, once there are so many pods and all of them are ready."""
    while True:
        found = (await cluster.read(space, [POD, REPLICA_SET])).objects
        ready = [each for each in found if each.kind == POD and _ready(each.document)]
        if len(ready) == count == sum(each.kind == POD for each in found):
            return {each.uid for each in found}
        await asyncio.sleep(0.1)


def _ready(document: Mapping[str, Any]) -> bool:
    status = document.get("status") or {}
    return any(x["type"] == "Ready" and x["status"] == "True" for x in status.get("conditions", ()))


async def _specs(cluster: Cluster, space: str) -> dict[str, Any]:
    found = await cluster.read(space, [DEPLOYMENT])
    return {each.name: each.document["spec"] for each in found.objects}


# Servers that die


def test_an_api_server_killed_in_the_middle_costs_nothing_but_another_apply(
    planes: list[ControlPlane],
) -> None:
    """What was done stays done, what was not is reported, and the next apply does the rest."""
    plane = planes[1]
    space = plane.namespace()
    wanted = estate(integration("a", managed(where=namespace(plane.name, space), shards=60)))
    api = plane.api
    assert api is not None

    async def killed() -> tuple[ObjectResult, ...]:
        done: list[ObjectResult] = []

        def tell(one: ObjectResult) -> None:
            done.append(one)
            if len(done) == 15:
                api.kill()

        async with Stage(plane, limits=IMPATIENT) as stage:
            return await apply(await stage.plan(wanted), stage.executor, on_result=tell)

    first = asyncio.run(killed())
    outcomes = [each.outcome for each in first]
    assert len(first) == 61
    assert outcomes.count(ObjectOutcome.CREATED) >= 14
    assert ObjectOutcome.FAILED in outcomes
    assert all(plane.name in each.detail for each in first if each.outcome is ObjectOutcome.FAILED)
    plane.restart()

    async def again() -> None:
        async with Stage(plane) as stage:
            second = await stage.apply(wanted)
            assert {each.outcome for each in second} == {ObjectOutcome.CREATED}
            assert {each.verb for each in await stage.plan(wanted)} == {ObjectAction.UNCHANGED}

    asyncio.run(again())


def test_one_of_three_clusters_is_down_and_the_others_are_done(
    planes: list[ControlPlane],
) -> None:
    """It is reported with its name; when it is back, the rest is done."""
    spaces = {plane.name: plane.namespace() for plane in planes}
    places = (managed(where=namespace(name, space)) for name, space in spaces.items())
    wanted = estate(integration("a", *places))
    down = planes[2]
    assert down.api is not None
    down.api.kill()

    async def story(expected: set[tuple[str, ObjectAction]], limits: ServerLimits | None) -> None:
        async with Stage(*planes, limits=limits) as stage:
            planned = await stage.plan(wanted)
            assert {(each.cluster, each.verb) for each in planned} == expected
            unread = [each for each in planned if each.verb is ObjectAction.UNREAD]
            assert all(down.name in each.reason for each in unread)
            done = await stage.apply(wanted)
            assert {each.outcome for each in done} == {ObjectOutcome.CREATED}

    first = {(plane.name, ObjectAction.CREATE) for plane in planes[:2]} | {
        (down.name, ObjectAction.UNREAD)
    }
    asyncio.run(story(first, IMPATIENT))
    down.restart()
    second = {(plane.name, ObjectAction.UNCHANGED) for plane in planes[:2]} | {
        (down.name, ObjectAction.CREATE)
    }
    asyncio.run(story(second, None))
