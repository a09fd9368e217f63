"""What runs, from a cluster's documents: workloads and pods, reduced to what is needed.

Documents are believed no further than they go: what is missing is nothing, never an error.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tidegate.kinds.integrations.core.workloads.estate import ADOPTED, INTEGRATION_LABEL, UNIT
from tidegate.kinds.integrations.core.workloads.workloads import APP, SHARD_LABEL
from tidegate.model.time import Instant, parse_instant

Document = Mapping[str, Any]
CONTAINER = "int"
_CRASHES = frozenset(("CrashLoopBackOff", "RunContainerError", "CreateContainerError"))
_FAILED = "Failed"
_OVER = frozenset(("Succeeded", _FAILED))
_PULLS = frozenset(("ImagePullBackOff", "ErrImagePull", "InvalidImageName"))


class Pod(msgspec.Struct, frozen=True, kw_only=True):
    """One pod of a workload."""

    uid: str
    name: str
    workload: str
    image: str
    # With the digest that was pulled, as the node says it; empty: it has not said so yet.
    image_id: str = ""
    ready: bool = False
    restarts: int = 0
    # Why its container does not run, in the cluster's word; empty: it does, or it is not known.
    waiting: str = ""
    started_at: Instant | None = None
    # It is being deleted.
    ending: bool = False
    # It ended for good, as one that was evicted, and is only remembered.
    over: bool = False
    # Whether that was without success, and when; None: it has not ended, or it is not known.
    failed: bool = False
    ended_at: Instant | None = None
    env: dict[str, str] = {}

    @property
    def crashes(self) -> bool:
        """Whether it is started again and again."""
        return self.waiting in _CRASHES

    @property
    def cannot_pull(self) -> bool:
        """Whether its image cannot be had."""
        return self.waiting in _PULLS


class LiveWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """A Deployment, StatefulSet or CronJob as it is."""

    kind: str
    name: str
    image: str
    # The unit it is of, and the integration; empty: it does not say.
    unit: str = ""
    integration: str = ""
    adopted: bool = False
    env: dict[str, str] = {}
    replicas: int = 1
    # Whether everything that is wanted has begun to be done.
    seen: bool = True
    updated: int = 0
    available: int = 0
    total: int = 0
    # The cluster itself has given up on it.
    gave_up: bool = False

    @property
    def rolled_out(self) -> bool:
        """Whether all that runs is what is wanted."""
        if self.kind == "CronJob" or self.replicas == 0:
            return self.seen and self.total == 0
        whole = self.updated == self.available == self.total == self.replicas
        return self.seen and whole

    @property
    def shape(self) -> str:
        """How many share the keys it owns some of; empty: it owns its key alone."""
        return self.env.get("SHARDS", "")

    @property
    def key(self) -> str:
        """What it is a shard of; empty: of everything."""
        return self.env.get("SHARD_KEY", "")


def workload_of(document: Document) -> LiveWorkload:
    """A workload as its document tells it."""
    metadata, spec = document.get("metadata") or {}, document.get("spec") or {}
    status, kind = document.get("status") or {}, str(document.get("kind"))
    labels = metadata.get("labels") or {}
    notes = metadata.get("annotations") or {}
    container = _container(_pod_spec(kind, spec))
    replicas = spec.get("replicas")
    return LiveWorkload(
        kind=kind,
        name=str(metadata.get("name")),
        image=str(container.get("image", "")),
        unit=notes.get(UNIT, ""),
        integration=labels.get(INTEGRATION_LABEL) or _named(labels),
        adopted=ADOPTED in notes,
        env=_env(container),
        replicas=1 if replicas is None else int(replicas),
        seen=kind == "CronJob" or _observed(metadata, status),
        updated=int(status.get("updatedReplicas") or 0),
        available=int(status.get("availableReplicas") or 0),
        total=0 if kind == "CronJob" else int(status.get("replicas") or 0),
        gave_up=any(
            each.get("type") == "Progressing"
            and each.get("status") == "False"
            and each.get("reason") == "ProgressDeadlineExceeded"
            for each in status.get("conditions") or ()
        ),
    )


def _observed(metadata: Document, status: Document) -> bool:
    return int(status.get("observedGeneration") or 0) >= int(metadata.get("generation") or 0)


def _named(labels: Mapping[str, str]) -> str:
    """The integration as the existing manager labels it."""
    return labels.get("app", "").removeprefix(f"{APP}-")


def pod_of(document: Document) -> Pod:
    """A pod as its document tells it."""
    metadata, spec = document.get("metadata") or {}, document.get("spec") or {}
    status = _container({"containers": (document.get("status") or {}).get("containerStatuses")})
    state = status.get("state") or {}
    phase = (document.get("status") or {}).get("phase")
    started = (state.get("running") or {}).get("startedAt")
    container = _container(spec)
    return Pod(
        uid=str(metadata.get("uid", "")),
        name=str(metadata.get("name", "")),
        workload=_owner(metadata),
        image=str(container.get("image", "")),
        image_id=str(status.get("imageID", "")),
        ready=bool(status.get("ready")),
        restarts=int(status.get("restartCount") or 0),
        waiting=str((state.get("waiting") or {}).get("reason", "")),
        started_at=_instant(started),
        ending=bool(metadata.get("deletionTimestamp")),
        over=phase in _OVER,
        failed=phase == _FAILED,
        ended_at=_instant((state.get("terminated") or {}).get("finishedAt")),
        env=_env(container),
    )


def _owner(metadata: Document) -> str:
    """The workload a pod is of: by its label, or by its owner."""
    labels = metadata.get("labels") or {}
    if labels.get(SHARD_LABEL):
        return str(labels[SHARD_LABEL])
    for owner in metadata.get("ownerReferences") or ():
        name = str(owner.get("name", ""))
        if owner.get("kind") == "ReplicaSet":
            return name.removesuffix(f"-{labels.get('pod-template-hash', '')}")
        return name
    return ""


def _pod_spec(kind: str, spec: Document) -> Document:
    if kind == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    found: Document = (spec.get("template") or {}).get("spec") or {}
    return found


def _container(spec: Document) -> Document:
    every: Iterable[Document] = spec.get("containers") or ()
    return next((each for each in every if each.get("name") == CONTAINER), {})


def _env(container: Document) -> dict[str, str]:
    return {
        str(each["name"]): str(each["value"])
        for each in container.get("env") or ()
        if "name" in each and "value" in each
    }


def _instant(text: object) -> Instant | None:
    try:
        return parse_instant(text) if isinstance(text, str) else None
    except ValueError:
        return None
