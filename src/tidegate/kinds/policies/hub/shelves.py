"""The shelves of a hub, and what is looked up on them."""

import asyncio
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from tidegate.kinds.policies.bundle import FiledRollout
from tidegate.kinds.policies.core.compliance import Replica
from tidegate.kinds.policies.core.groups import DecisionPart
from tidegate.kinds.policies.core.names import (
    CLUSTER_LABEL,
    POLICY_LABEL,
    ROLLOUT,
    full_name,
    split_name,
)
from tidegate.kinds.policies.core.revision import Fields, Revision
from tidegate.kinds.policies.hub.items import (
    DecisionItem,
    DeclaredItem,
    PointerItem,
    PolicyItem,
    RevisionItem,
    annotations_of,
    binding_item,
    cluster_item,
    decision_item,
    members_of,
    moved,
    plain_document,
    pointers_of,
    read_filed,
    read_note,
    read_object,
    revision_item,
    upgrade_item,
)
from tidegate.kinds.policies.hub.mirror import FRESH_S, HubMirror, Name, Shelf, ShelfChange
from tidegate.kinds.policies.wire.hub_doc import BindingState, ClusterState, replica_of, root_of
from tidegate.kinds.policies.wire.rollout_doc import PolicyRollout
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
from tidegate.model.problem import Problem

# What reads the Rollouts that are in files.
ReadFiles = Callable[[], tuple[FiledRollout, ...]]
# Files are read again after so much time.
FILES_S = 10.0


class ClusterShelf(Shelf[ClusterState]):
    """The managed clusters, which are in no namespace."""

    _names: tuple[int, Mapping[str, ClusterState]] = (-1, {})

    def by_name(self) -> Mapping[str, ClusterState]:
        """Each by its name; the same mapping until one changes."""
        if self._names[0] != self.changes:
            by_name = {name: state for (_, name), state in self.items.items()}
            self._names = (self.changes, by_name)
        return self._names[1]


