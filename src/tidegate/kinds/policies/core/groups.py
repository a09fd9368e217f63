"""Decision groups as a hub's scheduler writes them, recognised while they are half written.

The scheduler writes PlacementDecisions one by one, and the Placement's status after them. In
between, clusters are in no decision or in two, and nothing may be concluded from that: a set is
complete only where every group has the decisions and the number of clusters that the status says.

A group is cut anew whenever a cluster joins or leaves. During a rollout that would move clusters
between groups, so that *stable* membership keeps each where it was, as `placement.py` explains.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from tidegate.kinds.policies.core.placement import (
    DeclaredGroup,
    Placement,
    PlacementCluster,
    PlacementGroup,
    stable_groups,
)
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.model.limit import Limit
from tidegate.model.selector import Operator, Requirement, Selector

# The label under which clusters are told apart by the group that the scheduler chose.
_GROUP = "group"


class DecisionPart(msgspec.Struct, frozen=True, gc=False):
    """One PlacementDecision."""

    name: str
    group: str
    # None: it is no number, or missing.
    index: int | None
    clusters: tuple[str, ...]
    # What is noted of each cluster, in the same order.
    notes: tuple[str, ...] = ()


class StatedGroup(msgspec.Struct, frozen=True, gc=False):
    """A group as the status of a Placement has it."""

    index: int
    name: str
    decisions: tuple[str, ...]
    count: int


class PlacementState(msgspec.Struct, frozen=True):
    """What a hub says of one placement."""

    name: str
    # None: the scheduler has not written it yet.
    stated: tuple[StatedGroup, ...] | None
    selected: int | None
    parts: tuple[DecisionPart, ...]


class GroupReading(msgspec.Struct, frozen=True):
    """The groups of a placement, and what is missing for them to be whole."""

    groups: tuple[Membership, ...]
    gaps: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether a cluster that is in no group is in none."""
        return not self.gaps


def read_groups(state: PlacementState, label: str) -> GroupReading:
    """The groups of a placement; `label` tells several placements apart."""
    counts = {(each.index, each.name): each.count for each in state.stated or ()}
    groups = tuple(
        Membership(
            part.group,
            part.index,
            part.clusters,
            label,
            counts.get((part.index, part.group)),
        )
        for part in state.parts
        if part.index is not None
    )
    return GroupReading(groups, tuple(_gaps(state)))


def _gaps(state: PlacementState) -> Iterable[str]:
    name = state.name
    for part in state.parts:
        if part.index is None:
            yield f"{name}: {part.name} has no decision-group-index"
    if state.stated is None or state.selected is None:
        yield f"{name}: the scheduler has not written its status yet"
        return
    there = {part.name: part for part in state.parts}
    for group in state.stated:
        found = [there[each] for each in group.decisions if each in there]
        members = [cluster for part in found for cluster in part.clusters]
        whole = len(found) == len(group.decisions) and len(members) == group.count
        if not whole or any(
            (part.index, part.group) != (group.index, group.name) for part in found
        ):
            what = f"group {group.index} {group.name}".rstrip()
            yield f"{name}: {what} has {len(members)} of {group.count} clusters"
    named = {each for group in state.stated for each in group.decisions}
    for left in sorted(there.keys() - named):
        yield f"{name}: {left} is in no group"
    times = Counter(cluster for part in state.parts for cluster in part.clusters)
    if len(times) != state.selected:
        yield f"{name}: {len(times)} clusters in decisions, {state.selected} selected"
    for cluster in sorted(each for each, count in times.items() if count > 1):
        yield f"{name}: {cluster} is in two decisions"


def with_offline(
    before: Iterable[Membership], now: Sequence[Membership], offline: Collection[str]
) -> tuple[Membership, ...]:
    """The groups now, with members that are only out of reach where they were.

    A taint that comes and goes takes a cluster out of every decision. It has not left.
    """
    there = {cluster for group in now for cluster in group.clusters}
    lost: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    for group in before:
        for cluster in group.clusters:
            if cluster in offline and cluster not in there:
                lost[group.placement, group.name, group.index].append(cluster)
    kept: list[Membership] = []
    for group in now:
        mine = lost.pop((group.placement, group.name, group.index), [])
        kept.append(_with_members(group, mine) if mine else group)
    kept += [
        Membership(name, index, tuple(clusters), placement)
        for (placement, name, index), clusters in lost.items()
    ]
    return tuple(kept)


def _with_members(group: Membership, more: list[str]) -> Membership:
    count = None if group.count is None else group.count + len(more)
    clusters = (*group.clusters, *more)
    return Membership(group.name, group.index, clusters, group.placement, count)


def steady(
    before: Iterable[Membership], now: Iterable[Membership], *, reorder: bool = False
) -> tuple[Membership, ...]:
    """The groups now, with every cluster that keeps its group's name where it was before.

    They keep their order as well, unless it may be taken anew.
    """
    old, new = _by_placement(before), _by_placement(now)
    found: list[Membership] = []
    for placement, groups in new.items():
        found += _steady_one(placement, old.get(placement, []), groups, reorder)
    return tuple(found)


def _steady_one(
    placement: str, before: list[Membership], now: list[Membership], reorder: bool
) -> Iterable[Membership]:
    names = list(dict.fromkeys(group.name for group in now if group.name))
    clusters = [
        PlacementCluster(cluster, {_GROUP: group.name} if group.name else {})
        for group in now
        for cluster in group.clusters
    ]
    # A group is as large as the largest that the scheduler formed.
    size = max((len(group.clusters) for group in now), default=1) or 1
    declared = tuple(DeclaredGroup(name, _is_group(name)) for name in names)
    formed = stable_groups(
        Placement(placement, declared, Limit(size)),
        list({cluster.name: cluster for cluster in clusters}.values()),
        _dense(before),
    )
    if reorder:
        place = {name: at for at, name in enumerate(names)}
        formed = sorted(formed, key=lambda group: place.get(group.name, len(place)))
    return [
        Membership(group.name, at, group.clusters, placement, len(group.clusters))
        for at, group in enumerate(formed)
    ]


def _by_placement(groups: Iterable[Membership]) -> Mapping[str, list[Membership]]:
    found: dict[str, dict[tuple[int, str], Membership]] = defaultdict(dict)
    for group in groups:
        # Parts of one group are joined.
        known = found[group.placement].get((group.index, group.name))
        clusters = (*(known.clusters if known else ()), *group.clusters)
        joined = Membership(group.name, group.index, clusters, group.placement)
        found[group.placement][group.index, group.name] = joined
    return {each: [groups[key] for key in sorted(groups)] for each, groups in found.items()}


def _dense(groups: list[Membership]) -> list[PlacementGroup]:
    """Groups numbered from 0 without gaps; a cluster is in the first that has it."""
    seen: set[str] = set()
    dense: list[PlacementGroup] = []
    for index, group in enumerate(groups):
        mine = tuple(dict.fromkeys(each for each in group.clusters if each not in seen))
        seen.update(mine)
        dense.append(PlacementGroup(group.name, index, mine))
    return dense


def _is_group(name: str) -> Selector:
    return Selector((Requirement(_GROUP, Operator.IN, frozenset((name,))),))
