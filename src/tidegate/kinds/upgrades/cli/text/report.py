"""The fleet report and the version history as rows.

    4.12.18 (3.04 🎉 ~2026-03-10T12:00Z), 4.12.19 (0.75, soaked ~2026-03-11), 4.12.20 (0)

The number is in days of clusters, of the workload that is furthest behind; the date, when it will
have soaked.
"""

from collections.abc import Iterator

from tidegate.cli.output import hung
from tidegate.explain.table import BENEATH, Row
from tidegate.kinds.upgrades.app.report import (
    FleetReport,
    OfferedVersion,
    ReportedCluster,
    VersionHistory,
    VersionSoak,
)
from tidegate.kinds.upgrades.cli.text.clusters import schedule_text
from tidegate.kinds.upgrades.core.explain.dates import doubted
from tidegate.model.time import parse_instant

FIELDS = (
    "ocm", "cluster", "version", "channel", "schedule", "sector", "mutexes", "soak_days",
    "workload", "soaking_upgrades",
)  # fmt: skip
# As much of a moment as a table has.
_DATE = len("2026-03-10")
HISTORY_FIELDS = ("ocm", "version", "workload", "soak_days", "clusters")


def report_rows(document: FleetReport) -> list[Row]:
    """The rows of the report, in the columns of FIELDS."""
    return [
        report_cells(one, each.name) for each in document.organizations for one in each.clusters
    ]


def problem_lines(document: FleetReport, width: int | None) -> Iterator[str]:
    """Why clusters are excluded, in full: every label at fault."""
    for org in document.organizations:
        for one in org.clusters:
            labels = [f"{each.label or 'labels'}: {each.message}" for each in one.problems]
            for text in labels or ([one.excluded] if one.excluded is not None else []):
                yield from hung(f"✗ cluster/{one.cluster}  {text}", len(BENEATH), width)


def report_cells(one: ReportedCluster, ocm: str) -> Row:
    """One cluster, in the columns of FIELDS."""
    return (
        ocm,
        one.cluster,
        one.version,
        one.channel,
        schedule_text(one.schedule, one.timezone),
        one.sector or "",
        ", ".join(one.mutexes),
        "" if one.soak_days is None else str(one.soak_days),
        ", ".join(one.workloads or ()),
        _soaking(one),
    )


def _soaking(one: ReportedCluster) -> str:
    if one.excluded is not None:
        return one.excluded
    return ", ".join(map(_offered, one.soaking))


def _offered(one: OfferedVersion) -> str:
    days = f"{one.soak_days:.2f}".rstrip("0").rstrip(".")
    mark = f" {one.mark}" if one.mark else ""
    if one.starts_at is not None:
        mark = f"{mark} {doubted(parse_instant(one.starts_at), estimate=one.estimate)}"
    date = f", soaked ~{one.soaked_at[:_DATE]}" if one.soaked_at is not None else ""
    return f"{one.version} ({days}{mark}{date})"


def history_rows(document: VersionHistory) -> list[Row]:
    """The rows of the history, in the columns of HISTORY_FIELDS."""
    return [history_cells(each) for each in document.items]


def history_cells(one: VersionSoak) -> Row:
    """One version and workload, in the columns of HISTORY_FIELDS."""
    return (one.ocm, one.version, one.workload, f"{one.soak_days:.2f}", ", ".join(one.clusters))


def head_of(fields: tuple[str, ...]) -> Row:
    """The heads of columns."""
    return tuple(name.replace("_", " ").upper() for name in fields)
