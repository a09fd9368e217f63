"""What follows from documents that could not be used: whose they are waits, and nobody else.

    a cluster        is there with its labels, and set aside: it may be being upgraded
    a label          its organisation was not read whole: nobody knows what is blocked, which mutex
                     somebody has, or what sector it is in
    a subscription   nor then: nobody knows how many clusters there are

Where not even that can be read whose it is, it may be anybody's.
"""

from collections.abc import Mapping

import msgspec

from tidegate.kinds.upgrades.app.read.survey import Survey
from tidegate.kinds.upgrades.core import world as decided
from tidegate.kinds.upgrades.ocm.documents import Cluster, Label, Subscription
from tidegate.kinds.upgrades.ocm.port import LabelType, SetAside

Labels = Mapping[tuple[str, str], dict[str, str]]


class Gaps(msgspec.Struct):
    """What is not known, and why."""

    # Clusters of which only the subscription is known, and why, by their external ids.
    clusters: list[decided.Cluster] = []
    unread: dict[str, str] = {}
    # By organisation.
    partial: dict[str, str] = {}
    # Of everybody; empty: of nobody.
    everywhere: str = ""


def gaps_of(survey: Survey, labels: Labels) -> Gaps:
    """What a survey set aside, by whom it is about."""
    gaps = Gaps()
    known = {each.id: each for each in survey.subscriptions}
    for each in survey.set_aside:
        why = f"{each.kind} {each.id}: {each.why}"
        if each.kind == Cluster.__name__:
            _cluster(gaps, each, known, labels, why)
        elif each.kind in (Label.__name__, Subscription.__name__):
            subscription = known.get(each.of)
            org = each.of if subscription is None else subscription.organization_id
            if org:
                gaps.partial.setdefault(org, why)
            else:
                gaps.everywhere = gaps.everywhere or why
    return gaps


def _cluster(
    gaps: Gaps, aside: SetAside, known: Mapping[str, Subscription], labels: Labels, why: str
) -> None:
    """A cluster of which OpenShift Cluster Manager says too little, with what is known of it."""
    its = (each for each in known.values() if each.id == aside.of or each.cluster_id == aside.id)
    subscription = next(its, None)
    if subscription is None or not aside.id:
        gaps.everywhere = gaps.everywhere or why
        return
    cluster = decided.Cluster(
        name=subscription.display_name or aside.id,
        org=subscription.organization_id,
        version="",
        labels=labels[LabelType.SUBSCRIPTION.value, subscription.id],
        id=aside.id,
        external_id=subscription.external_cluster_id or aside.id,
        subscription=subscription.id,
        omit=("version",),
    )
    gaps.clusters.append(cluster)
    gaps.unread[cluster.uuid] = why
