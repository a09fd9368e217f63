"""The shelves of a hub, and what is looked up on them."""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

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
)
from tidegate.kinds.policies.core.revision import Fields, Revision, read_revision
from tidegate.kinds.policies.hub.mirror import FRESH_S, HubMirror, Shelf
from tidegate.kinds.policies.wire.hub_doc import (
    BindingState,
    ClusterState,
    binding_of,
    cluster_of,
    decision_of,
    replica_of,
    root_of,
    upgrade_of,
)
from tidegate.kinds.policies.wire.rollout_doc import (
    PolicyRollout,
    read_annotation,
    read_policy_rollout,
)
from tidegate.kubernetes.port import (
    CLUSTER_GROUP_UPGRADE,
    CONFIG_MAP,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_BINDING,
    PLACEMENT_DECISION,
    POLICY,
    POLICY_SET,
    Cluster,
    Object,
)
from tidegate.kubernetes.port import ROLLOUT as ROLLOUT_KIND
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.problem import Problem, Problems

# What reads the Rollouts that are in files.
ReadFiles = Callable[[], tuple[FiledRollout, ...]]
# Files are read again after so much time.
FILES_S = 10.0


class PolicyItem(msgspec.Struct, frozen=True):
    """A Policy on the hub: a replica made small, or a root or an author's as it is."""

    # `NAMESPACE.NAME` of the root; empty: it is no replica.
    root: str = ""
    replica: Replica | None = None
    document: Fields | None = None


class DecisionItem(msgspec.Struct, frozen=True):
    """A PlacementDecision and the placement it belongs to."""

    placement: str
    part: DecisionPart


class RevisionItem(msgspec.Struct, frozen=True):
    """A revision, and the policy it belongs to."""

    policy: str
    # None: the ConfigMap was changed, and holds none.
    revision: Revision | None
    # When it was made, by the server.
    made: str = ""


class ClusterShelf(Shelf[ClusterState]):
    """The managed clusters, which are in no namespace."""

    def by_name(self) -> Mapping[str, ClusterState]:
        """Each by its name."""
        return {name: state for (_, name), state in self.items.items()}


