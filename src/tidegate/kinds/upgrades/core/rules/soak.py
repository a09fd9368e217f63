"""How long versions have run under which workloads: a fold over what was seen, never a guess.

A stretch of time counts if a cluster was seen healthy on the version at both of its ends, and they
lie at most two hours apart: what was not observed did not soak. Two clusters soak two days a day.
All in whole microseconds, so that 144 stretches of ten minutes are a day, and not almost one.

    seen well at 10:00 and 10:10      ten minutes
    seen well at 10:00 and 14:00      nothing: not observed for four hours
    seen well at 10:00, ill at 10:10  nothing
    the clock went back               nothing, and nothing twice
"""

from collections.abc import Iterable, Mapping

import msgspec

from tidegate.kinds.upgrades.core.history import Minima
from tidegate.kinds.upgrades.core.versions import Key, VersionError, key_of
from tidegate.model.time import SECOND, Duration, Instant

GAP_MAX = Duration(2 * 60 * 60 * SECOND)
# Who was not seen for so long is forgotten, so that what is kept does not grow for ever.
KEPT_MAX = Duration(30 * 24 * 60 * 60 * SECOND)
DAY = 24 * 60 * 60 * 1_000_000
"""A day in the unit soak is counted in."""
_UNIT = 1000
_CENTI = 100

Days = Mapping[tuple[str, str], int]
"""Microseconds of clusters, by version and workload."""


_Reporting = Mapping[tuple[str, str], Mapping[str, None]]


class SoakSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster as it was seen."""

    at: Instant
    version: str
    workloads: tuple[str, ...]
    healthy: bool
    # On this version at least since then; None: not known.
    since: Instant | None = None


class SoakLedger(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an organisation's soak."""

    days: Days = {}
    # By the external id of the cluster.
    sights: Mapping[str, SoakSnapshot] = {}
    # Names that were seen on a version with a workload: kept for the predecessor.
    reporting: Mapping[tuple[str, str], tuple[str, ...]] = {}
    minima: Minima | None = None  # None: never worked out
    checked_at: Instant | None = None  # None: never observed before


class SoakObservation(msgspec.Struct, frozen=True):
    """One cluster as it is seen now."""

    uuid: str
    name: str
    unique: bool  # no other cluster of the organisation has this name
    snapshot: SoakSnapshot


def fold(ledger: SoakLedger, seen: Iterable[SoakObservation], minima: Minima | None) -> SoakLedger:
    """The ledger with one more look at all clusters; the order they come in does not matter."""
    days, sights = dict(ledger.days), dict(ledger.sights)
    # As keys of a mapping: in their order, and found at once.
    reporting = {key: dict.fromkeys(names) for key, names in ledger.reporting.items()}
    latest = ledger.checked_at
    for each in sorted(seen, key=lambda one: (one.name, one.uuid)):
        now = each.snapshot
        before = ledger.sights.get(each.uuid) or _imported(ledger, reporting, each)
        if before is not None and now.at <= before.at:  # the clock went back
            sights.setdefault(each.uuid, before)
            continue
        latest = max(latest or now.at, now.at)
        for workload in _counted(before, now):
            key = (now.version, workload)
            days[key] = days.get(key, 0) + (now.at - before.at if before else 0) // _UNIT
        for workload in now.workloads if now.healthy else ():
            key = (now.version, workload)
            days.setdefault(key, 0)
            reporting.setdefault(key, {})[each.name] = None
        sights[each.uuid] = msgspec.structs.replace(now, since=_since(before, now))
    return SoakLedger(
        days=days,
        sights={uuid: each for uuid, each in sights.items() if _is_kept(each, latest)},
        reporting={key: tuple(names) for key, names in reporting.items()},
        minima=minima or ledger.minima,
        checked_at=latest,
    )


def carried(ledger: SoakLedger, until: Instant) -> SoakLedger:
    """The ledger as it will be if clusters stay as last observed, and are observed all the time.

    The result of folding one observation after the other, for as long as nothing changes.
    """
    seen = ledger.checked_at
    if seen is None or until <= seen:
        return ledger
    days, sights = dict(ledger.days), dict(ledger.sights)
    for uuid, snapshot in ledger.sights.items():
        if snapshot.at != seen:  # not there any more
            continue
        for workload in snapshot.workloads if snapshot.healthy else ():
            key = (snapshot.version, workload)
            days[key] = days.get(key, 0) + (until - seen) // _UNIT
        sights[uuid] = msgspec.structs.replace(snapshot, at=until)
    return msgspec.structs.replace(ledger, days=days, sights=sights, checked_at=until)


def _is_kept(snapshot: SoakSnapshot, latest: Instant | None) -> bool:
    return latest is None or latest - snapshot.at <= KEPT_MAX


def _counted(before: SoakSnapshot | None, now: SoakSnapshot) -> tuple[str, ...]:
    """The workloads for which the time between two sights counts."""
    if before is None or before.version != now.version or now.at - before.at > GAP_MAX:
        return ()
    if not (before.healthy and now.healthy):
        return ()
    return tuple(each for each in now.workloads if each in before.workloads)


def _imported(
    ledger: SoakLedger, reporting: _Reporting, each: SoakObservation
) -> SoakSnapshot | None:
    """A cluster as the predecessor left it: it knows names only, and who reported."""
    if ledger.checked_at is None or not each.unique:
        return None
    version = each.snapshot.version
    known = tuple(
        workload
        for workload in each.snapshot.workloads
        if each.name in reporting.get((version, workload), ())
    )
    if not known:
        return None
    return SoakSnapshot(at=ledger.checked_at, version=version, workloads=known, healthy=True)


def _since(before: SoakSnapshot | None, now: SoakSnapshot) -> Instant | None:
    """The earliest moment at which it may have got its version; None: not known."""
    if before is None:
        return None
    return before.since if before.version == now.version else before.at


def inherited(own: SoakLedger, sources: Iterable[SoakLedger]) -> tuple[Days, Minima | None]:
    """Soak with that of others, for workloads known here; and the lowest versions they run."""
    days = dict(own.days)
    known = {workload for _, workload in own.days}
    minima: Minima | None = None
    for source in sources:
        for (version, workload), amount in source.days.items():
            if workload in known:
                key = (version, workload)
                days[key] = days.get(key, 0) + amount
        minima = _lower(minima, source.minima)
    return days, minima


def _lower(one: Minima | None, other: Minima | None) -> Minima | None:
    if one is None or other is None:
        return one or other
    both = dict(one.min_version_per_workload)
    for workload, version in other.min_version_per_workload.items():
        both[workload] = min(both.get(workload, version), version, key=key_or_least)
    return Minima(min(one.min_version, other.min_version, key=key_or_least), both)


def key_or_least(version: str) -> Key | tuple[()]:
    """What a version is compared by; one that cannot be read is lower than all, and so holds."""
    try:
        return key_of(version)
    except VersionError:
        return ()


def days_text(amount: int) -> str:
    """Days with two decimals, never rounded up: what is not there yet is not shown as there."""
    cents = amount * _CENTI // DAY
    return f"{cents // _CENTI}.{cents % _CENTI:02d}"
