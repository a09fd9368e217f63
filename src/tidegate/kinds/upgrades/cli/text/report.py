"""The fleet report and the version history as rows.

    4.12.18 (3.04 🎉), 4.12.19 (0)

The number is in days of clusters, of the workload that is furthest behind.
"""

from tidegate.explain.table import Row
from tidegate.kinds.upgrades.app.report import (
    FleetReport,
    OfferedVersion,
    ReportedCluster,
    VersionHistory,
    VersionSoak,
)

FIELDS = (
    "ocm", "cluster", "version", "channel", "schedule", "sector", "mutexes", "soak_days",
    "workload", "soaking_upgrades",
)  # fmt: skip
HISTORY_FIELDS = ("ocm", "version", "workload", "soak_days", "clusters")


def report_rows(document: FleetReport) -> list[Row]:
    """The rows of the report, in the columns of FIELDS."""
    return [
        report_cells(one, each.name) for each in document.organizations for one in each.clusters
    ]


def report_cells(one: ReportedCluster, ocm: str) -> Row:
    """One cluster, in the columns of FIELDS."""
    zone = f" {one.timezone}" if one.timezone else ""
    return (
        ocm,
        one.cluster,
        one.version,
        one.channel,
        f"{one.schedule}{zone}" if one.schedule else "",
        one.sector or "",
        ", ".join(one.mutexes),
        "" if one.soak_days is None else str(one.soak_days),
        ", ".join(one.workloads or ()),
        _soaking(one),
    )


def _soaking(one: ReportedCluster) -> str:
    if one.set_aside:
        return "excluded: see tidegate why"
    return ", ".join(map(_offered, one.soaking))


def _offered(one: OfferedVersion) -> str:
    days = f"{one.soak_days:.2f}".rstrip("0").rstrip(".")
    return f"{one.version} ({days}{' ' if one.mark else ''}{one.mark or ''})"


def history_rows(document: VersionHistory) -> list[Row]:
    """The rows of the history, in the columns of HISTORY_FIELDS."""
    return [history_cells(each) for each in document.items]


def history_cells(one: VersionSoak) -> Row:
    """One version and workload, in the columns of HISTORY_FIELDS."""
    return (one.ocm, one.version, one.workload, f"{one.soak_days:.2f}", ", ".join(one.clusters))


def head_of(fields: tuple[str, ...]) -> Row:
    """The heads of columns."""
    return tuple(name.replace("_", " ").upper() for name in fields)
