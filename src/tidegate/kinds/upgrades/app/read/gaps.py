"""What follows from documents that could not be used: their owner waits, and no other.

    a cluster        is there with its labels, and excluded: it may be upgrading
    a label          its organisation was not read completely: blocks, mutexes and sectors may be
                     missing
    a subscription   the same: the number of clusters is not known

Where not even its owner can be read, it may belong to any organisation.
"""

from collections.abc import Mapping

import msgspec

from tidegate.kinds.upgrades.app.read.survey import Survey
from tidegate.kinds.upgrades.core import world as decided
from tidegate.kinds.upgrades.ocm.documents import Label, OcmCluster, Subscription, kind_name
from tidegate.kinds.upgrades.ocm.port import LabelType, UnreadableDocument

Labels = Mapping[tuple[str, str], dict[str, str]]


class Gaps(msgspec.Struct):
    """What is not known, and why."""

    # Clusters of which only the subscription is known, and why, by their external ids.
    clusters: list[decided.ManagedCluster] = []
    unread: dict[str, str] = {}
    # By organisation.
    partial: dict[str, str] = {}
    # Why no organisation was read completely; empty: some were.
    everywhere: str = ""


def gaps_of(survey: Survey, labels: Labels) -> Gaps:
    """What a survey could not read, by owner."""
    gaps = Gaps()
    known = {each.id: each for each in survey.subscriptions}
    for each in survey.unreadable:
        why = f"{each.kind} {each.id}: {each.why}"
        if each.kind == kind_name(OcmCluster):
            _cluster(gaps, each, known, labels, why)
        elif each.kind in (kind_name(Label), kind_name(Subscription)):
            subscription = known.get(each.of)
            org = each.of if subscription is None else subscription.organization_id
            if org:
                gaps.partial.setdefault(org, why)
            else:
                gaps.everywhere = gaps.everywhere or why
    return gaps


def _cluster(
    gaps: Gaps,
    excluded: UnreadableDocument,
    known: Mapping[str, Subscription],
    labels: Labels,
    why: str,
) -> None:
    """A cluster of which OpenShift Cluster Manager says too little, with what is known of it."""
    its = (
        each for each in known.values() if each.id == excluded.of or each.cluster_id == excluded.id
    )
    subscription = next(its, None)
    if subscription is None or not excluded.id:
        gaps.everywhere = gaps.everywhere or why
        return
    cluster = decided.ManagedCluster(
        name=subscription.display_name or excluded.id,
        org=subscription.organization_id,
        version="",
        labels=labels[LabelType.SUBSCRIPTION.value, subscription.id],
        id=excluded.id,
        external_id=subscription.external_cluster_id or excluded.id,
        subscription=subscription.id,
        subscription_status=subscription.unused,
        omit=("version",),
    )
    gaps.clusters.append(cluster)
    gaps.unread[cluster.uuid] = why
