"""What happens to a Deployment: rolling updates within surge and unavailability, and a deadline.

Worked: 4 replicas, 25 % each way: at most 5 pods, at least 3 available. Of 4 old ones one may go at
once, and two new ones are made. If those never get ready it stays at that, 3 old and 2 new, until
the deadline has passed and after it.
"""

from collections.abc import Mapping
from math import ceil, floor
from typing import Any

from tidegate.kubernetes.simulated.life.life import Life
from tidegate.kubernetes.simulated.life.steps import (
    NewPod,
    Scene,
    WorkloadStep,
    condition,
    revision_of,
    without_zeros,
)
from tidegate.model.time import SECOND, Instant

_PART_DEFAULT = "25%"
_DEADLINE_DEFAULT_S = 600
_DONE, _LATE = "NewReplicaSetAvailable", "ProgressDeadlineExceeded"


def next_step(scene: Scene) -> WorkloadStep:
    """Which pods are made, and which are stopped."""
    if scene.spec.get("paused"):
        return WorkloadStep()
    new, old = _parted(scene)
    if (scene.spec.get("strategy") or {}).get("type") == "Recreate":
        return _recreate(scene, new, old)
    surge, least = _bounds(scene)
    most = scene.replicas + surge
    stops = _surplus_old(scene, new, old, least)
    old = [each for each in old if each not in stops]
    # A Deployment scaled down in the middle of a change has too many of both.
    room = max(0, min(scene.replicas, most - len(old)))
    # The youngest go first.
    stops += new[room:]
    births = max(0, min(scene.replicas, most - len(old)) - len(new))
    return WorkloadStep((NewPod(),) * births, tuple(stops), _look_at(scene))


def status_of(scene: Scene) -> dict[str, Any]:
    """Its status."""
    new, old = _parted(scene)
    there = [*new, *old]
    available = sum(map(scene.available, there))
    status = {
        "observedGeneration": scene.generation,
        "replicas": len(there),
        "updatedReplicas": len(new),
        "readyReplicas": sum(each.is_ready(scene.now) for each in there),
        "availableReplicas": available,
        "unavailableReplicas": max(0, max(scene.replicas, len(there)) - available),
    }
    return without_zeros(status) | {"conditions": _conditions(scene, status)}


def is_done(status: Mapping[str, Any]) -> bool:
    """Whether a status says that the template is out."""
    return any(each["reason"] == _DONE for each in status["conditions"])


def is_late(scene: Scene) -> bool:
    """Whether it got nowhere for longer than it may."""
    return scene.now >= _deadline(scene)


def _parted(scene: Scene) -> tuple[list[Life], list[Life]]:
    """The pods of the template as it is now, and all others."""
    revision = revision_of(scene.spec.get("template") or {})
    new = [each for each in scene.staying if each.revision == revision]
    return new, [each for each in scene.staying if each.revision != revision]


def _bounds(scene: Scene) -> tuple[int, int]:
    """How many more than wanted there may be, and how many must be available."""
    rolling = (scene.spec.get("strategy") or {}).get("rollingUpdate") or {}
    surge = _share(rolling.get("maxSurge"), scene.replicas, up=True)
    missing = _share(rolling.get("maxUnavailable"), scene.replicas, up=False)
    # With neither nothing could ever move.
    if not surge and not missing:
        missing = 1
    return surge, scene.replicas - missing


def _share(value: int | str | None, of: int, *, up: bool) -> int:
    value = _PART_DEFAULT if value is None else value
    if isinstance(value, int):
        return value
    return (ceil if up else floor)(of * int(value.rstrip("%")) / 100)


def _surplus_old(scene: Scene, new: list[Life], old: list[Life], least: int) -> list[Life]:
    """Old pods that can go: first those that are of no use, then what there is too much of.

    New pods that are not available yet count as missing.
    """
    useless = [each for each in old if not scene.available(each)]
    useful = [each for each in old if scene.available(each)]
    ready = sum(map(scene.available, new))
    spare = max(0, ready + len(useful) - max(0, least))
    return useless + useful[: min(spare, len(useful))]


def _recreate(scene: Scene, new: list[Life], old: list[Life]) -> WorkloadStep:
    """Nothing new before everything old is gone."""
    going = any(each.gone_at is not None for each in scene.pods)
    if old or going:
        return WorkloadStep((), tuple(old + new[scene.replicas :]), _look_at(scene))
    births = max(0, scene.replicas - len(new))
    return WorkloadStep((NewPod(),) * births, tuple(new[scene.replicas :]), _look_at(scene))


def _look_at(scene: Scene) -> Instant | None:
    """When time alone changes something: a pod counts, or the deadline passes."""
    moments = [
        scene.available_at(each) for each in scene.staying if scene.available_at(each) > scene.now
    ]
    if not is_late(scene):
        moments.append(_deadline(scene))
    return min(moments, default=None)


def _deadline(scene: Scene) -> Instant:
    seconds = scene.spec.get("progressDeadlineSeconds")
    most = _DEADLINE_DEFAULT_S if seconds is None else int(seconds)
    return Instant(scene.progressed_at + most * SECOND // scene.speed)


def _conditions(scene: Scene, status: Mapping[str, int]) -> list[dict[str, str]]:
    before = scene.status.get("conditions") or ()
    _, least = _bounds(scene)
    enough = status["availableReplicas"] >= least
    available = condition(
        before,
        "Available",
        "True" if enough else "False",
        "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        f"Deployment {'has' if enough else 'does not have'} minimum availability.",
        scene.now,
    )
    state, reason, message = _progress(scene, status)
    renewed = scene.progressed_at == scene.now and reason not in (_DONE, _LATE)
    progress = condition(before, "Progressing", state, reason, message, scene.now, renewed=renewed)
    return [available, progress]


def _progress(scene: Scene, status: Mapping[str, int]) -> tuple[str, str, str]:
    alone = status["replicas"] == status["updatedReplicas"]
    counts = {status[name] for name in ("replicas", "updatedReplicas", "availableReplicas")}
    # Done once is done until the template changes: a pod that is lost later is no rollout.
    if counts == {scene.replicas} or (alone and scene.done):
        return "True", _DONE, f'"{scene.name}" has successfully progressed.'
    if is_late(scene):
        return "False", _LATE, f'"{scene.name}" has timed out progressing.'
    return "True", "ReplicaSetUpdated", f'"{scene.name}" is progressing.'
