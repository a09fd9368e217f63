"""Clusters as tables: version, next version, soak left, when it starts, and why."""

from collections import Counter
from collections.abc import Iterable

from tidegate.explain.table import Row, layout
from tidegate.kinds.upgrades.app.clusters import ClusterList, ClusterRow
from tidegate.kinds.upgrades.app.explanation import ExplainedCluster
from tidegate.kinds.upgrades.core.explain.dates import NO_DATE, NOT_BEFORE
from tidegate.model.counted import counted
from tidegate.model.time import format_age, parse_instant

CLUSTER_HEAD: Row = ("CLUSTER", "VERSION", "NEXT", "SOAK LEFT", "STARTS", "WHY")
WIDE_HEAD: Row = ("WINDOW", "CHANNEL", "SCHEDULE", "SECTOR", "MUTEXES", "WORKLOADS", "UUID")
NONE = "-"
_ALIKE = ("under way", "failed", "waiting", "up to date", "excluded")
# What several of them do, and one.
_PHASES = {"start now": "starts now", **{word: word for word in _ALIKE}}


def cluster_table(
    document: ClusterList, width: int | None, *, wide: bool, headed: bool, one_org: bool
) -> list[str]:
    """The lines of the table; without a column for organisations where there is one only."""
    now = document.now or ""
    rows = [_cells(each, now, wide) for each in document.items]
    head: Row = ("ORG", *CLUSTER_HEAD[:-1], *(WIDE_HEAD if wide else ()), CLUSTER_HEAD[-1])
    if one_org:
        head, rows = head[1:], [row[1:] for row in rows]
    return layout(head, rows, width, headed=headed)


def _cells(row: ClusterRow, now: str, wide: bool) -> Row:
    *cells, why = cluster_cells(row, now)
    return (row.org, *cells, *(_wide_cells(row, now) if wide else ()), why)


def cluster_cells(row: ClusterRow | ExplainedCluster, now: str) -> Row:
    """One cluster, in the columns of CLUSTER_HEAD."""
    return (
        row.cluster,
        row.oldest_version,
        row.next or NONE,
        NONE if row.soak_left_days is None else f"{_days(row.soak_left_days)}d",
        start_cell(row, now),
        row.summary,
    )


def _days(days: float) -> str:
    return f"{days:.2f}" if days else "0"


def start_cell(row: ClusterRow | ExplainedCluster, now: str) -> str:
    """When its next step starts, in a few letters; the moment is that of `when`."""
    start = row.expected
    if start is None or (start.version is None and row.next is None):
        return NONE
    if start.not_before is not None:
        return f"{NOT_BEFORE} {age_between(now, start.not_before)}"
    if start.starts_at is None:
        return NO_DATE
    if parse_instant(start.starts_at) <= parse_instant(now):
        return "started"
    return f"{'~' if start.estimate else ''}in {age_between(now, start.starts_at)}"


def _wide_cells(row: ClusterRow, now: str) -> Row:
    return (
        NONE if row.window_at is None else f"in {age_between(now, row.window_at)}",
        row.channel,
        schedule_text(row.schedule, row.timezone) or NONE,
        row.sector or NONE,
        ",".join(row.mutexes) or NONE,
        ",".join(row.workloads or ()) or NONE,
        row.uuid,
    )


def schedule_text(schedule: str | None, timezone: str | None) -> str:
    """A schedule with the time zone it is in; empty: there is none."""
    return f"{schedule} {timezone or 'UTC'}" if schedule else ""


def age_between(now: str, at: str) -> str:
    """How far one moment is from another: 3d4h."""
    return format_age(parse_instant(at) - parse_instant(now))


def organisation_words(name: str, phases: Iterable[str]) -> str:
    """An organisation, and how many of its clusters are in which phase."""
    counts = Counter(phases)
    parts = [name, counted(counts.total(), "cluster")]
    parts += [
        f"{counts[word]} {one if counts[word] == 1 else word}"
        for word, one in _PHASES.items()
        if counts[word]
    ]
    return " · ".join(parts)
