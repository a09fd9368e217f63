"""The instructions acted out on a real control plane, with pods that are really replaced."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.contract.clusters import REAL
from tests.real.kube import ControlPlane, Kubernetes
from tests.real.kubelet import kubelet
from tests.sop import CLUSTER, NAMESPACE, PATIENCE_S, Team, act_out
from tidegate.kinds.integrations.core.workloads.live import pod_of

pytestmark = REAL


@pytest.fixture
def plane(kubernetes: Kubernetes) -> ControlPlane:
    """One whose controllers run, with the namespace of production and nothing of other tests.

    What they left elsewhere would be found, and is no longer declared.
    """
    plane = kubernetes.plane("sop")
    kubernetes.controllers(plane)
    plane.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    return plane


@contextmanager
def pods_run(plane: ControlPlane) -> Iterator[None]:
    """A kubelet beside the commands, for a while."""
    loop = asyncio.new_event_loop()
    over = asyncio.Event()

    async def running() -> None:
        async with kubelet(plane):
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(running()), daemon=True)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


def test_one_shard_goes_first_and_then_every_target(plane: ControlPlane, tmp_path: Path) -> None:
    """As `oc get pod` shows it: every pod by its image; those that stayed are the same pods."""
    config = {"KUBECONFIG": str(plane.kubeconfig()), "TIDEGATE_CONTEXTS": f"{CLUSTER}={plane.name}"}
    team = Team(tmp_path, config)

    def pods() -> dict[str, tuple[str, str]]:
        end = time.monotonic() + PATIENCE_S
        while True:
            found = _pods(plane)
            if _settled(found) or time.monotonic() > end:
                return {
                    pod["metadata"]["ownerReferences"][0]["name"].rpartition("-")[0]: (
                        pod_of(pod).image.rpartition(":")[2],
                        pod["metadata"]["uid"],
                    )
                    for pod in found
                }
            time.sleep(0.2)

    with pods_run(plane):
        act_out(team, pods)


def _pods(plane: ControlPlane) -> list[dict[str, Any]]:
    answer: Any = plane.ask("GET", f"/api/v1/namespaces/{NAMESPACE}/pods")
    return list(answer["items"])


def _settled(pods: list[dict[str, Any]]) -> bool:
    """One pod a workload, all of them ready, none on its way out."""
    owners = {pod["metadata"]["ownerReferences"][0]["name"].rpartition("-")[0] for pod in pods}
    ready = [pod_of(pod).ready for pod in pods]
    ending = [pod for pod in pods if "deletionTimestamp" in pod["metadata"]]
    return len(pods) == len(owners) == 25 and all(ready) and not ending
