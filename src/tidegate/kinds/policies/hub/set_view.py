"""The policies of one set on a hub, put together: each is staged, and all of them go together."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tidegate.kinds.policies.core.groups import GroupReading
from tidegate.kinds.policies.core.names import (
    FULL_NAME_MAX,
    LABEL_MAX,
    full_name,
    own_placement,
    revision_map,
)
from tidegate.kinds.policies.core.sets import set_report, set_revision
from tidegate.kinds.policies.hub.owners import check_set
from tidegate.kinds.policies.hub.shelves import HubShelves
from tidegate.kinds.policies.hub.view import PolicyView, PolicyViews, view_of
from tidegate.kinds.policies.wire.hub_doc import BindingState, ClusterState, version_of
from tidegate.kinds.policies.wire.rollout_doc import PolicyRollout
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems
from tidegate.model.target import Status, Target

# Which revision each policy of a set has.
Together = Mapping[str, str]


class SetView(msgspec.Struct, frozen=True):
    """The policies of one set, as of one moment. All are bound by the same bindings."""

    rollout: PolicyRollout
    # By name, in order; at least one.
    policies: Mapping[str, PolicyView]
    version: str | None
    # The revisions of the set that are kept on the hub.
    kept: Mapping[str, Together]

    @property
    def first(self) -> PolicyView:
        """One of them, for what all share."""
        return next(iter(self.policies.values()))

    @property
    def reading(self) -> GroupReading:
        """The groups of all placements, and what is missing."""
        return self.first.reading

    @property
    def groups(self) -> tuple[Membership, ...]:
        """The groups of all placements."""
        return self.first.groups

    @property
    def members(self) -> list[str]:
        """The clusters that are in a group."""
        return self.first.members

    @property
    def clusters(self) -> Mapping[str, ClusterState]:
        """All clusters that are registered."""
        return self.first.clusters

    @property
    def offline(self) -> frozenset[str]:
        """Clusters that are there and whose agents are not heard."""
        return self.first.offline

    @property
    def bindings(self) -> tuple[BindingState, ...]:
        """What binds the set."""
        return self.first.bindings

    @property
    def astray(self) -> tuple[BindingState, ...]:
        """Bindings of a staged set that were pointed elsewhere since."""
        return self.first.astray if self.staged else ()

    @property
    def placement_kept(self) -> bool:
        """Whether our Placement is there, and the scheduler leaves it alone."""
        return self.first.placement_kept

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What has a safe meaning, of any of them."""
        found = [each for view in self.policies.values() for each in view.warnings]
        return tuple(dict.fromkeys(found))

    @property
    def author(self) -> str:
        """The person who proposed what all of them say; empty: not known, or several did."""
        found = {each.author for each in self.policies.values()}
        return found.pop() if len(found) == 1 else ""

    @property
    def staged(self) -> bool:
        """Whether every root looks its content up by pointers."""
        return all(each.staged for each in self.policies.values())

    @property
    def wanted(self) -> Together:
        """What the author wants of each."""
        return {name: each.revision.name for name, each in self.policies.items()}

    @property
    def revision_name(self) -> str:
        """What the author wants, by its name."""
        return set_revision(self.wanted)

    @property
    def baseline(self) -> Together | None:
        """What every cluster has that has the set at all, while none is staged."""
        found = {name: each.baseline_name for name, each in self.policies.items()}
        return found if all(found.values()) else None

    @property
    def baseline_name(self) -> str:
        """The same by its name; empty: none has it, or it is staged."""
        return set_revision(self.baseline) if self.baseline is not None else ""

    @property
    def replicas(self) -> frozenset[str]:
        """The clusters that have any of them."""
        return frozenset().union(*(each.replicas for each in self.policies.values()))

    def given_to(self, cluster: str) -> dict[str, str]:
        """The revision of each policy that a cluster is pointed at; empty: it has no pointer."""
        return {name: each.pointers.get(cluster, "") for name, each in self.policies.items()}

    @property
    def pointers(self) -> Mapping[str, str]:
        """The revision of the set that each cluster is pointed at, kept or not."""
        named: dict[tuple[str, ...], str] = {}
        found: dict[str, str] = {}
        for cluster in {name for each in self.policies.values() for name in each.pointers}:
            together = self.given_to(cluster)
            key = tuple(together.values())
            if key not in named:
                named[key] = set_revision(together)
            found[cluster] = named[key]
        return found

    @property
    def given(self) -> Mapping[str, str]:
        """The same; pointers mean nothing while nothing looks them up."""
        return self.pointers if self.staged else {}

    @property
    def pointed(self) -> frozenset[str]:
        """The revisions of the set that a cluster is pointed at."""
        return frozenset(self.pointers.values())

    @property
    def known(self) -> Mapping[str, Together]:
        """All revisions of the set that a cluster can be given, by name."""
        names = self.policies.keys()
        found = {name: each for name, each in self.kept.items() if each.keys() == names}
        for each in (self.wanted, self.baseline):
            if each is not None:
                found[set_revision(each)] = each
        return found

    @property
    def last_good(self) -> str | None:
        """What most clusters had before the wanted revision; None: nothing is known of it."""
        if not self.staged:
            return self.baseline_name or None
        known = self.known
        counts = Counter(
            each for each in self.pointers.values() if each != self.revision_name and each in known
        )
        return min(counts, key=lambda each: (-counts[each], each), default=None)

    @property
    def in_use(self) -> frozenset[str]:
        """The revisions of the set that the hub needs: given, wanted, or what to return to."""
        own = {self.revision_name, self.last_good} - {None}
        return self.pointed | frozenset(each for each in own if each is not None)

    def pointer_of(self, shelves: HubShelves, cluster: str) -> str | None:
        """What a cluster is pointed at by now, which may be newer than this view."""
        found = {name: each.pointer_of(shelves, cluster) for name, each in self.policies.items()}
        return set_revision({name: each or "" for name, each in found.items()})

    def lost_by_return(self, given: str | None, back: str | None) -> str:
        """What is to be said of a cluster that returns from what it was given."""
        before, after = self.known.get(given or ""), self.known.get(back or "")
        if before is None or after is None:
            return ""
        words = [
            each.lost_by_return(before[name], after[name])
            for name, each in self.policies.items()
            if before[name] != after[name]
        ]
        return "".join(words)

    def reports(self, each: Mapping[str, Sequence[Target]]) -> Iterator[Target]:
        """What clusters report, by what they report of each policy."""
        staged, known = self.staged, self.known
        for row in zip(*each.values(), strict=True):
            cluster = row[0].name
            found = set_report(cluster, dict(zip(each, row, strict=True)))
            if not staged:
                yield Target(cluster)
            elif found.status is Status.Succeeded and found.revision not in known:
                name = revision_map(self.rollout.policy_set, found.revision or "")
                detail = f"ConfigMap {name} is missing or changed"
                yield Target(cluster, Status.Progressing, revision=found.revision, detail=detail)
            else:
                yield found


