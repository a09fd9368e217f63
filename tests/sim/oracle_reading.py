"""The oracle's own reading: who is in which group, in what order, and how many are so many percent.

Written a second time like the rest of the oracle, and as dumb.
"""

from tests.sim.generator import Case
from tidegate.kinds.rollouts.core.strategy import OrderBy, StrategyType
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.model.limit import Limit
from tidegate.model.selector import Operator, Selector


def share(limit: Limit, total: int, *, capped: bool = True) -> int:
    """So many of a total: the smallest whole number that is no less than the percentage."""
    share = limit.amount
    if limit.percent:
        share = 0
        while share * 100 < limit.amount * total:
            share += 1
    return total if capped and share > total else share


def is_per_group(kind: StrategyType) -> bool:
    """Whether groups go one after the other."""
    return kind in (StrategyType.PROGRESSIVE_PER_GROUP, StrategyType.MANUAL_PER_GROUP)


def key_of(group: Membership) -> tuple[str, bool, int, str]:
    """Placements by name; in each its named groups by index, then those without a name."""
    last = group.placement != "" and group.name == ""
    return group.placement, last, group.index, group.name


def in_order(memberships: tuple[Membership, ...]) -> list[Membership]:
    """The groups in the order in which they go, parts of one joined."""
    parts: dict[tuple[str, bool, int, str], list[Membership]] = {}
    for one in memberships:
        parts.setdefault(key_of(one), []).append(one)
    return [_joined(parts[key]) for key in sorted(parts)]


# No group has this many members: what parts that contradict each other say of their size.
CONTRADICTION = -1


def _joined(parts: list[Membership]) -> Membership:
    one = parts[0]
    if len(parts) == 1:
        return one
    clusters = tuple(name for part in parts for name in part.clusters)
    counts = {part.count for part in parts if part.count is not None}
    count = CONTRADICTION if len(counts) > 1 else next(iter(counts), None)
    return Membership(one.name, one.index, clusters, one.placement, count)


def ranked(names: list[str], case: Case) -> list[str]:
    """The names in the order in which they go."""
    by, label = case.strategy.ordering.by, case.strategy.ordering.label
    if by is OrderBy.NAME:
        return sorted(names)
    values = {name: case.labels.get(name, {}).get(label) for name in names}
    if by is OrderBy.LABEL:
        numbers = {name: _number(value) for name, value in values.items()}
        return sorted(names, key=lambda n: (numbers[n] is None, numbers[n] or 0, n))
    return _in_turns(sorted(names), values)


def _number(value: str | None) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


def _in_turns(names: list[str], values: dict[str, str | None]) -> list[str]:
    """Round after round, the first that is left of each value; then those without a value."""
    taken: list[str] = []
    left = [name for name in names if values[name] is not None]
    while left:
        this_round: dict[str, str] = {}
        for name in left:
            this_round.setdefault(values[name] or "", name)
        taken += [this_round[value] for value in sorted(this_round)]
        left = [name for name in left if name not in taken]
    return taken + [name for name in names if values[name] is None]


def selects(selector: Selector, labels: dict[str, str]) -> bool:
    """Whether every requirement of a selector holds."""
    for one in selector.requirements:
        has = one.key in labels
        among = has and labels[one.key] in one.values
        holds = {
            Operator.IN: among,
            Operator.NOT_IN: not among,
            Operator.EXISTS: has,
            Operator.DOES_NOT_EXIST: not has,
        }
        if not holds[one.operator]:
            return False
    return True
