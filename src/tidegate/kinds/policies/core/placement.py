"""Decision groups: which clusters of a placement go together, in which order.

A placement declares groups by selectors, the first that matches a cluster takes it, and clusters
that no selector takes go to groups without a name. A group holds at most L clusters, so one name
may mean several groups. There are two ways to group:

- *scheduler* is what the placement scheduler of Open Cluster Management does: cut anew, by name,
  every time. dev has 3, stage 2, no name 2, and L is 2: dev[2] dev[1] stage[2] ""[2] get indexes
  0 to 3. It forgets: with L = 3, `b c d | e f g` and a newcomer `a` become `a b c | d e f | g`, and
  the last dev cluster that leaves moves stage down to index 0.
- *stable* remembers: with the groups as they were, only newcomers are placed, in a free place of
  their name or in a new group at the end: `b c d | e f g | a`. No other cluster moves, which
  matters most during a rollout. A declared name keeps a group even while it is empty.

L is `clustersPerDecisionGroup`: a number, or a percentage of all selected clusters, which goes
through binary floating point as in the scheduler (7 % of 100 is 8). More than there are means all.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, islice

import msgspec

from tidegate.model.limit import Limit
from tidegate.model.selector import EVERYTHING, Selector

# The API allows no more clusters in one PlacementDecision.
DECISION_CLUSTERS_MAX = 100

# What the group of clusters that no selector takes is called.
UNNAMED = ""


class DeclaredGroup(msgspec.Struct, frozen=True):
    """A group as a placement declares it: its members by labels and by claims."""

    name: str
    labels: Selector = EVERYTHING
    claims: Selector = EVERYTHING

    def takes(self, cluster: "PlacementCluster") -> bool:
        """Whether the cluster satisfies both selectors."""
        return self.labels.matches(cluster.labels) and self.claims.matches(cluster.claims)


class Placement(msgspec.Struct, frozen=True):
    """What a placement says of groups."""

    name: str
    declared: tuple[DeclaredGroup, ...] = ()
    # At least 1; a group holds no more clusters than this.
    per_group: Limit = Limit(100, percent=True)
    # None: all of them.
    clusters_max: int | None = None


class PlacementCluster(msgspec.Struct, frozen=True, gc=False):
    """A cluster that the placement may select. Names are unique."""

    name: str
    labels: Mapping[str, str] = {}
    claims: Mapping[str, str] = {}


class PlacementGroup(msgspec.Struct, frozen=True, gc=False):
    """Clusters that go together, by name. Indexes are dense from 0."""

    name: str
    index: int
    clusters: tuple[str, ...] = ()


class PlacementDecision(msgspec.Struct, frozen=True, gc=False):
    """One PlacementDecision: a part of a group that the API can hold."""

    name: str
    group: PlacementGroup
    clusters: tuple[str, ...]


def scheduler_groups(
    placement: Placement, clusters: Collection[PlacementCluster]
) -> list[PlacementGroup]:
    """The groups that the placement scheduler forms."""
    selected = _selected(placement, clusters)
    size = chunk_size(placement.per_group, len(selected))
    taken: list[list[str]] = [[] for _ in (*placement.declared, UNNAMED)]
    for cluster in selected:
        taken[_first_match(placement, cluster)].append(cluster.name)
    names = (*(each.name for each in placement.declared), UNNAMED)
    chunks = [
        (name, chunk)
        for name, members in zip(names, taken, strict=True)
        for chunk in _chunks(members, size)
    ]
    return _numbered(chunks)


def stable_groups(
    placement: Placement,
    clusters: Collection[PlacementCluster],
    previous: Iterable[PlacementGroup] = (),
) -> list[PlacementGroup]:
    """The groups as they were, without clusters that left; new ones get a free or a new place.

    Asked without previous groups, it lays out what the scheduler would, and a group for every name.
    """
    before = _in_order(previous)
    members = {name for group in before for name in group.clusters}
    selected = _selected(placement, clusters, members)
    names = (*(each.name for each in placement.declared), UNNAMED)
    home = {cluster.name: names[_first_match(placement, cluster)] for cluster in selected}
    rows = [
        _Row(group.name, [each for each in group.clusters if home.get(each) == group.name])
        for group in before
    ]
    _join(rows, names, home, chunk_size(placement.per_group, len(selected)))
    _drop_idle_tail(rows, frozenset(names) - {UNNAMED})
    return _numbered([(row.name, sorted(row.clusters)) for row in rows])


def chunk_size(limit: Limit, total: int) -> int:
    """How many clusters a group may hold: 33 % of 10 is 4; 12 of 10, or 0 of 10, are all 10."""
    wanted = math.ceil(limit.amount / 100 * total) if limit.percent else limit.amount
    return wanted if 0 < wanted <= total else total


def decisions(placement: Placement, groups: Iterable[PlacementGroup]) -> list[PlacementDecision]:
    """The groups as PlacementDecisions, numbered from 1 over all groups; an empty group has one."""
    parts = [
        (group, chunk)
        for group in groups
        for chunk in _chunks(group.clusters, DECISION_CLUSTERS_MAX) or [()]
    ]
    return [
        PlacementDecision(f"{placement.name}-decision-{number}", group, tuple(chunk))
        for number, (group, chunk) in enumerate(parts, start=1)
    ]


class _Row(msgspec.Struct):
    """A group in the making; its index is its place."""

    name: str
    clusters: list[str]


def _in_order(previous: Iterable[PlacementGroup]) -> list[PlacementGroup]:
    """The previous groups by index; ValueError if these are no groups that were formed here."""
    groups = sorted(previous, key=lambda group: group.index)
    if [group.index for group in groups] != list(range(len(groups))):
        raise ValueError("the indexes of the previous groups are not 0, 1, 2 and so on")
    if any(count > 1 for count in Counter(chain(*(group.clusters for group in groups))).values()):
        raise ValueError("a cluster is listed twice in the previous groups")
    return groups


def _selected(
    placement: Placement, clusters: Collection[PlacementCluster], first: Collection[str] = ()
) -> list[PlacementCluster]:
    """By name, cut to what the placement asks for; `first` are cut last, so that they can stay."""
    ranked = sorted(clusters, key=lambda cluster: (cluster.name not in first, cluster.name))
    return ranked[: placement.clusters_max]


def _first_match(placement: Placement, cluster: PlacementCluster) -> int:
    """The position of the declared group that takes the cluster; past the last if none does."""
    takers = (i for i, group in enumerate(placement.declared) if group.takes(cluster))
    return next(takers, len(placement.declared))


def _chunks(members: Sequence[str], size: int) -> list[Sequence[str]]:
    return [members[start : start + size] for start in range(0, len(members), size or 1)]


def _numbered(chunks: Sequence[tuple[str, Sequence[str]]]) -> list[PlacementGroup]:
    """Groups by their place; where there is none at all, the scheduler writes an empty one."""
    return [
        PlacementGroup(name, index, tuple(members))
        for index, (name, members) in enumerate(chunks or [(UNNAMED, ())])
    ]


def _join(rows: list[_Row], names: Iterable[str], home: Mapping[str, str], size: int) -> None:
    """Give every newcomer a place and every declared name a group, opening groups at the end."""
    placed = {cluster for row in rows for cluster in row.clusters}
    newcomers: dict[str, list[str]] = {}
    for cluster in sorted(home.keys() - placed):
        newcomers.setdefault(home[cluster], []).append(cluster)
    for name in dict.fromkeys(names):
        waiting = iter(newcomers.get(name, ()))
        open_rows = [row for row in rows if row.name == name]
        for row in open_rows:
            row.clusters += islice(waiting, max(0, size - len(row.clusters)))
        opened = [_Row(name, list(chunk)) for chunk in _chunks(list(waiting), size)]
        if not (open_rows or opened or name == UNNAMED):
            opened = [_Row(name, [])]
        rows += opened


def _drop_idle_tail(rows: list[_Row], declared: Collection[str]) -> None:
    """Empty groups go from the end, but never the only group of a declared name."""
    left = Counter(row.name for row in rows)
    while rows and not rows[-1].clusters:
        name = rows[-1].name
        if name in declared and left[name] == 1:
            return
        left[name] -= 1
        rows.pop()
