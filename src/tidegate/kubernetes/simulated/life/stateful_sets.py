"""What happens to a StatefulSet: numbered pods, made in order, replaced from the last on.

As documented of the real one: while a pod is not ready, nothing behind it happens, not even a
change that would fix it; that pod must be deleted by hand.
"""

from typing import Any

from tidegate.kubernetes.simulated.life.life import Life
from tidegate.kubernetes.simulated.life.steps import (
    NewPod,
    Scene,
    WorkloadStep,
    revision_of,
    without_zeros,
)
from tidegate.model.time import Instant


def next_step(scene: Scene) -> WorkloadStep:
    """Which pod is made, or stopped."""
    pods = {number_of(each): each for each in scene.pods}
    parallel = scene.spec.get("podManagementPolicy") == "Parallel"
    births: list[NewPod] = []
    for number in range(scene.replicas):
        pod = pods.get(number)
        if pod is None:
            births.append(NewPod(f"{scene.name}-{number}"))
        if not parallel and (pod is None or not scene.available(pod)):
            return WorkloadStep(tuple(births), (), _look_at(scene))
    if births:
        return WorkloadStep(tuple(births), (), _look_at(scene))
    return WorkloadStep((), _stops(scene, pods, parallel), _look_at(scene))


def status_of(scene: Scene) -> dict[str, Any]:
    """Its status."""
    wanted = f"{scene.name}-{_revision(scene)}"
    staying = scene.staying
    updated = [each for each in staying if each.revision == _revision(scene)]
    current = str(scene.status.get("currentRevision") or wanted)
    ready = sum(each.is_ready(scene.now) for each in staying)
    if len(updated) == len(staying) == scene.replicas == ready:
        current = wanted
    of_current = [each for each in staying if f"{scene.name}-{each.revision}" == current]
    status = {
        "replicas": len(staying),
        "readyReplicas": ready,
        "currentReplicas": len(of_current),
        "updatedReplicas": len(updated),
        "currentRevision": current,
        "updateRevision": wanted,
    }
    return without_zeros(status) | {
        "observedGeneration": scene.generation,
        # These two the real server always writes.
        "replicas": len(staying),
        "availableReplicas": sum(map(scene.available, staying)),
    }


def number_of(pod: Life) -> int:
    """Which of its set a pod is."""
    return int(pod.key[2].rpartition("-")[2])


def _stops(scene: Scene, pods: dict[int, Life], parallel: bool) -> tuple[Life, ...]:
    """What is too much, from the last on; or else the last that is of an old template."""
    going = any(each.gone_at is not None for each in scene.pods)
    surplus = [
        pods[number]
        for number in sorted(pods, reverse=True)
        if number >= scene.replicas and pods[number].gone_at is None
    ]
    if surplus:
        return tuple(surplus) if parallel else tuple(surplus[: not going])
    old = [
        pods[number]
        for number in sorted(pods, reverse=True)
        if pods[number].revision != _revision(scene)
    ]
    on_delete = (scene.spec.get("updateStrategy") or {}).get("type") == "OnDelete"
    waits = going or on_delete or not all(map(scene.available, scene.staying))
    return () if waits else tuple(old[:1])


def _revision(scene: Scene) -> str:
    return revision_of(scene.spec.get("template") or {})


def _look_at(scene: Scene) -> Instant | None:
    moments = map(scene.available_at, scene.staying)
    return min((each for each in moments if each > scene.now), default=None)
