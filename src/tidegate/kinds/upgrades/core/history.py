"""How long versions have run under which workloads, as the predecessor keeps it.

One document an organisation. Soak counts in days of clusters: two clusters on a version add two
days a day. `reporting` are the names of clusters that were seen there, in the order they came.
"""

import re
from datetime import UTC, datetime, timedelta

import msgspec

from tidegate.model.time import SECOND, Instant, format_second

_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class WorkloadSoak(msgspec.Struct):
    """What one workload has soaked on one version."""

    soak_days: float = 0.0
    reporting: list[str] = []


class Workloads(msgspec.Struct):
    """The workloads of one version."""

    workloads: dict[str, WorkloadSoak] = {}


class Minima(msgspec.Struct):
    """The lowest version clusters run, overall and for each workload."""

    min_version: str
    min_version_per_workload: dict[str, str] = {}


class SoakHistory(msgspec.Struct):
    """All that is kept of an organisation."""

    check_in: str | None = None  # None: never looked before
    versions: dict[str, Workloads] = {}
    stats: Minima | None = None  # None: not worked out yet


def soaked(history: SoakHistory, version: str, workload: str) -> float:
    """Days a workload has run on a version; 0 if it was never observed there."""
    found = history.versions.get(version)
    one = found.workloads.get(workload) if found else None
    return one.soak_days if one else 0.0


def soak_of(history: SoakHistory, version: str, workload: str) -> WorkloadSoak:
    """The entry of a workload on a version, made if there is none."""
    workloads = history.versions.setdefault(version, Workloads()).workloads
    return workloads.setdefault(workload, WorkloadSoak())


def days_since(check_in: str | None, now: int) -> float:
    """Days since the last look, negative if the clock went back; 0 if there was none."""
    at = parse_check_in(check_in)
    return 0.0 if at is None else timedelta(microseconds=(now - at) // 1000).total_seconds() / 86400


def parse_check_in(text: str | None) -> Instant | None:
    """When an organisation was looked at; the old form without a zone is UTC. None: unreadable."""
    match = _STAMP.fullmatch(text or "")
    if match is None:
        return None
    zone = match[3] or "Z"
    try:
        at = datetime.fromisoformat(f"{match[1]}T{match[2]}{'+00:00' if zone == 'Z' else zone}")
    except ValueError:
        return None
    return Instant(int((at - _EPOCH).total_seconds()) * SECOND)


def format_check_in(now: int) -> str:
    """A moment as it is kept."""
    return format_second(now)
