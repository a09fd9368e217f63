"""Documents of a hub, as far as they are looked at. A hub's own schemas keep their shape."""

import re
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.kinds.policies.core.compliance import Replica, TemplateReport
from tidegate.kinds.policies.core.groups import DecisionPart, PlacementState, StatedGroup
from tidegate.kinds.policies.core.names import (
    AUTHOR,
    DECISION_GROUP,
    DECISION_INDEX,
    GROUP,
    HUB_ERROR,
    OCM_CLUSTER,
    PLACEMENT,
    POLICY_VERSION,
    ROOT_POLICY,
    SCHEDULING_OFF,
)
from tidegate.kinds.policies.core.revision import AuthorPolicy
from tidegate.model.time import parse_instant

Fields = Mapping[str, Any]

# How the name of an event ends: the nanoseconds of its time.
_NANOSECONDS = re.compile(r"\.([0-9a-f]{16})$")
# Taints that the hub itself sets on clusters it cannot reach.
_OFFLINE_TAINTS = frozenset({f"{OCM_CLUSTER}/unreachable", f"{OCM_CLUSTER}/unavailable"})
_AVAILABLE = "ManagedClusterConditionAvailable"
_ARGO, _FLUX = "argocd.argoproj.io", "toolkit.fluxcd.io"
_HOSTED = "apps.open-cluster-management.io/hosting-subscription"
# What tools note on an author's object about itself: none of it is the policy's. On the root it
# would say that they own that as well.
_NOTES = (
    "kubectl.kubernetes.io/",
    f"{_ARGO}/",
    f"kustomize.{_FLUX}/",
    f"helm.{_FLUX}/",
    "apps.open-cluster-management.io/",
    # By which Argo CD tracks what it prunes, where it is set so.
    "app.kubernetes.io/instance",
    f"{GROUP}/",
)


class BindingState(msgspec.Struct, frozen=True):
    """A PlacementBinding."""

    namespace: str
    name: str
    # The placement its author wrote.
    placement: str
    # The one it has now.
    bound_to: str
    # `Policy/web`, `PolicySet/all`.
    subjects: tuple[str, ...]
    # It adds overrides to clusters that others bind, and binds none itself.
    restricted: bool = False
    # It has its subjects enforced, whatever they say themselves.
    enforces: bool = False
    # The tool that writes it; empty: none that is known.
    tool: str = ""


class ClusterState(msgspec.Struct, frozen=True):
    """A ManagedCluster."""

    name: str
    labels: dict[str, str]
    # Why its agent is not heard; empty: it is.
    unreachable: str = ""


def _metadata(document: Fields) -> Fields:
    found: Fields = document["metadata"]
    return found


def author_policy(document: Fields) -> AuthorPolicy:
    """A Policy as its author keeps it, without the notes of tools."""
    metadata = _metadata(document)
    notes = metadata.get("annotations") or {}
    kept = {
        key: value
        for key, value in notes.items()
        if not key.startswith(_NOTES) and key != POLICY_VERSION
    }
    labels = {
        key: value
        for key, value in (metadata.get("labels") or {}).items()
        if not key.startswith(_NOTES)
    }
    spec = document.get("spec") or {}
    return AuthorPolicy(metadata["namespace"], metadata["name"], spec, labels, kept)


def version_of(document: Fields) -> str | None:
    """The version that its author gives a policy; None: none."""
    return (_metadata(document).get("annotations") or {}).get(POLICY_VERSION)


def author_of(document: Fields) -> str:
    """The person who proposed what a policy says; empty: not known."""
    found: str = (_metadata(document).get("annotations") or {}).get(AUTHOR) or ""
    return found


def root_of(document: Fields) -> str:
    """`NAMESPACE.NAME` of the root of a replicated Policy; empty: it is none."""
    found: str = (_metadata(document).get("labels") or {}).get(ROOT_POLICY) or ""
    return found


def replica_of(document: Fields) -> Replica:
    """A replicated Policy in a cluster's namespace."""
    errors = (
        ((each.get("objectDefinition") or {}).get("metadata") or {}).get("annotations") or {}
        for each in (document.get("spec") or {}).get("policy-templates") or ()
    )
    error = next((each[HUB_ERROR] for each in errors if each.get(HUB_ERROR)), "")
    details = (document.get("status") or {}).get("details") or ()
    return Replica(
        _metadata(document)["namespace"],
        tuple(map(_report, details)),
        error,
        is_enforced(document.get("spec")),
    )


def is_enforced(fields: Fields | None) -> bool:
    """Whether a spec, or what overrides one, says enforce."""
    return str((fields or {}).get("remediationAction") or "").lower() == "enforce"


def _report(detail: Fields) -> TemplateReport:
    """What an agent said; agents of many clusters say the same, and it is kept once."""
    history = detail.get("history") or ()
    message = str(history[0].get("message") or "") if history else ""
    name = str((detail.get("templateMeta") or {}).get("name") or "")
    at = _moment(history[0]) if history else 0
    state = str(detail.get("compliant") or "")
    return TemplateReport(
        sys.intern(name), sys.intern(state), sys.intern(message), at, len(history)
    )


