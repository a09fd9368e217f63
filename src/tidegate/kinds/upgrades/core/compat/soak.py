"""Soak as the predecessor adds it up, hands it down and shows it."""

from collections.abc import Callable, Iterable

import msgspec

from tidegate.kinds.upgrades.core.compat.record import AbortError, LegacyRecord
from tidegate.kinds.upgrades.core.compat.specs import LegacySpec, OrgSpec
from tidegate.kinds.upgrades.core.history import (
    Minima,
    SoakHistory,
    days_since,
    format_check_in,
    soak_of,
    soaked,
)
from tidegate.kinds.upgrades.core.versions import key_of
from tidegate.model.time import SECOND, parse_instant

_SCHEDULED, _STARTED, _LONG_RUNNING, _BLOCKED = -1.0, -2.0, -3.0, -4.0
_LONG_RUNNING_AFTER = 6 * 60 * 60 * SECOND
_HIDES_EARLIER = (0.0, _SCHEDULED, _STARTED, _LONG_RUNNING)


def updated(record: LegacyRecord, spec: OrgSpec) -> tuple[SoakHistory, list[str]]:
    """The history with the time since the last look added, and a line for who adds nothing."""
    now = record.world.now
    history = _copy(record.kept.get(spec.key))
    days = days_since(history.check_in, now)
    unhealthy: list[str] = []
    seen: dict[tuple[str, str], set[str]] = {}
    for one in spec.specs:
        if wrong := [error for _, errors, counts in one.health if counts for error in errors]:
            unhealthy.append(_unhealthy(spec, one, wrong))
            continue
        name, version = one.cluster.name, one.cluster.version
        for workload in one.wants.workloads:
            entry = soak_of(history, version, workload)
            if (version, workload) not in seen:
                seen[version, workload] = set(entry.reporting)
            names = seen[version, workload]
            if name in names:
                entry.soak_days += days
            else:
                entry.reporting.append(name)
                names.add(name)
    history.check_in = format_check_in(now)
    if spec.specs:
        history.stats = _minima(spec.specs)
    return history, unhealthy


def _copy(history: SoakHistory | None) -> SoakHistory:
    """A copy of a history, so that the original does not change."""
    return msgspec.convert(msgspec.to_builtins(history), SoakHistory) if history else SoakHistory()


def _unhealthy(spec: OrgSpec, one: LegacySpec, wrong: list[str]) -> str:
    cluster, org = one.cluster, spec.org
    return (
        f"unhealthy cluster {cluster.name} (id={cluster.ident}, org_id={org.id},"
        f" org_name={org.name}) will not contribute to soak days for {cluster.version} and"
        f" workloads {list(one.wants.workloads)}: {', '.join(wrong)}"
    )


def _minima(specs: Iterable[LegacySpec]) -> Minima:
    """Specs come lowest version first, so the first of each is the least."""
    lowest: dict[str, str] = {}
    first = ""
    for one in specs:
        first = first or one.cluster.version
        for workload in one.wants.workloads:
            lowest.setdefault(workload, one.cluster.version)
    return Minima(first, lowest)


def inherit(
    record: LegacyRecord, spec: OrgSpec, history: SoakHistory
) -> tuple[SoakHistory, Minima | None]:
    """The history with that of others added, and the lowest versions those run."""
    if not spec.sources:
        return history, None
    if spec.key in spec.sources:
        who = f"[{spec.org.name} - {spec.org.id}]"
        raise AbortError("ValueError", f"{who} OCM organization inherits version data from itself")
    merged = _copy(history)
    known = {name for one in history.versions.values() for name in one.workloads}
    minima: Minima | None = None
    for source in spec.sources:
        theirs = record.kept.get(source) or SoakHistory()
        for version, one in theirs.versions.items():
            for workload, soak in one.workloads.items():
                if workload in known:
                    entry = soak_of(merged, version, workload)
                    entry.soak_days += soak.soak_days
                    entry.reporting.extend(f"{source}/{name}" for name in soak.reporting)
        minima = _lower(minima, theirs.stats)
    return merged, minima


def _lower(one: Minima | None, other: Minima | None) -> Minima | None:
    if one is None or other is None:
        return one or other
    both = dict(one.min_version_per_workload)
    for workload, version in other.min_version_per_workload.items():
        both[workload] = min(both.get(workload, version), version, key=key_of)
    return Minima(min(one.min_version, other.min_version, key=key_of), both)


def remaining(
    spec: LegacySpec, history: SoakHistory, now: int, is_blocked: Callable[[str], bool]
) -> list[tuple[str, float]]:
    """Days each candidate still soaks, newest first; what an earlier one adds nothing to is hidden.

    Marks below 0: scheduled, started, running for long, blocked.
    """
    found: list[tuple[str, float]] = []
    hidden = False
    for version in reversed(spec.candidates):
        soak = min(round(soaked(history, version, name), 2) for name in spec.wants.workloads)
        left = _marked(spec, version, max(spec.wants.soak_days - soak, 0.0), now, is_blocked)
        if not (hidden and left >= 0):
            found.append((version, left))
        hidden = hidden or left in _HIDES_EARLIER
    return found


def _marked(
    spec: LegacySpec, version: str, left: float, now: int, is_blocked: Callable[[str], bool]
) -> float:
    # Of several the last is kept: that of a node pool, where its control plane has one, too.
    current = spec.cluster.upgrades[-1] if spec.cluster.upgrades else None
    if current is None or current.version != version:
        return _BLOCKED if is_blocked(version) else left
    if current.state == "scheduled":
        return _SCHEDULED
    if current.state in ("started", "delayed"):
        return _LONG_RUNNING if _is_long_past(current.next_run, now) else _STARTED
    return left


def _is_long_past(next_run: str | None, now: int) -> bool:
    try:
        return next_run is not None and now - parse_instant(next_run) >= _LONG_RUNNING_AFTER
    except ValueError:
        return False
