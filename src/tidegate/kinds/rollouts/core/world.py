"""The rollout world: one consistent reading, in canonical order, ready to be decided on.

Whatever order documents arrive in, the world is the same: groups by placement, index and name; the
targets of a group by rank. Decisions therefore depend on the set of inputs only.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tidegate.gates.brakes import Brakes, in_order
from tidegate.kinds.rollouts.core.rank import Labels, label_number, ranked
from tidegate.kinds.rollouts.core.strategy import GroupRef, OrderBy, Rollout, Strategy, StrategyType
from tidegate.model.problem import Problems, nearest, shown
from tidegate.model.target import Group, Target

# A size no group has: its parts were read at different times.
DISAGREED = -1


class Membership(msgspec.Struct, frozen=True):
    """One group as declared: its members."""

    name: str
    index: int
    clusters: tuple[str, ...]
    placement: str = ""
    # How many members it is known to have; None: not known.
    count: int | None = None


class RolloutPhase(msgspec.Struct, frozen=True):
    """What moves together: a group, or, for Progressive, all groups that are not mandatory."""

    groups: tuple[int, ...]
    # Positions of its targets in the order in which they go.
    order: Sequence[int]
    mandatory: bool = False


class RolloutWorld(msgspec.Struct, frozen=True):
    """What is declared, observed and remembered of one rollout. Make one with `build_world`."""

    strategy: Strategy
    groups: tuple[Group, ...]
    targets: tuple[Target, ...]
    phases: tuple[RolloutPhase, ...]
    # Known targets that are in no group.
    departed: tuple[Target, ...] = ()
    revision: str | None = None
    rollout: Rollout = Rollout()
    complete: bool = True
    # What may hold a target beside the rollout's own rules; None: nothing.
    brakes: Brakes | None = None
    # Kept for the brakes only; the labels of a target that is not listed are not known.
    labels: Labels = {}
    # Targets that are busy with something that comes first, and with what.
    busy: Mapping[str, str] = {}


def build_world(
    strategy: Strategy,
    memberships: Iterable[Membership],
    statuses: Iterable[Target],
    *,
    problems: Problems,
    labels: Labels | None = None,
    revision: str | None = None,
    rollout: Rollout | None = None,
    complete: bool = True,
    brakes: Brakes | None = None,
    busy: Mapping[str, str] | None = None,
) -> RolloutWorld:
    """Put a reading into canonical order; what is wrong with it is added to the problems."""
    labels = labels or {}
    heard = _by_name(statuses, problems)
    declared = _merged(memberships, problems)
    members = _assigned(declared, problems)
    mandatory = _mandatory(declared, strategy, problems)
    rosters = _rosters(strategy, members, mandatory, labels, problems)
    targets, groups, where = _laid_out(
        strategy, declared, rosters.ranked_members, heard, mandatory, labels, complete
    )
    phases = tuple(
        RolloutPhase(
            group_positions, _positions(names, group_positions, groups, where), is_mandatory
        )
        for group_positions, names, is_mandatory in rosters.phases
    )
    departed = tuple(heard[name] for name in sorted(heard.keys() - where.keys()))
    world = RolloutWorld(
        strategy,
        groups,
        targets,
        phases,
        departed,
        revision,
        rollout or Rollout(),
        complete,
        busy=busy or {},
    )
    if brakes is None:
        return world
    return msgspec.structs.replace(world, brakes=in_order(brakes), labels=labels)


class _Rosters(msgspec.Struct):
    """Members of each group in rank order, and the phases over them."""

    ranked_members: list[list[str]]
    phases: list[tuple[tuple[int, ...], list[str], bool]]


def _by_name(statuses: Iterable[Target], problems: Problems) -> dict[str, Target]:
    heard: dict[str, Target] = {}
    twice: set[str] = set()
    for target in statuses:
        if target.name in heard:
            twice.add(target.name)
        heard[target.name] = target
    for name in sorted(twice):
        problems.add("statuses", f"{shown(name)} has more than one status", "give one per cluster")
    return heard


def _merged(memberships: Iterable[Membership], problems: Problems) -> list[Membership]:
    """Groups in canonical order; parts of one group (same placement, index, name) are joined."""
    merged: dict[tuple[str, bool, int, str], Membership] = {}
    for one in memberships:
        # With several placements the ungrouped clusters of each come after its named groups.
        key = (one.placement, bool(one.placement) and not one.name, one.index, one.name)
        known = merged.get(key)
        if known is not None:
            count = _agreed(known.count, one.count)
            joined = (*known.clusters, *one.clusters)
            one = Membership(one.name, one.index, joined, one.placement, count)
        merged[key] = one
    declared = [merged[key] for key in sorted(merged)]
    seen: dict[tuple[str, int], str] = {}
    for one in declared:
        other = seen.setdefault((one.placement, one.index), one.name)
        if other != one.name:
            problems.warn(
                "groups",
                f"index {one.index} is both {shown(other)} and {shown(one.name)}",
                "they are taken in the order of their names",
            )
    return declared


def _agreed(one: int | None, other: int | None) -> int | None:
    """What two parts of a group say of its size; where they disagree, no size is right."""
    if one is None or other is None or one == other:
        return other if one is None else one
    return DISAGREED


def _assigned(declared: list[Membership], problems: Problems) -> list[list[str]]:
    """Each cluster in the first group that names it."""
    owner: dict[str, int] = {}
    members: list[list[str]] = []
    for position, one in enumerate(declared):
        mine: list[str] = []
        for name in one.clusters:
            first = owner.setdefault(name, position)
            if first != position:
                kept = declared[first]
                problems.warn(
                    "groups",
                    f"{shown(name)} is in {_spelt(kept)} and in {_spelt(one)}",
                    f"the first, {_spelt(kept)}, counts",
                )
            else:
                mine.append(name)
        members.append(list(dict.fromkeys(mine)))
    return members


def _spelt(one: Membership) -> str:
    name = f"{one.placement}/{one.name}" if one.placement else one.name
    return f"group {one.index} {shown(name)}" if name else f"group {one.index}"


def _mandatory(declared: list[Membership], strategy: Strategy, problems: Problems) -> list[bool]:
    chosen = [False] * len(declared)
    for ref in strategy.mandatory:
        hits = [position for position, one in enumerate(declared) if _is_meant(ref, one)]
        for position in hits:
            chosen[position] = True
        if not hits:
            what = shown(ref.name) if ref.name else f"index {ref.index}"
            hint = nearest(ref.name, (one.name for one in declared if one.name))
            word = strategy.type.value
            path = f"strategy.{word[0].lower()}{word[1:]}.mandatoryDecisionGroups"
            problems.warn(path, f"no group {what}", hint)
    return chosen


def _is_meant(ref: GroupRef, one: Membership) -> bool:
    return one.name == ref.name if ref.name else one.index == ref.index


def _rosters(
    strategy: Strategy,
    members: list[list[str]],
    mandatory: list[bool],
    labels: Labels,
    problems: Problems,
) -> _Rosters:
    """Rank the members within their phase: targets that move together are ranked together."""
    _check_labels(strategy, members, labels, problems)
    positions = range(len(members))
    first = [p for p in positions if mandatory[p] and strategy.type is not StrategyType.ALL]
    rest = [p for p in positions if p not in set(first)]
    spans: list[tuple[tuple[int, ...], bool]] = [((p,), True) for p in first]
    if strategy.per_group:
        spans += [((p,), False) for p in rest]
    elif rest:
        spans.append((tuple(rest), False))
    ranked_members: list[list[str]] = [[] for _ in members]
    phases: list[tuple[tuple[int, ...], list[str], bool]] = []
    for span, is_mandatory in spans:
        home = {name: p for p in span for name in members[p]}
        names = ranked(home, strategy.ordering, labels)
        for name in names:
            ranked_members[home[name]].append(name)
        phases.append((span, names, is_mandatory))
    return _Rosters(ranked_members, phases)


def _check_labels(
    strategy: Strategy, members: list[list[str]], labels: Labels, problems: Problems
) -> None:
    """Warn of targets that an ordering by label cannot place."""
    by, label = strategy.ordering.by, strategy.ordering.label
    if by is OrderBy.NAME:
        return
    empty: Mapping[str, str] = {}
    values = [(name, labels.get(name, empty).get(label)) for group in members for name in group]
    lost = sorted(
        name
        for name, value in values
        if (value is None if by is OrderBy.SPREAD else label_number(value) is None)
    )
    if lost:
        what = "label" if by is OrderBy.SPREAD else "number in label"
        problems.warn(
            "strategy.order.label",
            f"{len(lost)} of {len(values)} clusters have no {what} {shown(label)} "
            f"(first: {lost[0]})",
            "they go last",
        )


def _laid_out(
    strategy: Strategy,
    declared: list[Membership],
    ranked_members: list[list[str]],
    heard: dict[str, Target],
    mandatory: list[bool],
    labels: Labels,
    complete: bool,
) -> tuple[tuple[Target, ...], tuple[Group, ...], dict[str, int]]:
    """All targets in one row, the groups as slices of it, and the position of each name."""
    ignored = _ignored(strategy, labels)
    names = [name for group in ranked_members for name in group]
    targets = tuple(
        _target(name, heard.get(name), name in ignored)
        if ignored
        else heard.get(name) or Target(name)
        for name in names
    )
    groups: list[Group] = []
    first = 0
    labels_of_groups = _group_labels(declared)
    seen = _seen(declared, complete)
    for position, one in enumerate(declared):
        last = first + len(ranked_members[position])
        is_mandatory = mandatory[position] and strategy.type is not StrategyType.ALL
        label = labels_of_groups[position]
        groups.append(
            Group(
                one.name, one.index, first, last, label, one.placement, is_mandatory, seen[position]
            )
        )
        first = last
    return targets, tuple(groups), {name: i for i, name in enumerate(names)}


def _group_labels(declared: list[Membership]) -> list[str]:
    """How people see each group; the parts of a split one are distinguished by their index."""
    times = Counter((one.placement, one.name) for one in declared)
    labels: list[str] = []
    for one in declared:
        name = one.name or f"group {one.index}"
        if one.name and times[one.placement, one.name] > 1:
            name = f"{name} ({one.index})"
        labels.append(f"{one.placement}/{name}" if one.placement else name)
    return labels


def _seen(declared: list[Membership], complete: bool) -> list[bool]:
    """Which groups are seen whole. On an incomplete reading a gap before one may hide another."""
    indexes: dict[str, set[int]] = defaultdict(set)
    for one in declared:
        indexes[one.placement].add(one.index)
    seen: list[bool] = []
    for one in declared:
        whole = complete if one.count is None else len(set(one.clusters)) == one.count
        before = indexes[one.placement]
        gap = not complete and any(index not in before for index in range(one.index))
        seen.append(whole and not gap)
    return seen


def _ignored(strategy: Strategy, labels: Labels) -> frozenset[str]:
    """Whose status does not count. A cluster whose labels we do not know is never ignored."""
    if strategy.ignore is None:
        return frozenset()
    return frozenset(name for name, its in labels.items() if strategy.ignore.matches(its))


def _target(name: str, heard: Target | None, ignored: bool) -> Target:
    if heard is None:
        return Target(name, ignored=ignored)
    return msgspec.structs.replace(heard, ignored=True) if ignored else heard


def _positions(
    names: list[str], span: tuple[int, ...], groups: tuple[Group, ...], where: dict[str, int]
) -> Sequence[int]:
    """Positions of a phase's targets in rank order; one group's are consecutive already."""
    if len(span) == 1:
        return range(groups[span[0]].first, groups[span[0]].last)
    return tuple(where[name] for name in names)