def _moment(entry: Fields) -> int:
    """When an entry of a history was made; the hub keeps seconds, and its name more."""
    exact = _NANOSECONDS.search(str(entry.get("eventName") or ""))
    if exact is not None:
        return int(exact[1], 16)
    try:
        return parse_instant(str(entry.get("lastTimestamp")))
    except ValueError:
        return 0


def binding_of(document: Fields) -> BindingState:
    """A PlacementBinding."""
    metadata = _metadata(document)
    bound_to = str((document.get("placementRef") or {}).get("name") or "")
    written = (metadata.get("annotations") or {}).get(PLACEMENT)
    subjects = document.get("subjects") or ()
    return BindingState(
        namespace=metadata["namespace"],
        name=metadata["name"],
        placement=written or bound_to,
        bound_to=bound_to,
        subjects=tuple(f"{each.get('kind')}/{each.get('name')}" for each in subjects),
        restricted=document.get("subFilter") == "restricted",
        enforces=is_enforced(document.get("bindingOverrides")),
        tool=tool_of(document),
    )


def tool_of(document: Fields) -> str:
    """The tool that says on an object that it writes it from somewhere else; empty: none does."""
    metadata = _metadata(document)
    notes, labels = metadata.get("annotations") or {}, metadata.get("labels") or {}
    tracked = notes.get(f"{_ARGO}/tracking-id") or labels.get(f"{_ARGO}/instance")
    if tracked:
        return f"application {tracked.partition(':')[0]} of Argo CD"
    for prefix, kind in (("kustomize", "Kustomization"), ("helm", "HelmRelease")):
        name = labels.get(f"{prefix}.{_FLUX}/name")
        if name:
            home = labels.get(f"{prefix}.{_FLUX}/namespace")
            return f"{kind} {f'{home}/' if home else ''}{name} of Flux"
    return f"subscription {notes[_HOSTED]}" if notes.get(_HOSTED) else ""


def upgrade_of(document: Fields) -> frozenset[str]:
    """The policies that a ClusterGroupUpgrade enforces, by name; none once it has succeeded."""
    conditions = (document.get("status") or {}).get("conditions") or ()
    if any(each.get("type") == "Succeeded" and each.get("status") == "True" for each in conditions):
        return frozenset()
    return frozenset(map(str, (document.get("spec") or {}).get("managedPolicies") or ()))


def is_unscheduled(document: Fields) -> bool:
    """Whether the scheduler leaves the decisions of a Placement alone."""
    return (_metadata(document).get("annotations") or {}).get(SCHEDULING_OFF) == "true"


def decision_of(document: Fields) -> DecisionPart:
    """A PlacementDecision."""
    metadata = _metadata(document)
    labels = metadata.get("labels") or {}
    index = str(labels.get(DECISION_INDEX) or "")
    decisions = (document.get("status") or {}).get("decisions") or ()
    return DecisionPart(
        metadata["name"],
        str(labels.get(DECISION_GROUP) or ""),
        int(index) if index.isascii() and index.isdigit() else None,
        tuple(str(each["clusterName"]) for each in decisions),
        tuple(str(each.get("reason") or "") for each in decisions),
    )


def placement_state(document: Fields, parts: tuple[DecisionPart, ...]) -> PlacementState:
    """A Placement and its decisions."""
    status = document.get("status") or {}
    groups = status.get("decisionGroups")
    stated = tuple(map(_stated, groups)) if groups is not None else None
    return PlacementState(
        _metadata(document)["name"], stated, status.get("numberOfSelectedClusters"), parts
    )


def _stated(group: Fields) -> StatedGroup:
    return StatedGroup(
        int(group.get("decisionGroupIndex") or 0),
        str(group.get("decisionGroupName") or ""),
        tuple(map(str, group.get("decisions") or ())),
        int(group.get("clusterCount") or 0),
    )


def cluster_of(document: Fields) -> ClusterState:
    """A ManagedCluster; one that the hub has not heard of yet is not reachable."""
    metadata = _metadata(document)
    conditions = (document.get("status") or {}).get("conditions") or ()
    available = next((each for each in conditions if each.get("type") == _AVAILABLE), None)
    taints = (document.get("spec") or {}).get("taints") or ()
    tainted = [str(each.get("key")) for each in taints if each.get("key") in _OFFLINE_TAINTS]
    why = ""
    if available is None or available.get("status") != "True":
        said = (available or {}).get("message") or "the hub has not heard of it"
        why = f"its agent is not reachable: {said}"
    elif tainted:
        why = f"its agent is not reachable: taint {tainted[0].rpartition('/')[2]}"
    return ClusterState(metadata["name"], dict(metadata.get("labels") or {}), why)
