"""Whether a shard runs what is promised: by its pods, not by what they are to become.

A workload can have an image that no pod runs yet: its pods are still being replaced, or
cannot pull it. What counts is what each pod says of itself, digest included. A CronJob has kept its
promise when its next run will; a disabled shard when nothing runs.
"""

from collections.abc import Mapping, Sequence

import msgspec

from tidegate.kinds.integrations.core.sharding.inventory import ShardRow
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace, Unit
from tidegate.kinds.integrations.core.workloads.live import LiveWorkload, Pod
from tidegate.registry.image import (
    digest_of,
    image_named,
    is_same,
    pulled_digest,
    revision_of,
)

NOTHING = "nothing"


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """One shard: what is promised, and what runs."""

    row: ShardRow
    # What its pods run, each once, as people speak of it; empty: it has none.
    running: tuple[str, ...] = ()
    pods: int = 0
    # Digests its pods pulled, where their nodes say so.
    digests: tuple[str, ...] = ()
    # Why it is not as promised; empty: it is, or it was not read.
    why: str = ""
    # Whether both could be read: its cluster, and what is promised.
    read: bool = True

    @property
    def agrees(self) -> bool:
        """Whether it runs what is promised, for certain."""
        return self.read and not self.why


def proof_of(
    place: ManagedPlace,
    unit: Unit,
    row: ShardRow,
    workloads: Mapping[str, LiveWorkload],
    pods: Mapping[str, Sequence[Pod]],
) -> Proof:
    """What became of the promise to one unit; workloads and pods by the name of the workload."""
    alive = {
        shard.workload: [pod for pod in pods.get(shard.workload, ()) if not pod.over]
        for shard in unit.shards
    }
    its = [pod for some in alive.values() for pod in some]
    promised = image_named(row.wants, place.repository)
    if row.kind == "CronJob":
        images = [w.image for s in unit.shards if (w := workloads.get(s.workload)) is not None]
        running = {revision_of(image, place.repository) for image in images}
    else:
        running = {_called(pod, promised, place.repository) for pod in its}
    if row.resharding:
        running |= {row.runs}
    return Proof(
        row=row,
        running=tuple(sorted(running)),
        pods=len(its),
        digests=tuple(sorted({pulled_digest(pod.image_id) for pod in its} - {""})),
        why="" if place.no_image else _why(unit, row, promised, workloads, alive),
        read=not place.no_image,
    )


def _called(pod: Pod, promised: str, repository: str) -> str:
    """What a pod runs; with the digest it pulled, where one is promised."""
    digest = pulled_digest(pod.image_id)
    stated = digest and digest_of(promised) and not digest_of(pod.image)
    return revision_of(f"{pod.image}@{digest}" if stated else pod.image, repository)


def _why(
    unit: Unit,
    row: ShardRow,
    promised: str,
    workloads: Mapping[str, LiveWorkload],
    pods: Mapping[str, Sequence[Pod]],
) -> str:
    """Why it is not as promised: the first thing that is wrong with any part of it."""
    if row.resharding:
        return row.note
    for shard in unit.shards:
        workload = workloads.get(shard.workload)
        if workload is None:
            return "not applied yet" if len(unit.shards) == 1 else row.note or "not applied yet"
        its = pods.get(shard.workload, ())
        why = _why_workload(unit, row, promised, workload, its)
        if why:
            return why
    return ""


def _why_workload(
    unit: Unit, row: ShardRow, promised: str, workload: LiveWorkload, pods: Sequence[Pod]
) -> str:
    given = is_same(promised, workload.image, _pulled(pods))
    if row.kind == "CronJob":
        return "" if given else row.note or "its next run has another image"
    if unit.stopped:
        return f"it is to run nothing: {_many(pods)} left" if pods else ""
    wrong = [pod for pod in pods if not keeps(promised, pod)]
    if wrong and given:
        ending = sum(pod.ending for pod in wrong)
        if ending == len(wrong):
            return f"{_many(wrong)} of before still ending"
        return f"{_many(wrong)} not replaced yet"
    if not given:
        return row.note or f"it was given {workload.image}"
    return _why_not_ready(workload, pods)


def _why_not_ready(workload: LiveWorkload, pods: Sequence[Pod]) -> str:
    """What keeps pods that have the right image from running it."""
    for pod in pods:
        if pod.cannot_pull:
            return "its image cannot be pulled"
        if pod.crashes:
            return f"it crashes: {pod.restarts} restarts ({pod.waiting})"
    ready = sum(pod.ready for pod in pods)
    if ready < workload.replicas:
        return f"{ready} of {workload.replicas} pods ready" if pods else "no pod runs"
    return ""


def keeps(promised: str, pod: Pod) -> bool:
    """Whether a pod has the image that is promised."""
    return is_same(promised, pod.image, pulled_digest(pod.image_id))


def _pulled(pods: Sequence[Pod]) -> str:
    """The digest that all pods have; empty where they differ or do not say."""
    stated = {pulled_digest(pod.image_id) for pod in pods if not pod.ending}
    return stated.pop() if len(stated) == 1 else ""


def _many(pods: Sequence[Pod]) -> str:
    return "1 pod" if len(pods) == 1 else f"{len(pods)} pods"


def moved_tags(proofs: Sequence[Proof]) -> dict[str, tuple[str, ...]]:
    """Promised tags under which pods run different digests: the tag was moved."""
    found: dict[str, set[str]] = {}
    for each in proofs:
        if each.agrees:
            found.setdefault(each.row.wants, set()).update(each.digests)
    return {tag: tuple(sorted(some)) for tag, some in sorted(found.items()) if len(some) > 1}