class HubShelves:
    """Everything that is looked at on a hub."""

    def __init__(
        self, cluster: Cluster, fresh_s: float = FRESH_S, files: ReadFiles | None = None
    ) -> None:
        self._files = files
        self._filed: tuple[FiledRollout, ...] = ()
        self._filed_at: float | None = None
        # Why the files could not be read; None: they could.
        self.files_gap: str | None = None
        # How often something was written that may declare a rollout.
        self._written = 0
        self._declared: tuple[tuple[int, ...], dict[str, PolicyRollout | UserError]] = ((), {})
        self.rollouts: Shelf[Fields] = Shelf(ROLLOUT_KIND, self._take_rollout, optional=True)
        self.policies: Shelf[PolicyItem] = Shelf(POLICY, self._take_policy)
        self.sets: Shelf[Fields] = Shelf(POLICY_SET, _document, optional=True)
        self.bindings: Shelf[BindingState] = Shelf(PLACEMENT_BINDING, _binding)
        self.placements: Shelf[Fields] = Shelf(PLACEMENT, _document)
        self.decisions: Shelf[DecisionItem] = Shelf(PLACEMENT_DECISION, _decision)
        self.upgrades: Shelf[frozenset[str]] = Shelf(
            CLUSTER_GROUP_UPGRADE, _upgrade, optional=True, hideable=True
        )
        self.clusters = ClusterShelf(MANAGED_CLUSTER, _cluster)
        self.revision_maps: Shelf[RevisionItem] = Shelf(CONFIG_MAP, _revision, POLICY_LABEL)
        self.pointer_maps: Shelf[Fields] = Shelf(CONFIG_MAP, _document, CLUSTER_LABEL)
        self.all: list[Shelf[Any]] = [
            self.rollouts,
            self.policies,
            self.sets,
            self.bindings,
            self.placements,
            self.decisions,
            self.upgrades,
            self.clusters,
            self.revision_maps,
            self.pointer_maps,
        ]
        self.mirror = HubMirror(cluster, self.all, fresh_s)

    async def fresh(self) -> None:
        """Have everything as it is now, or with a gap; files, as they were a moment ago."""
        await self.mirror.fresh()
        now_s = asyncio.get_running_loop().time()
        if self._files is None or (self._filed_at is not None and now_s - self._filed_at < FILES_S):
            return
        try:
            found = await asyncio.to_thread(self._files)
        except (UserError, OutsideError) as error:
            self.files_gap = str(error)
            return
        self.files_gap, self._filed_at = None, now_s
        if found != self._filed:
            self._filed = found
            self._written += 1

    def gaps(self) -> list[str]:
        """What could not be read."""
        gaps = {each.gap for each in self.all} | {self.files_gap}
        return sorted(each for each in gaps if each is not None)

    def _take_rollout(self, found: Object) -> Fields:
        self._written += 1
        return found.document

    def _take_policy(self, found: Object) -> PolicyItem:
        root = root_of(found.document)
        if root:
            return PolicyItem(root, replica_of(found.document))
        self._written += 1
        return PolicyItem(document=found.document)

    def declared(self) -> Mapping[str, PolicyRollout | UserError]:
        """Every rollout that is declared, by the name of its policy; or what is wrong with it.

        Put together again only when a rollout or an author's policy was written: replicas change
        all the time.
        """
        state = (self._written, self.rollouts.removals, self.policies.removals)
        if self._declared[0] != state:
            self._declared = (state, dict(self._read_declared()))
        return self._declared[1]

    def _read_declared(self) -> Iterator[tuple[str, PolicyRollout | UserError]]:
        found: dict[str, list[PolicyRollout | UserError]] = {}
        for document in self.rollouts.items.values():
            name, read = _read_object(document)
            found.setdefault(name, []).append(read)
        for item in self.policies.items.values():
            if item.document is not None and ROLLOUT in _annotations(item.document):
                name, read = _read_note(item.document)
                found.setdefault(name, []).append(read)
        for filed in self._filed:
            name, read = _read_filed(filed)
            found.setdefault(name, []).append(read)
        for name, reads in sorted(found.items()):
            if len(reads) > 1:
                several = f"{len(reads)} rollouts are declared for it"
                problem = Problem(f"policy {name}", several, "keep one")
                yield name, UserError((problem,))
            else:
                yield name, reads[0]

    def policy(self, namespace: str, name: str) -> Fields | None:
        """A Policy that is no replica; None: there is none."""
        item = self.policies.items.get((namespace, name))
        return item.document if item is not None else None

    def replicas(self, root: str) -> dict[str, Replica]:
        """The replicas of a policy, by cluster."""
        items = ((cluster, self.policies.items.get((cluster, root))) for cluster in self._names())
        return {
            cluster: item.replica
            for cluster, item in items
            if item is not None and item.replica is not None and item.root == root
        }

    def _names(self) -> list[str]:
        return [name for _, name in self.clusters.items]

    def placement(self, namespace: str, name: str) -> Fields | None:
        """A Placement; None: there is none."""
        return self.placements.items.get((namespace, name))

    def decisions_of(self, namespace: str, placement: str) -> tuple[DecisionPart, ...]:
        """The decisions of a placement, by name."""
        mine = {
            name: item.part
            for (where, name), item in self.decisions.items.items()
            if where == namespace and item.placement == placement
        }
        return tuple(mine[name] for name in sorted(mine))

    def bindings_of(self, namespace: str, policy: str) -> list[BindingState]:
        """What binds a policy, itself or in a set."""
        sets = {f"PolicySet/{name}" for name in self.sets_of(namespace, policy)}
        return self.bindings_by(namespace, {f"Policy/{policy}"} | sets)

    def bindings_by(self, namespace: str, subjects: Collection[str]) -> list[BindingState]:
        """What binds any of some subjects, by name."""
        return [
            each
            for (where, _), each in sorted(self.bindings.items.items())
            if where == namespace and not set(subjects).isdisjoint(each.subjects)
        ]

    def sets_of(self, namespace: str, policy: str) -> list[str]:
        """The sets that a policy is in."""
        return [
            name
            for (where, name), document in self.sets.items.items()
            if where == namespace and policy in members_of(document)
        ]

    def policies_in(self, binding: BindingState) -> set[str]:
        """The policies that a binding binds, themselves or in a set."""
        found: set[str] = set()
        for subject in binding.subjects:
            kind, _, name = subject.partition("/")
            document = self.sets.items.get((binding.namespace, name))
            found |= set(members_of(document or {})) if kind == POLICY_SET.name else {name}
        return found

    def upgrades_of(self, policy: str) -> list[str]:
        """The ClusterGroupUpgrades that enforce policies of a name, in whatever namespace."""
        items = sorted(self.upgrades.items.items())
        return [f"{where}/{name}" for (where, name), named in items if policy in named]

    def pointers(self, namespace: str, policy: str) -> dict[str, str]:
        """The revision that each cluster is pointed at."""
        found: dict[str, str] = {}
        for (where, _), document in self.pointer_maps.items.items():
            revision = (document.get("data") or {}).get(policy)
            if where == namespace and revision:
                found[document["metadata"]["labels"][CLUSTER_LABEL]] = revision
        return found

    def revisions_of(self, namespace: str, name: str) -> dict[str, Revision]:
        """The revisions of a policy that are kept and unchanged."""
        mine = (item.revision for item in self._revision_items(namespace, name))
        return {each.name: each for each in mine if each is not None}

    def made(self, namespace: str, name: str) -> dict[str, str]:
        """When each revision of a policy was made."""
        mine = self._revision_items(namespace, name)
        return {each.revision.name: each.made for each in mine if each.revision is not None}

    def _revision_items(self, namespace: str, name: str) -> Iterator[RevisionItem]:
        for (where, _), item in self.revision_maps.items.items():
            if where == namespace and item.policy == name:
                yield item


