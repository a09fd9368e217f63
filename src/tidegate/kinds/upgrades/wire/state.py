"""What is kept of an organisation's soak, as the predecessor keeps it and a little more.

Both read both: `versions`, `stats` and `check_in` are the predecessor's; `observed` is ours, by the
external id of a cluster, and the predecessor drops it. Where it is missing, a cluster that reported
counts as observed at the last check-in, if its name is unique.
"""

from typing import Any

import msgspec

from tidegate.kinds.upgrades.core.history import SoakHistory, format_check_in, parse_check_in
from tidegate.kinds.upgrades.core.rules.soak import DAY, SoakLedger, SoakSnapshot
from tidegate.model.time import Instant, format_instant, parse_instant


class ObservedCluster(msgspec.Struct, omit_defaults=True):
    """One cluster as it was last seen."""

    at: str
    version: str
    workloads: tuple[str, ...] = ()
    healthy: bool = True
    since: str | None = None  # None: not known


class KeptHistory(SoakHistory):
    """A history with who was seen."""

    observed: dict[str, ObservedCluster] = msgspec.field(default_factory=dict)


def read_ledger(value: Any) -> SoakLedger:
    """A ledger; one that cannot be read is as if nothing had been kept."""
    try:
        kept = msgspec.convert(value, KeptHistory)
        return SoakLedger(
            days={
                (version, workload): max(0, round(soak.soak_days * DAY))
                for version, one in kept.versions.items()
                for workload, soak in one.workloads.items()
            },
            sights={uuid: _sight(each) for uuid, each in kept.observed.items()},
            reporting={
                (version, workload): tuple(soak.reporting)
                for version, one in kept.versions.items()
                for workload, soak in one.workloads.items()
            },
            minima=kept.stats,
            checked_at=parse_check_in(kept.check_in),
        )
    except (msgspec.ValidationError, ValueError, OverflowError):
        return SoakLedger()


def check_ledger(value: Any) -> str:
    """Why what was kept cannot be read; empty: it can."""
    try:
        kept = msgspec.convert(value, KeptHistory)
    except msgspec.ValidationError as error:
        return str(error)
    if kept.check_in is not None and parse_check_in(kept.check_in) is None:
        return f'check_in "{kept.check_in}" is no moment'
    return "" if kept.versions or kept.check_in else "it holds neither versions nor check_in"


def _sight(each: ObservedCluster) -> SoakSnapshot:
    return SoakSnapshot(
        at=parse_instant(each.at),
        version=each.version,
        workloads=each.workloads,
        healthy=each.healthy,
        since=None if each.since is None else parse_instant(each.since),
    )


def write_ledger(ledger: SoakLedger, now: Instant) -> dict[str, Any]:
    """A ledger as it is kept."""
    versions: dict[str, Any] = {}
    for version, workload in sorted({*ledger.days, *ledger.reporting}):
        key = (version, workload)
        soak = {
            "soak_days": ledger.days.get(key, 0) / DAY,
            "reporting": list(ledger.reporting.get(key, ())),
        }
        versions.setdefault(version, {"workloads": {}})["workloads"][workload] = soak
    return {
        "check_in": format_check_in(ledger.checked_at if ledger.checked_at is not None else now),
        "versions": versions,
        "stats": msgspec.to_builtins(ledger.minima),
        "observed": {uuid: _observed(ledger.sights[uuid]) for uuid in sorted(ledger.sights)},
    }


def _observed(snapshot: SoakSnapshot) -> Any:
    return msgspec.to_builtins(
        ObservedCluster(
            format_instant(snapshot.at),
            snapshot.version,
            snapshot.workloads,
            snapshot.healthy,
            None if snapshot.since is None else format_instant(snapshot.since),
        )
    )