class HubShelves:
    """Everything that is looked at on a hub.

    What one policy needs of a thousand clusters is found by its name, and kept up change by change:
    of a hundred policies, the others need not be looked through.
    """

    def __init__(
        self, cluster: Cluster, fresh_s: float = FRESH_S, files: ReadFiles | None = None
    ) -> None:
        self._files = files
        self._filed: tuple[FiledRollout, ...] = ()
        self._filed_at: float | None = None
        # Why the files could not be read; None: they could.
        self.files_gap: str | None = None
        # How often something was written that may declare a rollout, or is no replica.
        self._written = 0
        self._declared: tuple[int, dict[str, PolicyRollout | UserError]] = (-1, {})
        # By root: its replicas by cluster. By namespace and policy: its pointers by cluster.
        self._replicas: defaultdict[str, dict[str, Replica]] = defaultdict(dict)
        self._pointers: defaultdict[Name, dict[str, str]] = defaultdict(dict)
        # By root: how often a replica or a pointer of it changed.
        self._moves: Counter[str] = Counter()
        # The author's policies that declare a rollout themselves.
        self._noted: dict[Name, tuple[str, PolicyRollout | UserError]] = {}
        self.rollouts: Shelf[DeclaredItem] = Shelf(
            ROLLOUT_KIND, self._take_rollout, optional=True, note=self._note_rollout
        )
        self.policies: Shelf[PolicyItem] = Shelf(POLICY, self._take_policy, note=self._note_policy)
        self.sets: Shelf[Fields] = Shelf(POLICY_SET, plain_document, optional=True)
        self.bindings: Shelf[BindingState] = Shelf(PLACEMENT_BINDING, binding_item)
        self.placements: Shelf[Fields] = Shelf(PLACEMENT, plain_document)
        self.decisions: Shelf[DecisionItem] = Shelf(PLACEMENT_DECISION, decision_item)
        self.upgrades: Shelf[frozenset[str]] = Shelf(
            CLUSTER_GROUP_UPGRADE, upgrade_item, optional=True, hideable=True
        )
        self.clusters = ClusterShelf(MANAGED_CLUSTER, cluster_item)
        self.revision_maps: Shelf[RevisionItem] = Shelf(CONFIG_MAP, revision_item, POLICY_LABEL)
        self.pointer_maps: Shelf[PointerItem] = Shelf(
            CONFIG_MAP, pointers_of, CLUSTER_LABEL, note=self._note_pointers
        )
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

    @property
    def stamp(self) -> tuple[int, ...]:
        """Differs once anything does but a replica, a pointer or a cluster."""
        slow: tuple[Shelf[Any], ...] = (
            self.sets,
            self.bindings,
            self.placements,
            self.decisions,
            self.upgrades,
            self.revision_maps,
        )
        return (self._written, *(each.changes for each in slow))

    def stamp_of(self, *roots: str) -> tuple[int, ...]:
        """Differs once anything does that matters to some policies."""
        moves = (self._moves[each] for each in roots)
        return (*self.stamp, self.clusters.changes, *moves)

    def _take_rollout(self, found: Object) -> DeclaredItem:
        document = plain_document(found)
        known = self.rollouts.items.get((found.namespace, found.name))
        # A status is written all the time, and declares nothing.
        if known is not None and known.document.get("spec") == document.get("spec"):
            return DeclaredItem(document, known.policy, known.declared)
        return DeclaredItem(document, *read_object(document))

    def _take_policy(self, found: Object) -> PolicyItem:
        root = root_of(found.document)
        if not root:
            return PolicyItem(document=plain_document(found, status=False))
        return PolicyItem(sys.intern(root), replica_of(found.document))

    def _note_rollout(self, change: ShelfChange[DeclaredItem]) -> None:
        before, after = change.before, change.after
        same = before is not None and after is not None and before.declared is after.declared
        self._written += not same

    def _note_policy(self, change: ShelfChange[PolicyItem]) -> None:
        namespace, name = change.name
        before, after = change.before, change.after
        self._moves[name] += 1
        if before is not None and before.root == name:
            self._replicas[name].pop(namespace, None)
        if after is not None and after.root == name and after.replica is not None:
            self._replicas[name][namespace] = after.replica
        documents = [each.document for each in (before, after) if each is not None]
        if any(each is not None for each in documents):
            self._written += 1
            self._noted.pop(change.name, None)
            written = after.document if after is not None else None
            if written is not None and ROLLOUT in annotations_of(written):
                self._noted[change.name] = read_note(written)

    def _note_pointers(self, change: ShelfChange[PointerItem]) -> None:
        for policy, cluster, revision in moved(change):
            pointers = self._pointers[change.name[0], policy]
            if revision is None:
                pointers.pop(cluster, None)
            else:
                pointers[cluster] = revision
            self._moves[full_name(change.name[0], policy)] += 1

    def declared(self) -> Mapping[str, PolicyRollout | UserError]:
        """Every rollout that is declared, by the name of its policy; or what is wrong with it.

        Put together again only when a rollout or an author's policy was written: replicas change
        all the time.
        """
        if self._declared[0] != self._written:
            self._declared = (self._written, dict(self._read_declared()))
        return self._declared[1]

    def _read_declared(self) -> Iterator[tuple[str, PolicyRollout | UserError]]:
        found: dict[str, list[PolicyRollout | UserError]] = {}
        for item in self.rollouts.items.values():
            found.setdefault(item.policy, []).append(item.declared)
        for name, read in self._noted.values():
            found.setdefault(name, []).append(read)
        for filed in self._filed:
            name, read = read_filed(filed)
            found.setdefault(name, []).append(read)
        for name, reads in sorted(found.items()):
            if len(reads) > 1:
                several = f"{len(reads)} rollouts are declared for it"
                problem = Problem(f"policy {name}", several, "keep one")
                yield name, UserError((problem,))
            else:
                yield name, reads[0]

    def touched(self, shelf: Shelf[Any], change: ShelfChange[Any]) -> Collection[str]:
        """The policies that a change may matter to, of those that have a rollout."""
        declared = self.declared()
        if shelf is self.policies:
            items = [each for each in (change.before, change.after) if each is not None]
            roots = [each.root for each in items if each.document is None]
            named = {
                each
                for root in roots or [full_name(*change.name)]
                for each in self._with_sets(root)
            }
            if roots:
                return named & declared.keys()
            return [
                name
                for name, each in declared.items()
                if name in named or self._is_source(each, change.name)
            ]
        if shelf is self.pointer_maps:
            roots = [full_name(change.name[0], policy) for policy, _, _ in moved(change)]
            return {each for root in roots for each in self._with_sets(root)} & declared.keys()
        if shelf is self.revision_maps:
            items = [each for each in (change.before, change.after) if each is not None]
            named = {name for each in items for name in self._with_sets(each.policy)}
            return named & declared.keys()
        if shelf is self.rollouts:
            items = [each for each in (change.before, change.after) if each is not None]
            same = len(items) == 2 and items[0].declared is items[1].declared
            return () if same else {each.policy for each in items} & declared.keys()
        if shelf is self.clusters:
            return list(declared)
        if shelf is self.upgrades:
            # By the name of a policy alone, in whatever namespace; a set is of several.
            policies = (change.before or frozenset()) ^ (change.after or frozenset())
            return [
                name
                for name, each in declared.items()
                if isinstance(each, UserError) or each.policy_set or each.policy in policies
            ]
        # Bindings, sets, placements and decisions matter in their own namespace.
        return [
            name
            for name, each in declared.items()
            if isinstance(each, UserError)
            or change.name[0] in (each.namespace, each.source_namespace)
        ]

    def _is_source(self, declared: PolicyRollout | UserError, name: Name) -> bool:
        if isinstance(declared, UserError) or declared.source_namespace != name[0]:
            return False
        together = self.members(declared.namespace, declared.policy_set)
        return name[1] in (together or (declared.source_name,))

    def _with_sets(self, root: str) -> list[str]:
        """A policy, and the sets it is in, as their rollouts are called."""
        namespace, policy = split_name(root)
        return [root, *(full_name(namespace, each) for each in self.sets_of(namespace, policy))]

    def policy(self, namespace: str, name: str) -> Fields | None:
        """A Policy that is no replica, without its status; None: there is none."""
        item = self.policies.items.get((namespace, name))
        return item.document if item is not None else None

    def replicas(self, root: str) -> dict[str, Replica]:
        """The replicas of a policy, by cluster."""
        clusters = self.clusters.by_name()
        found = self._replicas.get(root, {})
        return {cluster: each for cluster, each in found.items() if cluster in clusters}

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

    def members(self, namespace: str, policy_set: str) -> tuple[str, ...]:
        """The policies that a set names, each once; none where there is no such set."""
        return members_of(self.sets.items.get((namespace, policy_set)) or {})

    def policies_in(self, binding: BindingState) -> set[str]:
        """The policies that a binding binds, themselves or in a set."""
        found: set[str] = set()
        for subject in binding.subjects:
            kind, _, name = subject.partition("/")
            is_set = kind == POLICY_SET.name
            found |= set(self.members(binding.namespace, name)) if is_set else {name}
        return found

    def upgrades_of(self, policy: str) -> list[str]:
        """The ClusterGroupUpgrades that enforce policies of a name, in whatever namespace."""
        items = sorted(self.upgrades.items.items(), key=lambda each: each[0])
        return [f"{where}/{name}" for (where, name), named in items if policy in named]

    def pointer(self, namespace: str, policy: str, cluster: str) -> str | None:
        """The revision that one cluster is pointed at; None: it has no pointer."""
        return self._pointers.get((namespace, policy), {}).get(cluster)

    def is_pointed(self, namespace: str, policy: str, revision: str) -> bool:
        """Whether any cluster is pointed at a revision."""
        return revision in self._pointers.get((namespace, policy), {}).values()

    def pointers(self, namespace: str, policy: str) -> dict[str, str]:
        """The revision that each cluster is pointed at."""
        return dict(self._pointers.get((namespace, policy), {}))

    def revisions_of(self, namespace: str, name: str) -> dict[str, Revision]:
        """The revisions of a policy that are kept and unchanged."""
        mine = (item.revision for item in self._revision_items(namespace, name))
        return {each.name: each for each in mine if each is not None}

    def made(self, namespace: str, name: str) -> dict[str, str]:
        """When each revision of a policy, or of a set, was made."""
        return {each.name: each.made for each in self._revision_items(namespace, name) if each.name}

    def set_revisions_of(self, namespace: str, name: str) -> dict[str, Mapping[str, str]]:
        """The revisions of a set that are kept: which revision each of its policies has."""
        mine = self._revision_items(namespace, name)
        return {each.name: each.together for each in mine if each.together is not None}

    def _revision_items(self, namespace: str, name: str) -> Iterator[RevisionItem]:
        for (where, _), item in self.revision_maps.items.items():
            if where == namespace and item.policy == name:
                yield item
