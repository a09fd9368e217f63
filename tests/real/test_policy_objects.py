"""What policies write beside pointers, on a real API server: Events, status, what is removed."""

import asyncio
import time
import urllib.error
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
import yaml

from tests.command import tidegate
from tests.contract.clusters import REAL
from tests.patience import PATIENCE_S
from tests.policies import spec, template
from tests.real.kube import ControlPlane, Kubernetes
from tidegate.kinds.policies.core.names import POINTER_MANAGER, manager_of
from tidegate.kinds.policies.core.revision import (
    pointer_head,
    revision_object,
    revision_of,
)
from tidegate.kinds.policies.fleet import PolicyFleet
from tidegate.kinds.policies.wire.event_doc import EventReason, RolloutEvent
from tidegate.kinds.policies.wire.status_doc import conditions_of, refused_status
from tidegate.kubernetes.client.cluster import KubernetesCluster
from tidegate.kubernetes.port import CONFIG_MAP, ROLLOUT, Object
from tidegate.model.errors import StaleError
from tidegate.model.time import SECOND, Instant, parse_instant

pytestmark = REAL

NOW = parse_instant("2026-01-05T10:00:00.25Z")
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ROLLOUTS = "/apis/tidegate.dev/v1alpha1/namespaces/default/rollouts"
_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


@pytest.fixture(scope="module")
def plane(kubernetes: Kubernetes) -> Iterator[ControlPlane]:
    """A control plane with our definition and one Rollout, for as long as this takes."""
    found = kubernetes.plane("one")
    found.ask("POST", _CRDS, yaml.safe_load(tidegate("policies", "crd").stdout))
    document = {
        "apiVersion": "tidegate.dev/v1alpha1",
        "kind": "Rollout",
        "metadata": {"name": "web"},
        "spec": {
            "policy": "web",
            "source": {"namespace": "web-source"},
            "rolloutStrategy": {"type": "All"},
            "revisionHistoryLimit": 0,
            "retryRollout": {"rolloutUID": "u", "group": "dev"},
        },
    }
    _post(found, document)
    yield found
    found.ask("DELETE", f"{_CRDS}/rollouts.tidegate.dev")


def _post(plane: ControlPlane, document: dict[str, Any]) -> None:
    """Write an object as soon as its definition is served."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            plane.ask("POST", _ROLLOUTS, document)
            return
        except urllib.error.HTTPError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def play(plane: ControlPlane, story: Callable[[KubernetesCluster], Awaitable[None]]) -> None:
    """A story with one client."""

    async def whole() -> None:
        cluster = KubernetesCluster(plane.access())
        try:
            await story(cluster)
        finally:
            await cluster.close()

    asyncio.run(whole())


def test_an_event_is_taken_and_counts_how_often(plane: ControlPlane) -> None:
    """The same occurrence is written once; another one is counted in the same Event."""

    async def story(cluster: KubernetesCluster) -> None:
        objects = PolicyFleet(cluster).objects
        found = await cluster.get(ROLLOUT, "default", "web")
        assert found is not None
        event = RolloutEvent(EventReason.ROLLOUT_PAUSED, "revision r1: 2 of 6 done " + "é" * 2000)
        for mark, at in (("one", 0), ("one", 1), ("two", 2)):
            now = Instant(NOW + at * SECOND)
            await objects.write_event(found.document, event, mark, f"worker-{at}", now)

    play(plane, story)
    listed: Any = plane.ask("GET", _EVENTS)["items"]
    (found,) = [each for each in listed if each["regarding"]["kind"] == "Rollout"]
    assert found["reason"] == "RolloutPaused"
    assert found["regarding"]["name"] == "web"
    assert found["eventTime"] == "2026-01-05T10:00:00.250000Z"
    assert found["reportingInstance"] == "worker-0"
    assert found["series"]["count"] == 2
    assert found["series"]["lastObservedTime"] == "2026-01-05T10:00:02.250000Z"


def test_a_refusal_is_a_condition_and_the_rest_of_the_status_stays(plane: ControlPlane) -> None:
    """As the schema has it."""

    async def story(cluster: KubernetesCluster) -> None:
        found = await cluster.get(ROLLOUT, "default", "web")
        assert found is not None
        objects = PolicyFleet(cluster).objects
        status: dict[str, Any] = {
            "rolloutStatus": "Failed",
            "clusters": {"counted": 1, "failed": 1},
            "exceptionalClusters": [{"clusterName": "m1", "status": "Failed", "message": "x"}],
            "exceptionalClustersNotNamed": 0,
            "decisionGroups": [{"groupName": "dev", "failed": 1}],
            "conditions": [],
        }
        await objects.write_status(found.document, status)
        seen = await cluster.get(ROLLOUT, "default", "web")
        assert seen is not None
        assert seen.document["status"] == status
        refused = refused_status(seen.document, "NotStageable", ["spec.x: no"], NOW)
        await objects.write_status(seen.document, refused)
        last = await cluster.get(ROLLOUT, "default", "web")
        assert last is not None
        assert last.document["status"]["exceptionalClusters"] == status["exceptionalClusters"]
        assert conditions_of(last.document)["Accepted"]["reason"] == "NotStageable"

    play(plane, story)


def test_revisions_and_pointers_are_deleted_by_the_one_that_wrote_them(
    plane: ControlPlane,
) -> None:
    """An immutable ConfigMap can be; another policy's pointer keeps the ConfigMap of pointers."""

    async def story(cluster: KubernetesCluster) -> None:
        mine = cluster.under(manager_of("default", "web"))
        other = cluster.under(manager_of("default", "other"))
        kept = (
            await mine.apply(revision_object("default", "web", revision_of(spec(template()))))
        ).object
        theirs = await other.get(CONFIG_MAP, "default", kept.name)
        assert theirs is not None
        with pytest.raises(StaleError):
            await other.delete(theirs)
        assert await mine.delete(kept)
        pointers, head = cluster.under(POINTER_MANAGER), pointer_head("default", "m1")

        async def point(policy: str, revision: str | None, seen: str | None) -> Object:
            found = await pointers.set_entries(head, {policy: revision}, seen={policy: seen})
            assert found is not None
            return found

        for policy in ("web", "other"):
            await point(policy, "r1", None)
        left = await point("web", None, "r1")
        assert left.document["data"] == {"other": "r1"}
        empty = await point("other", None, "r1")
        assert not empty.document.get("data")
        # Meanwhile the first one is written again: it stays.
        await point("web", "r2", None)
        with pytest.raises(StaleError):
            await pointers.delete(empty)
        last = await point("web", None, "r2")
        assert await pointers.delete(last)
        assert await cluster.get(CONFIG_MAP, "default", last.name) is None

    play(plane, story)
