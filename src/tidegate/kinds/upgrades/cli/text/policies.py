"""Upgrade policies as a table."""

from collections.abc import Iterator

from tidegate.explain.table import layout
from tidegate.kinds.upgrades.app.owners.policies import UpgradePolicyList
from tidegate.kinds.upgrades.core.labels.label_edit import BLOCKED

_COLUMNS = {
    "SOAK": "soak-days",
    "SECTOR": "sector",
    "SCHEDULE": "schedule",
    "WORKLOADS": "workloads",
    "MUTEXES": "mutexes",
    "BLOCKED": BLOCKED,
}
# These are shown even if no cluster has them.
_ALWAYS = 5


def policy_lines(document: UpgradePolicyList, width: int | None) -> list[str]:
    """A row a cluster; a column that no cluster uses is left out."""
    head = ["CLUSTER", "VERSION", *_COLUMNS]
    rows = [
        [each.called, each.version]
        + [each.labels.get(label, "") or "-" for label in _COLUMNS.values()]
        for each in document.clusters
    ]
    for row, each in zip(rows, document.clusters, strict=True):
        if zone := each.labels.get("schedule-timezone", ""):
            row[head.index("SCHEDULE")] += f" ({zone})"
    used = [at for at in range(len(head)) if at < _ALWAYS or any(row[at] != "-" for row in rows)]
    table = [tuple(row[at] for at in used) for row in rows]
    return layout(tuple(head[at] for at in used), table, width)


def policy_warnings(document: UpgradePolicyList) -> Iterator[str]:
    """What is wrong with the labels of each cluster."""
    for each in document.clusters:
        yield from (f"cluster/{each.called}: {text}" for text in each.problems)
