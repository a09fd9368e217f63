"""What forming decision groups costs: cut anew as the scheduler does, or kept stable.

The fleet has a label with five values, four of them declared as groups; a group holds at most 10 %
of all clusters. *first* lays the groups out; *again* is given those groups after one cluster in a
hundred has left and as many have joined, which is what a running rollout asks for.
"""

from collections.abc import Callable
from itertools import product

import msgspec

from bench.table import Report, count, draw, figure, times
from bench.timing import Best, Effort, best_ms
from tidegate.kinds.policies.core.placement import (
    DeclaredGroup,
    Placement,
    PlacementCluster,
    scheduler_groups,
    stable_groups,
)
from tidegate.model.limit import Limit
from tidegate.model.selector import Operator, Requirement, Selector

LABEL = "tier"
TIERS = ("canary", "dev", "stage", "prod", "rest")
# One cluster in so many leaves, and one joins.
CHURN = 100


class Row(msgspec.Struct, frozen=True):
    """One way to group at one size."""

    targets: int
    grouping: str
    ms: float
    groups: int
    # Against a tenth of the targets; None where that was not measured.
    growth: float | None


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Measure every way to group at every size."""
    best = Best()
    groups: dict[tuple[int, str], int] = {}
    for _, size in product(range(effort.passes), effort.sizes):
        for name, form in _ways(size).items():
            say(f"placement: {size:,} clusters, {name}")
            best.note(size, name, {"cpu": best_ms(form, effort.patience_s)})
            groups[size, name] = len(form())
    found = {(size, name): ms["cpu"] for size, name, ms in best.rows()}
    rows = [
        Row(size, name, ms, groups[size, name], _growth(found, size, name))
        for (size, name), ms in found.items()
    ]
    return Report(rows, [_table(rows)])


def _growth(found: dict[tuple[int, str], float], size: int, name: str) -> float | None:
    smaller = found.get((size // 10, name))
    return None if smaller is None else found[size, name] / smaller


def _ways(size: int) -> dict[str, Callable[[], list[msgspec.Struct]]]:
    placement = _placement()
    clusters = [_cluster(i) for i in range(size)]
    before = stable_groups(placement, clusters)
    stayed = [cluster for i, cluster in enumerate(clusters) if i % CHURN]
    changed = stayed + [_cluster(size + i) for i in range(size // CHURN)]
    return {
        "scheduler": lambda: [*scheduler_groups(placement, clusters)],
        "stable, first": lambda: [*stable_groups(placement, clusters)],
        "stable, again": lambda: [*stable_groups(placement, changed, before)],
    }


def _placement() -> Placement:
    declared = tuple(
        DeclaredGroup(tier, Selector((Requirement(LABEL, Operator.IN, frozenset((tier,))),)))
        for tier in TIERS[:-1]
    )
    return Placement("fleet", declared, Limit(10, percent=True))


def _cluster(i: int) -> PlacementCluster:
    return PlacementCluster(f"cluster-{i:07d}", {LABEL: TIERS[i % len(TIERS)]})


def _table(rows: list[Row]) -> str:
    heads = ("CLUSTERS", "GROUPING", "CPU MS", "GROUPS", "GROWTH")
    lines = [
        (count(row.targets), row.grouping, figure(row.ms), count(row.groups), times(row.growth))
        for row in rows
    ]
    return draw("Decision groups of a placement: GROWTH is against a tenth", heads, lines)
