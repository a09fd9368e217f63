"""One policy on a hub, put together from what the hub holds: what is wanted, given and reported."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from tidegate.kinds.policies.core.compliance import Replica, report_of
from tidegate.kinds.policies.core.groups import DecisionPart, GroupReading
from tidegate.kinds.policies.core.lint import check_change, check_policy
from tidegate.kinds.policies.core.losses import words_of_return
from tidegate.kinds.policies.core.names import STAGED, own_placement, revision_map, wave_name
from tidegate.kinds.policies.core.revision import (
    AuthorPolicy,
    Fields,
    Revision,
    is_staged,
    revision_of,
)
from tidegate.kinds.policies.hub.owners import check_frame, check_owners
from tidegate.kinds.policies.hub.placements import placement_groups, warn_of_names
from tidegate.kinds.policies.hub.shelves import HubShelves
from tidegate.kinds.policies.wire.hub_doc import (
    BindingState,
    ClusterState,
    author_of,
    author_policy,
    is_unscheduled,
    version_of,
)
from tidegate.kinds.policies.wire.rollout_doc import PolicyRollout
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems
from tidegate.model.target import Status, Target

NO_CLUSTER = "the hub has no ManagedCluster of this name"


class PolicyView(msgspec.Struct, frozen=True):
    """One policy, as of one moment."""

    rollout: PolicyRollout
    source: AuthorPolicy
    version: str | None
    # What the author wants.
    revision: Revision
    # None: there is none yet.
    root: Fields | None
    # Whether the root looks its content up by pointers.
    staged: bool
    # What every cluster has that has the policy at all, while it is not staged.
    baseline: Revision | None
    bindings: tuple[BindingState, ...]
    reading: GroupReading
    clusters: Mapping[str, ClusterState]
    pointers: Mapping[str, str]
    revisions: Mapping[str, Revision]
    # Decisions of our own.
    decisions: tuple[DecisionPart, ...]
    replicas: Mapping[str, Replica]
    # The clusters in them.
    placed: frozenset[str] = frozenset()
    # Whether the Placement they belong to is there, and the scheduler leaves it alone.
    placement_kept: bool = True
    warnings: tuple[Problem, ...] = ()
    # The person who proposed what the author wants; empty: not known.
    author: str = ""

    @property
    def members(self) -> list[str]:
        """The clusters that are in a group."""
        return list(dict.fromkeys(name for group in self.groups for name in group.clusters))

    @property
    def groups(self) -> tuple[Membership, ...]:
        """The groups of all placements."""
        return self.reading.groups

    @property
    def given(self) -> Mapping[str, str]:
        """The revision each cluster gets; pointers mean nothing while nothing looks them up."""
        return self.pointers if self.staged else {}

    @property
    def pointed(self) -> frozenset[str]:
        """The revisions that a pointer names."""
        return frozenset(self.pointers.values())

    @property
    def revision_name(self) -> str:
        """What the author wants, by its name."""
        return self.revision.name

    @property
    def baseline_name(self) -> str:
        """What all clusters have while it is not staged; empty: none has it, or it is staged."""
        return self.baseline.name if self.baseline is not None else ""

    @property
    def in_use(self) -> frozenset[str]:
        """The revisions that the hub needs: given, wanted, or what to return to."""
        own = {self.revision.name, self.last_good} - {None}
        return self.pointed | frozenset(each for each in own if each is not None)

    @property
    def known(self) -> Mapping[str, Revision]:
        """All revisions that a cluster can be given, by name."""
        own = (self.revision, self.baseline)
        return {**self.revisions, **{each.name: each for each in own if each is not None}}

    @property
    def last_good(self) -> str | None:
        """What most clusters had before the wanted revision; None: nothing is known of it."""
        if not self.staged:
            return self.baseline.name if self.baseline is not None else None
        others = Counter(each for each in self.pointers.values() if each != self.revision.name)
        return min(others, key=lambda each: (-others[each], each), default=None)

    @property
    def astray(self) -> tuple[BindingState, ...]:
        """Bindings of a staged policy that were pointed elsewhere since."""
        own = own_placement(self.rollout.bound_as)
        return tuple(each for each in self.bindings if self.staged and each.bound_to != own)

    @property
    def reached(self) -> frozenset[str]:
        """The clusters that a plain root reaches; bound to our decisions, only those in them."""
        own = own_placement(self.rollout.bound_as)
        elsewhere = any(each.bound_to != own for each in self.bindings)
        return frozenset(self.members if elsewhere else ()) | self.placed | self.replicas.keys()

    def has(self, cluster: str) -> bool:
        """Whether a cluster is in our decisions, and these are those of our Placement."""
        return self.placement_kept and cluster in self.placed

    @property
    def offline(self) -> frozenset[str]:
        """Clusters that are there and whose agents are not heard."""
        return frozenset(each.name for each in self.clusters.values() if each.unreachable)

    def pointer_of(self, shelves: HubShelves, cluster: str) -> str | None:
        """What a cluster is pointed at by now, which may be newer than this view."""
        return shelves.pointer(self.rollout.namespace, self.rollout.policy, cluster)

    def lost_by_return(self, given: str | None, back: str | None) -> str:
        """What is to be said of a cluster that returns from what it was given."""
        before, after = self.revisions.get(given or ""), self.revisions.get(back or "")
        return words_of_return(before, after) if before is not None and after is not None else ""

    def report(self, cluster: str) -> Target:
        """What one cluster reports of what it was given."""
        given = self.given.get(cluster)
        known = self.clusters.get(cluster)
        if given is not None and not self.has(cluster):
            # It has lost the policy: the hub deletes it where no decision names it.
            return Target(cluster)
        revision = self.revisions.get(given) if given is not None else None
        if given is not None and revision is None:
            missing = f"ConfigMap {revision_map(self.rollout.policy, given)} is missing or changed"
            return Target(cluster, Status.Progressing, revision=given, detail=missing)
        return report_of(
            cluster,
            revision,
            self.replicas.get(cluster),
            unreachable=known.unreachable if known is not None else NO_CLUSTER,
            inform=self.rollout.inform,
        )


class _Report(msgspec.Struct, frozen=True, gc=False):
    """What one cluster reports, and what that was made from."""

    given: str | None
    has: bool
    revision: Revision | None
    replica: Replica | None
    cluster: ClusterState | None
    target: Target


class _Frame(msgspec.Struct, frozen=True):
    """A view of a staged policy, of which pointers, replicas and clusters may be old."""

    stamp: tuple[int, ...]
    view: PolicyView
    # What its root was compared with.
    most_given: Revision | None


class PolicyViews:
    """Views of policies, each put together again only where something changed.

    While a revision goes out, pointers and replicas change all the time, and the rest does not.
    """

    def __init__(self, shelves: HubShelves) -> None:
        self._shelves = shelves
        self._known: dict[str, _Frame] = {}
        self._reports: dict[str, dict[str, _Report]] = {}

    def of(self, rollout: PolicyRollout) -> PolicyView:
        """One policy, as `view_of` has it."""
        shelves, frame = self._shelves, self._frame(rollout)
        if frame is None:
            view = view_of(shelves, rollout)
            # Whether a root that is not staged may be taken over depends on pointers as well.
            if view.staged:
                most = _most_given(view.pointers, view.revisions)
                self._known[rollout.name] = _Frame(shelves.stamp, view, most)
            return view
        return replace(
            frame.view,
            clusters=shelves.clusters.by_name(),
            pointers=shelves.pointers(rollout.namespace, rollout.policy),
            replicas=shelves.replicas(rollout.name),
        )

    def pointed(
        self, rollout: PolicyRollout, cluster: str, revision: str | None
    ) -> PolicyView | None:
        """A policy of which only a pointer has to be written to give a cluster a revision.

        None: more has to be. What other clusters have may be old in it.
        """
        if self._frame(rollout) is None:
            self.of(rollout)
        frame = self._frame(rollout)
        if frame is None or frame.view.astray or revision not in frame.view.revisions:
            return None
        place = (rollout.namespace, rollout.policy)
        if not self._shelves.is_pointed(*place, revision or ""):
            return None  # what a pointer names is not removed by anything
        pointer = self._shelves.pointer(*place, cluster)
        return frame.view if pointer is not None and frame.view.has(cluster) else None

    def keep(self, names: Collection[str]) -> None:
        """Forget all policies but these."""
        for known in (self._known, self._reports):
            for name in known.keys() - set(names):
                del known[name]

    def _frame(self, rollout: PolicyRollout) -> "_Frame | None":
        """What is known of a policy but for pointers, replicas and clusters; None: not now."""
        known = self._known.get(rollout.name)
        if known is None:
            return None
        if known.stamp == self._shelves.stamp and known.view.rollout == rollout:
            pointers = self._shelves.pointers(rollout.namespace, rollout.policy)
            if _most_given(pointers, known.view.revisions) is known.most_given:
                return known
        del self._known[rollout.name]
        return None

    def reports(self, view: PolicyView, clusters: Iterable[str]) -> tuple[Target, ...]:
        """What clusters report, as `PolicyView.report` has it."""
        before = self._reports.get(view.rollout.name, {})
        given, revisions = view.given, view.revisions
        now: dict[str, _Report] = {}
        for name in clusters:
            at = given.get(name)
            revision = revisions.get(at) if at is not None else None
            replica, cluster = view.replicas.get(name), view.clusters.get(name)
            has = view.has(name)
            known = before.get(name)
            if (
                known is None
                or known.given != at
                or known.has is not has
                or known.revision is not revision
                or known.replica is not replica
                or known.cluster is not cluster
            ):
                known = _Report(at, has, revision, replica, cluster, view.report(name))
            now[name] = known
        self._reports[view.rollout.name] = now
        return tuple(each.target for each in now.values())


def view_of(shelves: HubShelves, rollout: PolicyRollout, *, rewritten: bool = False) -> PolicyView:
    """One policy, on shelves without gaps; UserError lists why it cannot be staged.

    `rewritten`: a root that was rewritten can be, to be taken over again.
    """
    problems = Problems()
    written = rollout.written or shelves.policy(rollout.source_namespace, rollout.source_name)
    where = f"policy/{rollout.source_namespace}/{rollout.source_name}"
    if written is None:
        raise UserError((Problem(where, "missing", "write it there, or fix spec.source"),))
    source = author_policy(written)
    check_policy(source, problems, (rollout.namespace, rollout.policy))
    root = shelves.policy(rollout.namespace, rollout.policy)
    pointers = shelves.pointers(rollout.namespace, rollout.policy)
    bindings = tuple(_bindings(shelves, rollout, problems))
    revisions = shelves.revisions_of(rollout.namespace, rollout.name)
    staged = root is not None and is_staged(root)
    check_owners(shelves, rollout, root, problems)
    if root is not None and staged:
        check_frame(rollout, root, _most_given(pointers, revisions), problems)
    if root is not None and not problems.errors:
        check_change(root["spec"], source.spec, problems)
    if shelves.bindings_of(source.namespace, source.name):
        problems.add(where, "is bound to clusters itself", "unbind it: the root is what is bound")
    if problems.errors:
        raise UserError(tuple(problems.errors), where=rollout.origin)
    baseline = revision_of(root["spec"]) if root is not None and not staged else None
    if not rewritten:
        _check_root(rollout, root, baseline, pointers)
    revision = revision_of(source.spec)
    reading = placement_groups(shelves, rollout.namespace, (each.placement for each in bindings))
    warn_of_names(rollout, reading, problems)
    decisions = shelves.decisions_of(rollout.namespace, own_placement(rollout.bound_as))
    own = shelves.placement(rollout.namespace, own_placement(rollout.bound_as))
    replicas = shelves.replicas(rollout.name)
    return PolicyView(
        rollout=rollout,
        source=source,
        version=version_of(written),
        author=author_of(written),
        revision=revision,
        root=root,
        staged=staged,
        baseline=baseline,
        bindings=bindings,
        reading=reading,
        clusters=shelves.clusters.by_name(),
        pointers=pointers,
        revisions=revisions,
        decisions=decisions,
        replicas=replicas,
        placed=frozenset(name for part in decisions for name in part.clusters),
        placement_kept=own is not None and is_unscheduled(own),
        warnings=tuple(problems.warnings),
    )


def _most_given(pointers: Mapping[str, str], revisions: Mapping[str, Revision]) -> Revision | None:
    """The revision that most clusters are pointed at, of those that are kept; None: none is."""
    counts = Counter(pointers.values())
    known = [name for name in counts if name in revisions]
    return revisions[min(known, key=lambda each: (-counts[each], each))] if known else None


def _check_root(
    rollout: PolicyRollout,
    root: Fields | None,
    baseline: Revision | None,
    pointers: Mapping[str, str],
) -> None:
    """A root that was staged and is no more was rewritten: its content is everywhere by now."""
    if root is None or baseline is None:
        return
    notes = root["metadata"].get("annotations") or {}
    others = {each for each in pointers.values() if each != baseline.name}
    if STAGED in notes or others:
        raise UserError(
            (
                Problem(
                    f"policy/{rollout.namespace}/{rollout.policy}",
                    "was rewritten by another tool, which reached every cluster at once",
                    "stop that tool; then `tidegate policies adopt` stages it again",
                ),
            )
        )


def _bindings(
    shelves: HubShelves, rollout: PolicyRollout, problems: Problems
) -> Iterator[BindingState]:
    found = shelves.bindings_of(rollout.namespace, rollout.policy)
    if not any(not each.restricted for each in found):
        where = f"policy/{rollout.namespace}/{rollout.policy}"
        problems.add(where, "is bound to no placement", "write a PlacementBinding for it")
    for each in found:
        if each.restricted:
            if each.name == wave_name(rollout.bound_as):
                remedy = "hand it back first (`tidegate policies leave`), with stage: waves"
                problems.add(f"placementbinding/{each.namespace}/{each.name}", "is a wave", remedy)
            continue
        together = shelves.members(rollout.namespace, rollout.member_of)
        if shelves.policies_in(each) != set(together or (rollout.policy,)):
            problems.add(
                f"placementbinding/{each.namespace}/{each.name}",
                f"binds {', '.join(each.subjects)} together",
                "give the policy a binding of its own, or write one Rollout for a set of them",
            )
        yield each