def members_of(policy_set: Fields) -> tuple[str, ...]:
    """The policies that a PolicySet names, each once."""
    return tuple(dict.fromkeys((policy_set.get("spec") or {}).get("policies") or ()))


def _read_object(document: Fields) -> tuple[str, PolicyRollout | UserError]:
    problems = Problems()
    found = read_policy_rollout(document, problems)
    if problems.errors:
        return found.name, UserError(tuple(problems.errors), where=found.origin)
    return found.name, found


def _read_filed(filed: FiledRollout) -> tuple[str, PolicyRollout | UserError]:
    """A Rollout in a file; the schema and the values of it were checked when it was read."""
    rollout = read_policy_rollout(filed.document, Problems())
    if filed.faults:
        problems = tuple(Problem("", each) for each in filed.faults)
        return rollout.name, UserError(problems, where=filed.origin)
    read = msgspec.structs.replace(rollout, origin=filed.origin, written=filed.policy)
    return rollout.name, read


def _read_note(document: Fields) -> tuple[str, PolicyRollout | UserError]:
    metadata = document["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    origin = f"policy/{namespace}/{name}: {ROLLOUT}"
    problems = Problems()
    try:
        fields = read_yaml(origin, _annotations(document)[ROLLOUT]).data
    except UserError as error:
        return full_name(namespace, name), error
    found = read_annotation(fields, namespace, name, problems)
    if problems.errors:
        return found.name, UserError(tuple(problems.errors), where=origin)
    return found.name, found


def _annotations(document: Fields) -> Mapping[str, str]:
    return document["metadata"].get("annotations") or {}


def _document(found: Object) -> Fields:
    return found.document


def _revision(found: Object) -> RevisionItem:
    metadata = found.document["metadata"]
    policy, made = metadata["labels"][POLICY_LABEL], str(metadata.get("creationTimestamp") or "")
    try:
        return RevisionItem(policy, read_revision(found.document), made)
    except ValueError:
        return RevisionItem(policy, None)


def _binding(found: Object) -> BindingState:
    return binding_of(found.document)


def _upgrade(found: Object) -> frozenset[str]:
    return upgrade_of(found.document)


def _cluster(found: Object) -> ClusterState:
    return cluster_of(found.document)


def _decision(found: Object) -> DecisionItem:
    labels = found.document["metadata"].get("labels") or {}
    return DecisionItem(str(labels.get(DECISION_PLACEMENT) or ""), decision_of(found.document))
