"""What the labels of a cluster ask for, read strictly: trimmed, validated, every error reported.

A cluster with an error is excluded alone. What can still be read of it is used for the others'
sake: its sector, its mutexes and its workloads count, and where its workloads cannot be read, it
counts for all of them.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from tidegate.kinds.upgrades.core.declared.label_error import LabelError, LabelErrors
from tidegate.kinds.upgrades.core.declared.patterns import (
    PatternError,
    comma_problem,
    read_pattern,
    split_patterns,
)
from tidegate.kinds.upgrades.core.labels.labels import read_cluster_labels
from tidegate.kinds.upgrades.core.schedule.schedule import read_schedule
from tidegate.kinds.upgrades.core.schedule.window import SPAN_ASKED, never_fires
from tidegate.model.cron.cron import Cron
from tidegate.model.cron.cron_text import CronError
from tidegate.model.problem import nearest_or_all

_WHOLE = re.compile(r"\+?[0-9](?:_?[0-9])*(?:\.0+)?")
# Three thousand years; a longer text is not a number of days.
_DAYS_MAX = 1_000_000
# Clusters whose labels are remembered from one round to the next.
_REMEMBERED_MAX = 16_384
_SOAK = "soak-days"
_EXAMPLES = {
    _SOAK: 'write a whole number of days, as "3"; "0" is a canary',
    "workloads": 'write what runs on it, as "payments,search"',
    "schedule": 'write when upgrades may start, as "0 9 * * 1-4" (UTC)',
    "schedule-timezone": 'write a zone, as "Europe/Berlin", or drop the label',
    "blocked-versions": r'write RE2 patterns, as "^4\.13\.,^4\.14\.0$"',
}


_KNOWN = frozenset((*_EXAMPLES, "mutexes", "sector", "version-gate-approvals"))


class ClusterPolicy(msgspec.Struct, frozen=True):
    """What a cluster's labels ask for, as far as they can be read."""

    # None: not readable, and so for the three that follow; the cluster is excluded.
    soak_days: int | None
    workloads: tuple[str, ...] | None
    schedule: str | None
    cron: Cron | None
    zone: str = ""  # empty: UTC
    mutexes: tuple[str, ...] = ()
    sector: str = ""  # empty: none
    blocked: tuple[str, ...] = ()  # those that can be read
    approvals: tuple[str, ...] = ()  # empty: the ones that are approved unless said otherwise
    label_errors: tuple[LabelError, ...] = ()
    warnings: tuple[str, ...] = ()


def read_cluster_policy(labels: Mapping[str, str]) -> ClusterPolicy:
    """The labels of a cluster, and all that is wrong with them."""
    return _read(tuple(sorted(labels.items())))


@lru_cache(_REMEMBERED_MAX)
def _read(items: tuple[tuple[str, str], ...]) -> ClusterPolicy:
    """Read once for as long as no label changes."""
    labels = dict(items)
    notes = LabelErrors()
    for name in sorted(labels.keys() - _KNOWN):
        notes.warn(name, f"unknown, and ignored; {nearest_or_all(name, sorted(_KNOWN))}")
    known = _known(labels)
    soak_days = _soak_days(labels.get(_SOAK), notes, known)
    workloads = _workloads(labels.get("workloads"), notes, known)
    schedule, cron = _schedule(labels.get("schedule"), notes, known)
    zone = _zone(labels.get("schedule-timezone"), notes)
    if cron is not None and schedule is not None and never_fires(schedule, cron):
        why = "no such day exists" if cron.years is None else f"it names no day {SPAN_ASKED}"
        _bad(notes, "schedule", f'"{schedule}" never fires: {why}')
    return ClusterPolicy(
        soak_days,
        workloads,
        schedule,
        cron,
        zone,
        mutexes=notes.items("mutexes", labels.get("mutexes")),
        sector=(labels.get("sector") or "").strip(),
        blocked=read_blocked(labels.get("blocked-versions"), notes),
        approvals=notes.items("version-gate-approvals", labels.get("version-gate-approvals")),
        label_errors=tuple(notes.label_errors),
        warnings=tuple(notes.warnings),
    )


def read_blocked(value: str | None, notes: LabelErrors) -> tuple[str, ...]:
    """The patterns of a list that can be read; what is wrong with the others is noted."""
    found: list[str] = []
    parts = split_patterns(value)
    whole = [each for each in parts if "," not in each]
    for each in parts:
        if each not in whole:
            notes.wrong("blocked-versions", "; ".join(comma_problem(each)), "")
    for each in notes.items("blocked-versions", value if parts == whole else ",".join(whole)):
        try:
            read_pattern(each)
            found.append(each)
        except PatternError as error:
            _bad(notes, "blocked-versions", f'"{each}": {error}')
    return tuple(sorted(found))


def _bad(notes: LabelErrors, label: str, what: str, known: str = "") -> None:
    notes.wrong(label, f"{what}; {_EXAMPLES[label]}", known)


def _known(labels: Mapping[str, str]) -> dict[str, str]:
    """What the predecessor says of the labels it refuses, too."""
    _, problems = read_cluster_labels(labels)
    return {problem.label: problem.message for problem in problems}


def _soak_days(value: str | None, notes: LabelErrors, known: Mapping[str, str]) -> int | None:
    said = known.get(_SOAK, "")
    if value is None:
        _bad(notes, _SOAK, "missing", said)
        return None
    text = value.strip()
    if not _WHOLE.fullmatch(text):
        _bad(notes, _SOAK, f'"{value}" is not a whole number', said)
        return None
    digits = text.partition(".")[0].replace("_", "").lstrip("+0") or "0"
    if len(digits) > len(str(_DAYS_MAX)) or int(digits) > _DAYS_MAX:
        _bad(notes, _SOAK, f"more than {_DAYS_MAX} days", said)
        return None
    return int(digits)


def _workloads(
    value: str | None, notes: LabelErrors, known: Mapping[str, str]
) -> tuple[str, ...] | None:
    found = notes.items("workloads", value)
    if not found:
        what = "missing" if value is None else f'"{value}" names no workload'
        _bad(notes, "workloads", what, known.get("workloads", ""))
        return None
    return found


def _schedule(
    value: str | None, notes: LabelErrors, known: Mapping[str, str]
) -> tuple[str | None, Cron | None]:
    said = known.get("schedule", "")
    if value is None:
        _bad(notes, "schedule", "missing", said)
        return None, None
    text = value.strip()
    try:
        cron = read_schedule(text)
    except CronError as error:
        _bad(notes, "schedule", f'"{value}" is not a schedule: {error.words}', said)
        return None, None
    if cron.drawn:
        _bad(
            notes,
            "schedule",
            f'"{value}" draws its times at random (`R`), so they cannot be foreseen',
        )
    if cron.whole:
        _bad(notes, "schedule", f'"{value}" has a range of one, which means the whole column')
    return text, cron


def _zone(value: str | None, notes: LabelErrors) -> str:
    name = (value or "").strip()
    if not name:
        return ""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        _bad(notes, "schedule-timezone", f'"{value}" is not a time zone')
        return ""
    return name
