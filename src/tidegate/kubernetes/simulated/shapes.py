"""What a workload has to look like, as far as its controllers look at it.

A real server refuses what fits no schema. A simulated one knows no schemas, but what its own
controllers cannot read it must not take either.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from tidegate.kubernetes.port import ObjectRefusedError, ResourceKind

# More pods of one workload are a typing mistake.
REPLICAS_MAX = 1000
_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
_Share = _Count | Annotated[str, msgspec.Meta(pattern=r"^[0-9]+%$")]
_Texts = dict[str, str]


class _Shape(msgspec.Struct, rename="camel", kw_only=True):
    """Some fields of something; of the others nothing is known."""


class _Metadata(_Shape):
    labels: _Texts | None = None
    annotations: _Texts | None = None


class _Variable(_Shape):
    name: str
    value: str | None = None


class _Port(_Shape):
    container_port: _Count


class _Container(_Shape):
    name: str
    image: str
    env: list[_Variable] | None = None
    ports: list[_Port] | None = None


class _PodSpec(_Shape):
    containers: Annotated[list[_Container], msgspec.Meta(min_length=1)]
    termination_grace_period_seconds: _Count | None = None


class _Template(_Shape):
    spec: _PodSpec
    metadata: _Metadata | None = None


class _Selector(_Shape):
    match_labels: _Texts | None = None


class _Rolling(_Shape):
    max_surge: _Share | None = None
    max_unavailable: _Share | None = None


class _Strategy(_Shape):
    type: str | None = None
    rolling_update: _Rolling | None = None


class _Replicated(_Shape):
    template: _Template
    selector: _Selector
    replicas: Annotated[int, msgspec.Meta(ge=0, le=REPLICAS_MAX)] | None = None
    min_ready_seconds: _Count | None = None
    revision_history_limit: _Count | None = None


class _Deployment(_Replicated):
    strategy: _Strategy | None = None
    progress_deadline_seconds: _Count | None = None
    paused: bool | None = None


class _StatefulSet(_Replicated):
    pod_management_policy: str | None = None
    update_strategy: _Strategy | None = None


class _Job(_Shape):
    template: _Template
    backoff_limit: _Count | None = None
    ttl_seconds_after_finished: _Count | None = None
    suspend: bool | None = None


class _JobTemplate(_Shape):
    spec: _Job
    metadata: _Metadata | None = None


class _CronJob(_Shape):
    schedule: str
    job_template: _JobTemplate
    successful_jobs_history_limit: _Count | None = None
    failed_jobs_history_limit: _Count | None = None
    concurrency_policy: str | None = None
    suspend: bool | None = None


_SPECS: Mapping[str, type[_Shape]] = {
    "Deployment": _Deployment,
    "StatefulSet": _StatefulSet,
    "Job": _Job,
    "CronJob": _CronJob,
    "Pod": _PodSpec,
}


class _Labelled(_Shape):
    metadata: _Metadata


def check_shape(where: str, kind: ResourceKind, document: Mapping[str, Any]) -> None:
    """RefusedError if a controller could not read it."""
    try:
        msgspec.convert(document, _Labelled)
        if kind.name in _SPECS:
            msgspec.convert(document.get("spec"), _SPECS[kind.name])
    except msgspec.ValidationError as error:
        what, _, at = str(error).partition(" - at `$")
        path = ("spec" + at.rstrip("`")) if not at.startswith(".metadata.") else at.strip(".`")
        if "missing required field" in what:
            path, what = f"{path}.{what.split('`')[1]}", "Required value"
        raise ObjectRefusedError(
            f"{where}: refused (422): {path}: {what.replace('`', '')}"
        ) from None
