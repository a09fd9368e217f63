"""The documents of simulated pods, as a real node would write them."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from tidegate.kubernetes.simulated.life.life import Life, Moment, PodPhase
from tidegate.model.time import Instant, format_second

_WAITS = {
    PodPhase.CREATING: "ContainerCreating",
    PodPhase.NO_IMAGE: "ImagePullBackOff",
    PodPhase.BACKING_OFF: "CrashLoopBackOff",
}
_PHASES = {
    PodPhase.CREATING: "Pending",
    PodPhase.NO_IMAGE: "Pending",
    PodPhase.SUCCEEDED: "Succeeded",
    PodPhase.FAILED: "Failed",
}
NODE = "node-1"


def image_id(image: str) -> str:
    """What a reference was resolved to: its own digest, or one that is always the same for it."""
    name, _, digest = image.partition("@")
    head, colon, _ = name.rpartition(":")
    repository = head if colon and "/" not in name[len(head) :] else name
    return f"{repository}@{digest or 'sha256:' + sha256(name.encode()).hexdigest()}"


def pod_document(
    life: Life, template: Mapping[str, Any], owner: Mapping[str, Any] | None, now: Instant
) -> dict[str, Any]:
    """A new pod, made of a template."""
    made = template.get("metadata") or {}
    metadata: dict[str, Any] = {"name": life.key[2], "namespace": life.key[1]}
    labels = dict(made.get("labels") or {})
    if owner is not None:
        metadata["ownerReferences"] = [{**owner, "controller": True, "blockOwnerDeletion": True}]
        if owner["kind"] == "ReplicaSet":
            labels["pod-template-hash"] = life.revision
        if owner["kind"] == "Job":
            labels |= {
                f"{prefix}job-name": owner["name"] for prefix in ("", "batch.kubernetes.io/")
            }
    metadata["labels"] = labels
    if made.get("annotations"):
        metadata["annotations"] = made["annotations"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**(template.get("spec") or {}), "nodeName": NODE},
        "status": pod_status(life, template.get("spec") or {}, now),
    }


def pod_status(life: Life, spec: Mapping[str, Any], now: Instant) -> dict[str, Any]:
    """The status of a pod at a moment."""
    moment = life.at(now)
    ready = moment.phase is PodPhase.READY
    address = pod_ip(f"{life.key[1]}/{life.key[2]}/{life.born_at}")
    since = life.ready_at if ready else life.born_at
    conditions = [
        _condition("PodScheduled", True, life.born_at),
        _condition("Initialized", True, life.born_at),
        _condition("ContainersReady", ready, since),
        _condition("Ready", ready, since),
    ]
    return {
        "phase": _PHASES.get(moment.phase, "Running"),
        "startTime": format_second(life.born_at),
        "hostIP": "10.0.0.1",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": conditions,
        "containerStatuses": [
            _container(each, moment, ready) for each in spec.get("containers") or ()
        ],
    }


def pod_ip(seed: str) -> str:
    """An address that no other pod is likely to have."""
    digits = sha256(seed.encode()).digest()
    return "10." + ".".join(str(part % 254 + 1) for part in digits[:3])


def _condition(kind: str, holds: bool, since: Instant) -> dict[str, str]:
    status = "True" if holds else "False"
    return {"type": kind, "status": status, "lastTransitionTime": format_second(since)}


def _container(container: Mapping[str, Any], moment: Moment, ready: bool) -> dict[str, Any]:
    image = str(container.get("image") or "")
    started = moment.started_at is not None
    running = moment.phase in (PodPhase.STARTED, PodPhase.READY)
    return {
        "name": container.get("name"),
        "image": image,
        "imageID": image_id(image) if started else "",
        "ready": ready,
        "started": running,
        "restartCount": moment.restarts,
        "state": _state(moment),
        "lastState": _last(moment) if moment.restarts or moment.phase in _WAITS else {},
    }


def _state(moment: Moment) -> dict[str, Any]:
    if moment.phase in _WAITS:
        return {"waiting": {"reason": _WAITS[moment.phase]}}
    if moment.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED):
        return _last(moment)
    return {"running": {"startedAt": format_second(moment.started_at or 0)}}


def _last(moment: Moment) -> dict[str, Any]:
    """How it ended last."""
    if moment.ended_at is None:
        return {}
    ended: dict[str, Any] = {
        "exitCode": moment.exit_code,
        "reason": "Error" if moment.exit_code else "Completed",
        "finishedAt": format_second(moment.ended_at),
    }
    if moment.phase is not PodPhase.STARTED and moment.started_at is not None:
        ended["startedAt"] = format_second(moment.started_at)
    return {"terminated": ended}
