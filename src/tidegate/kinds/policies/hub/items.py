"""What is kept of each object of a hub: as little as is looked at, for a hub has many."""

import sys
from collections.abc import Iterator, Mapping

import msgspec

from tidegate.documents.strict_yaml import read_yaml
from tidegate.kinds.policies.bundle import FiledRollout
from tidegate.kinds.policies.core.compliance import Replica
from tidegate.kinds.policies.core.groups import DecisionPart
from tidegate.kinds.policies.core.names import (
    CLUSTER_LABEL,
    DECISION_PLACEMENT,
    POLICY_LABEL,
    ROLLOUT,
    full_name,
    pointer_map,
)
from tidegate.kinds.policies.core.revision import Fields, Revision, read_revision
from tidegate.kinds.policies.core.sets import is_of_set, read_set_revision, set_revision
from tidegate.kinds.policies.hub.mirror import ShelfChange
from tidegate.kinds.policies.wire.hub_doc import (
    BindingState,
    ClusterState,
    binding_of,
    cluster_of,
    decision_of,
    upgrade_of,
)
from tidegate.kinds.policies.wire.rollout_doc import (
    PolicyRollout,
    read_annotation,
    read_policy_rollout,
)
from tidegate.kubernetes.port import Object
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems

# What differs with every write.
_COUNTED = frozenset({"resourceVersion", "managedFields"})


class PolicyItem(msgspec.Struct, frozen=True):
    """A Policy on the hub: a replica made small, or a root or an author's without its status."""

    # `NAMESPACE.NAME` of the root; empty: it is no replica.
    root: str = ""
    replica: Replica | None = None
    document: Fields | None = None


class DeclaredItem(msgspec.Struct, frozen=True):
    """A Rollout object, and what it declares."""

    document: Fields
    policy: str
    declared: PolicyRollout | UserError


class PointerItem(msgspec.Struct, frozen=True, gc=False):
    """The pointers of one cluster."""

    cluster: str
    # The revision of each policy.
    revisions: Mapping[str, str]


class DecisionItem(msgspec.Struct, frozen=True):
    """A PlacementDecision and the placement it belongs to."""

    placement: str
    part: DecisionPart


class RevisionItem(msgspec.Struct, frozen=True):
    """A revision, and the policy or the set it belongs to."""

    policy: str
    # None: the ConfigMap was changed, and holds none; or it is of a set.
    revision: Revision | None
    # When it was made, by the server.
    made: str = ""
    # Of a set: the revision of each of its policies; None: it is of a policy.
    together: Mapping[str, str] | None = None

    @property
    def name(self) -> str:
        """What the revision is called; empty: there is none."""
        if self.together is not None:
            return set_revision(self.together)
        return self.revision.name if self.revision is not None else ""


def moved(change: ShelfChange[PointerItem]) -> Iterator[tuple[str, str, str | None]]:
    """Policy, cluster and revision of each pointer that differs; None: it is gone."""
    before, after = change.before, change.after
    left = after.revisions if after is not None else {}
    if before is not None:
        # Two labels of one map: what it says of the first cluster is gone.
        same = after is not None and before.cluster == after.cluster
        for policy in before.revisions:
            if not same or policy not in left:
                yield policy, before.cluster, None
    known = before.revisions if before is not None else {}
    if after is not None:
        for policy, revision in left.items():
            if known.get(policy) != revision or (before and before.cluster != after.cluster):
                yield policy, after.cluster, revision


def read_object(document: Fields) -> tuple[str, PolicyRollout | UserError]:
    """The policy that a Rollout object is for, and what it declares or what is wrong with it."""
    problems = Problems()
    found = read_policy_rollout(document, problems)
    if problems.errors:
        return found.name, UserError(tuple(problems.errors), where=found.origin)
    return found.name, found


def read_note(document: Fields) -> tuple[str, PolicyRollout | UserError]:
    """The same of an author's policy that declares its rollout itself."""
    metadata = document["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    origin = f"policy/{namespace}/{name}: {ROLLOUT}"
    problems = Problems()
    try:
        fields = read_yaml(origin, annotations_of(document)[ROLLOUT]).data
    except UserError as error:
        return full_name(namespace, name), error
    found = read_annotation(fields, namespace, name, problems)
    if problems.errors:
        return found.name, UserError(tuple(problems.errors), where=origin)
    return found.name, found


def read_filed(filed: FiledRollout) -> tuple[str, PolicyRollout | UserError]:
    """A Rollout in a file; the schema and the values of it were checked when it was read."""
    rollout = read_policy_rollout(filed.document, Problems())
    if filed.faults:
        problems = tuple(Problem("", each) for each in filed.faults)
        return rollout.name, UserError(problems, where=filed.origin)
    read = msgspec.structs.replace(rollout, origin=filed.origin, written=filed.policy)
    return rollout.name, read


def annotations_of(document: Fields) -> Mapping[str, str]:
    """The annotations of a document."""
    return document["metadata"].get("annotations") or {}


def plain_document(found: Object, *, status: bool = True) -> Fields:
    """A document without what the server counts; maybe without its status."""
    metadata = {
        key: value for key, value in found.document["metadata"].items() if key not in _COUNTED
    }
    kept = {key: value for key, value in found.document.items() if status or key != "status"}
    return {**kept, "metadata": metadata}


def pointers_of(found: Object) -> PointerItem:
    """The pointers in a ConfigMap; one of another name is looked up by no cluster."""
    cluster = str(found.document["metadata"]["labels"][CLUSTER_LABEL])
    data = (found.document.get("data") or {}) if found.name == pointer_map(cluster) else {}
    known = {sys.intern(key): sys.intern(value) for key, value in data.items() if value}
    return PointerItem(sys.intern(cluster), known)


def revision_item(found: Object) -> RevisionItem:
    """A revision in a ConfigMap."""
    metadata = found.document["metadata"]
    policy, made = metadata["labels"][POLICY_LABEL], str(metadata.get("creationTimestamp") or "")
    try:
        if is_of_set(found.document):
            return RevisionItem(policy, None, made, read_set_revision(found.document))
        return RevisionItem(policy, read_revision(found.document), made)
    except ValueError:
        return RevisionItem(policy, None)


def binding_item(found: Object) -> BindingState:
    """A PlacementBinding."""
    return binding_of(found.document)


def upgrade_item(found: Object) -> frozenset[str]:
    """The policies that a ClusterGroupUpgrade enforces."""
    return upgrade_of(found.document)


def cluster_item(found: Object) -> ClusterState:
    """A ManagedCluster."""
    return cluster_of(found.document)


def decision_item(found: Object) -> DecisionItem:
    """A PlacementDecision."""
    labels = found.document["metadata"].get("labels") or {}
    return DecisionItem(str(labels.get(DECISION_PLACEMENT) or ""), decision_of(found.document))


def members_of(policy_set: Fields) -> tuple[str, ...]:
    """The policies that a PolicySet names, each once."""
    return tuple(dict.fromkeys((policy_set.get("spec") or {}).get("policies") or ()))
