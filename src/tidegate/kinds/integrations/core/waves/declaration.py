"""A place as a rollout: its groups, the revision, the pinned shards, and the last good revision."""

from collections import Counter
from collections.abc import Iterable, Mapping

from tidegate.kinds.integrations.core.waves.rules import REST, ImageRules
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace, Unit
from tidegate.kinds.rollouts.core.journal.facts import RolloutDeclared
from tidegate.kinds.rollouts.core.world import Membership

# What lifts the pin of a unit that is not ours.
ADOPT = "`tidegate apply --adopt`"


def declared_of(
    place: ManagedPlace, rules: ImageRules, running: Mapping[str, str], others: Mapping[str, str]
) -> RolloutDeclared:
    """The rollout of a place.

    Running: the revision of each unit that has one. Others: units that are not ours to move, and
    why; those with an image of their own are not moved either.
    """
    pinned = {unit.name: unit.pinned_by for unit in place.units if unit.pinned_by}
    return RolloutDeclared(
        strategy=rules.strategy,
        groups=_groups(place.units, rules),
        labels={unit.name: unit.labels for unit in place.units},
        revision=place.revision,
        last_good=last_good_of(place, running),
        pinned={**others, **pinned},
        unpinned_by={name: ADOPT for name in others if name not in pinned},
        origin=rules.where,
    )


def _groups(units: Iterable[Unit], rules: ImageRules) -> tuple[Membership, ...]:
    """Every unit in the first group that chooses it; the others together, last."""
    members: list[list[str]] = [[] for _ in (*rules.groups, REST)]
    for unit in units:
        members[group_of(unit, rules)[0]].append(unit.name)
    names = [*(each.name for each in rules.groups), REST]
    return tuple(
        Membership(name, at, tuple(some))
        for at, (name, some) in enumerate(zip(names, members, strict=True))
        if some or name != REST
    )


def group_of(unit: Unit, rules: ImageRules) -> tuple[int, str]:
    """Which group a unit goes with: its place in their order, and its name."""
    for at, each in enumerate(rules.groups):
        if each.selector.matches(unit.labels):
            return at, each.name
    return len(rules.groups), REST


def last_good_of(place: ManagedPlace, running: Mapping[str, str]) -> str | None:
    """What most ran of those who do not have the revision yet; None: all have it.

    A shard with an image of its own says nothing about the others.
    """
    moved = (running[unit.name] for unit in place.units
             if unit.name in running and not unit.pinned_by)  # fmt: skip
    older = Counter(each for each in moved if each != place.revision)
    if not older:
        return None
    # Of equally many the name decides, so that two readings say the same.
    return max(sorted(older), key=lambda each: older[each])
