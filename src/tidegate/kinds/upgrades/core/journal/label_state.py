"""What requests of labels, and their being written, make of the state of an organisation."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeGuard

from msgspec.structs import replace

from tidegate.journal.facts import Withdrawn
from tidegate.kinds.upgrades.core.journal.facts import Job, LabelsRequested
from tidegate.kinds.upgrades.core.labels.label_edit import ORGANISATION, with_edits
from tidegate.kinds.upgrades.core.labels.label_requests import (
    LabelRequest,
    LabelRequests,
    RequestedLabel,
    edits_text,
    holder_id,
    labels_there,
    stand_key,
)
from tidegate.kinds.upgrades.core.step import StepKind
from tidegate.kinds.upgrades.core.world import ManagedCluster
from tidegate.model.time import Instant

if TYPE_CHECKING:
    from tidegate.kinds.upgrades.core.journal.state import UpgradeState


def request_labels(state: "UpgradeState", at: Instant, fact: LabelsRequested, actor: str) -> None:
    """Take over a request; it wins over earlier ones of the same labels."""
    request = LabelRequest(fact.ident, actor, at, fact.reason)
    _take(state, state.requested.adding(request, fact.changes))


def _withdrawn(state: "UpgradeState", _: Instant, fact: Withdrawn) -> None:
    """Forget what is left of a request."""
    _take(state, state.requested.without(fact.ident))


def settle_labels(state: "UpgradeState") -> None:
    """Forget what is there already, and holders that are gone."""
    _take(state, state.requested)


def wanted_labels(state: "UpgradeState", job: Job) -> tuple[RequestedLabel, ...]:
    """The labels that a task writes; none where something else is requested by now."""
    mine = state.requested.of_holder(holder_id(job.target, holder_cluster(state, job)))
    return mine if edits_text(each.edit for each in mine) == job.change.revision else ()


def holder_cluster(state: "UpgradeState", job: Job) -> ManagedCluster | None:
    """The cluster whose labels a task writes, if it is known; None: those of its organisation."""
    return state.clusters.get(job.target) or state.unlabelled.get(job.target)


def requested_unlabelled(state: "UpgradeState") -> tuple[ManagedCluster, ...]:
    """Clusters without labels that are to get some: brakes bind them as they bind the others."""
    if not state.requested:
        return ()
    wanted = {each.id for each in state.requested.holders}
    return tuple(each for each in state.unlabelled.values() if each.subscribed_as in wanted)


def is_of_labels(task: object) -> TypeGuard[Job]:
    """Whether a task writes labels."""
    return isinstance(task, Job) and task.change.doing is StepKind.LABELS


def labels_written(state: "UpgradeState", job: Job) -> None:
    """Labels were written: they are so until the next look says otherwise."""
    edits = [each.edit for each in wanted_labels(state, job)]
    cluster, org = holder_cluster(state, job), state.org
    if job.change.ident == ORGANISATION and org is not None:
        state.org = replace(org, labels=with_edits(org.labels, edits))
    elif cluster is not None:
        known = state.clusters if job.target in state.clusters else state.unlabelled
        known[job.target] = replace(cluster, labels=with_edits(cluster.labels, edits))
    _take(state, state.requested)


def _take(state: "UpgradeState", found: LabelRequests) -> None:
    if not found and not state.requested:
        return
    every = (*state.unlabelled.values(), *state.clusters.values())
    whole = state.org is None or not state.org.partial
    left = found.settled(labels_there(state.org, every), whole=whole)
    for each in set(state.requested.holders) - set(left.holders):
        state.stands.pop(stand_key(each), None)
    state.requested = left


LABEL_STEPS: Mapping[type, Callable[["UpgradeState", Instant, Withdrawn], None]] = {
    Withdrawn: _withdrawn
}
"""What every kind knows of requests, for labels."""
