"""Upgrade policies of clusters, which are labels of their subscriptions."""

from collections.abc import Iterable

import msgspec
from msgspec import UNSET, UnsetType, field

from tidegate.kinds.upgrades.app.owners.changes import LabelPlan
from tidegate.kinds.upgrades.app.owners.organisation import DeclaredOrganisation, OwnerDocument
from tidegate.kinds.upgrades.core.labels.label_edit import (
    CLUSTER_LABELS,
    HolderChange,
    Wanted,
    edits_of,
    replacing,
)
from tidegate.kinds.upgrades.core.rules.fleet import gather
from tidegate.kinds.upgrades.core.world import ManagedCluster
from tidegate.kinds.upgrades.wire.labels_doc import policy_document
from tidegate.model.document import Part
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

UNLABELLED = "clusters without labels are not known: a worker reads them once an hour"
"""What a service says of clusters that its worker has not read."""


class PolicyConditions(Part, frozen=True, kw_only=True):
    """The conditions of an upgrade policy, named as the predecessor's command line names them."""

    soak_days: int | str | UnsetType = field(name="soak_days", default=UNSET)
    sector: str | UnsetType = UNSET
    mutexes: tuple[str, ...] | UnsetType = UNSET
    blocked_versions: tuple[str, ...] | UnsetType = field(name="blocked_versions", default=UNSET)


class ClusterUpgradePolicy(Part, frozen=True, kw_only=True):
    """The upgrade policy of one cluster, in the form that `policy set -f` reads."""

    name: str
    # Where several clusters have the name.
    subscription_id: str | UnsetType = field(name="subscription_id", default=UNSET)
    schedule: str | UnsetType = UNSET
    schedule_timezone: str | UnsetType = field(name="schedule_timezone", default=UNSET)
    workloads: tuple[str, ...] | UnsetType = UNSET
    version_gate_approvals: tuple[str, ...] | UnsetType = field(
        name="version_gate_approvals", default=UNSET
    )
    conditions: PolicyConditions
    # Labels that are no part of an upgrade policy.
    labels: dict[str, str] | UnsetType = UNSET


class LabelledCluster(Part, frozen=True, kw_only=True):
    """One cluster with its labels as they are, and what is wrong with them."""

    # The name, with the external id where several clusters have it.
    called: str
    version: str
    labels: dict[str, str]
    problems: tuple[str, ...]


class UpgradePolicyList(OwnerDocument, frozen=True, kw_only=True):
    """The upgrade policies of an organisation's clusters."""

    org: str
    items: tuple[ClusterUpgradePolicy, ...]
    # The same clusters with their labels, those without an upgrade policy too.
    clusters: tuple[LabelledCluster, ...]


class WantedPolicy(msgspec.Struct, frozen=True):
    """What is asked for of a cluster: by name or subscription, with its place in a file."""

    name: str
    where: str
    labels: Wanted


def list_policies(
    declared: DeclaredOrganisation, names: tuple[str, ...] = (), *, unlabelled: bool = False
) -> UpgradePolicyList:
    """The upgrade policies of clusters by name, or of all; those without one too, if asked for."""
    clusters = declared.clusters(names, unlabelled=unlabelled)
    wrong = _label_errors(declared)
    return UpgradePolicyList(
        warnings=declared.warnings,
        org=declared.org.id,
        items=tuple(_policy(declared, each) for each in clusters if each.labels or names),
        clusters=tuple(
            LabelledCluster(
                called=declared.holder(each).called,
                version=each.version,
                labels=each.labels,
                problems=wrong.get(each.subscribed_as, ()),
            )
            for each in clusters
        ),
    )


def _policy(declared: DeclaredOrganisation, cluster: ManagedCluster) -> ClusterUpgradePolicy:
    unique = declared.holder(cluster).called == cluster.name
    subscription = "" if unique else cluster.subscribed_as
    document = policy_document(cluster.name, cluster.labels, subscription)
    return msgspec.convert(document, ClusterUpgradePolicy)


def _label_errors(declared: DeclaredOrganisation) -> dict[str, tuple[str, ...]]:
    """What the service reports as errors, by subscription."""
    return {
        member.cluster.subscribed_as: tuple(each.text() for each in member.label_errors)
        for fleet in gather(declared.world, declared.world.now)
        for member in fleet.members
    }


def set_policies(
    declared: DeclaredOrganisation, wanted: Iterable[WantedPolicy], *, replace: bool
) -> LabelPlan:
    """Set what is named of upgrade policies; with `replace`, remove every part that is not."""
    problems: list[Problem] = []
    seen: dict[str, Wanted] = {}
    found: list[tuple[ManagedCluster, Wanted]] = []
    for one in wanted:
        try:
            clusters = declared.clusters([one.name])
        except UserError as error:
            problems += [_at(one.where, each) for each in error.problems]
            continue
        for cluster in clusters:
            before = seen.get(cluster.subscribed_as)
            if before is None:
                found.append((cluster, one.labels))
                seen[cluster.subscribed_as] = one.labels
            elif one.where or before != one.labels:
                what = f"{declared.holder(cluster).text()} is listed twice"
                problems.append(Problem(one.where, what, "keep one of them"))
    if problems:
        raise UserError(tuple(problems))
    return LabelPlan(
        tuple(
            HolderChange(
                declared.holder(each), edits_of(each.labels, _whole(each, labels, replace))
            )
            for each, labels in found
        )
    )


def _whole(cluster: ManagedCluster, wanted: Wanted, replace: bool) -> Wanted:
    return replacing(cluster.labels, wanted, CLUSTER_LABELS) if replace else wanted


def _at(where: str, problem: Problem) -> Problem:
    path = ": ".join(filter(None, (where, problem.path)))
    return Problem(path, problem.message, problem.remedy)


def remove_policies(
    declared: DeclaredOrganisation, names: Iterable[str], *, unknown_too: bool
) -> LabelPlan:
    """Remove the upgrade policies of clusters; UserError if labels that are unknown would stay."""
    clusters = declared.clusters(names)
    problems: list[Problem] = []
    for each in clusters:
        unknown = sorted(each.labels.keys() - set(CLUSTER_LABELS))
        if unknown and not unknown_too:
            what = f"{', '.join(unknown)} would stay, and any such label asks for a policy"
            problems.append(Problem(declared.holder(each).text(), what, "--all removes it, too"))
    if problems:
        raise UserError(tuple(problems))
    return LabelPlan(
        tuple(
            HolderChange(declared.holder(each), edits_of(each.labels, dict.fromkeys(each.labels)))
            for each in clusters
        )
    )