def set_view_of(shelves: HubShelves, views: PolicyViews | None, rollout: PolicyRollout) -> SetView:
    """The policies of a set, on shelves without gaps; UserError lists why they cannot be staged.

    Without `views`, roots that were rewritten can be, to be taken over again.
    """
    problems = Problems()
    names = sorted(check_set(shelves, rollout, problems))
    _check_names(shelves, rollout, names, problems)
    found: dict[str, PolicyView] = {}
    for name in names:
        one = rollout.member(name)
        try:
            found[name] = views.of(one) if views else view_of(shelves, one, rewritten=True)
        except UserError as error:
            problems.errors.extend(_under(name, each) for each in error.problems)
    _check_roots(rollout, found, problems)
    if problems.errors:
        raise UserError(tuple(dict.fromkeys(problems.errors)), where=rollout.origin)
    policy_set = shelves.sets.items[rollout.namespace, rollout.policy_set]
    kept = shelves.set_revisions_of(rollout.namespace, rollout.name)
    return SetView(rollout, found, version_of(policy_set), kept)


def parts_of(view: PolicyView | SetView) -> Mapping[str, PolicyView]:
    """The policies of a set, or the one, by name."""
    return view.policies if isinstance(view, SetView) else {view.rollout.policy: view}


def member_names(shelves: HubShelves, rollout: PolicyRollout) -> list[str]:
    """The policies of a rollout as their replicas are called."""
    names = shelves.members(rollout.namespace, rollout.policy_set) or (rollout.policy,)
    return [full_name(rollout.namespace, each) for each in sorted(names)]


def _check_names(
    shelves: HubShelves, rollout: PolicyRollout, names: list[str], problems: Problems
) -> None:
    own = own_placement(rollout.policy_set)
    if len(own) > LABEL_MAX or len(rollout.name) > FULL_NAME_MAX:
        what = f"{rollout.name} is too long, and labels are called so"
        problems.add("spec.policySet", what, f"{LABEL_MAX} characters, with tidegate- before it")
    declared = shelves.declared()
    for each in names:
        if full_name(rollout.namespace, each) in declared:
            problems.add(
                f"policy/{rollout.namespace}/{each}", "has a rollout of its own", "keep one"
            )


def _check_roots(
    rollout: PolicyRollout, found: Mapping[str, PolicyView], problems: Problems
) -> None:
    """A root that is new where clusters have the others would be an error on all of them."""
    if all(each.root is None for each in found.values()):
        return
    for name, each in found.items():
        if each.root is None:
            problems.add(
                f"policy/{rollout.namespace}/{name}",
                "is new in a set that clusters have: all of them would have it at once",
                "roll it out by itself first, with a binding and a Rollout of its own",
            )


def _under(policy: str, problem: Problem) -> Problem:
    """A problem of one policy, which names it."""
    if problem.path.startswith(("spec", "metadata")):
        return msgspec.structs.replace(problem, path=f"{policy}: {problem.path}")
    return problem
