"""Health is one of three: good, bad, or not enough evidence yet. Missing or old data is never good.

Evidence is what was observed of targets that have the change already: runs that were clean or not,
alerts that fire. It is of one revision and seen at one moment, and good for so long.

Of the last N runs none may have failed; a run before the change (`since`) says nothing of it. An
alert is new if it began with the change or later, or does not say when. Worked numbers, 3 clean
runs wanted: ✓✓ not enough yet; ✓✓✗ bad; ✗✓✓✓ good; nothing seen for longer than `max_age`: too old.
"""

from collections.abc import Iterable

import msgspec

from tidegate.gates.scope import Scope
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.time import Duration, Instant
from tidegate.model.verdict import Verdict, verdict

# A verdict names this many alerts; more would not fit on a line.
NAMES_MAX = 3
_NO_NAME = "a revision without a name"


class HealthRun(msgspec.Struct, frozen=True, gc=False):
    """One run of whatever has the change, and whether it was clean."""

    at: Instant
    clean: bool


class Alert(msgspec.Struct, frozen=True, gc=False):
    """Something that fires."""

    name: str
    # None: it does not say, so it may be new.
    since: Instant | None = None


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen, when, and of which revision."""

    # None: it does not say, so it cannot be trusted.
    seen_at: Instant | None = None
    revision: str | None = None
    # When the change began; None: everything that was seen counts.
    since: Instant | None = None
    runs: tuple[HealthRun, ...] = ()
    alerts: tuple[Alert, ...] = ()


class HealthGate(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be seen before more targets get the change."""

    name: str
    scope: Scope
    # How long evidence is good for.
    max_age: Duration
    # 0: runs are not asked for.
    clean_runs: int = 0
    no_new_alerts: bool = True
    # None: there is none.
    evidence: Evidence | None = None


def health_verdicts(
    gates: Iterable[HealthGate], revision: str | None, now: Instant
) -> list[Verdict]:
    """What the health gates that cover a target say: one verdict each."""
    return [_judge(gate, revision, now) for gate in gates]


def health_moments(gates: Iterable[HealthGate], now: Instant) -> list[Instant]:
    """When evidence becomes usable or too old, or an event in it takes effect."""
    moments: list[Instant] = []
    for gate in gates:
        seen = gate.evidence
        if seen is not None and seen.seen_at is not None:
            moments += [seen.seen_at, Instant(seen.seen_at + gate.max_age)]
    return [moment for moment in moments if moment > now]


def _judge(gate: HealthGate, revision: str | None, now: Instant) -> Verdict:
    evidence = gate.evidence
    if evidence is None:
        return verdict(BrakeReason.HealthMissing, gate.name)
    seen = evidence.seen_at
    if seen is None:
        return verdict(BrakeReason.HealthUndated, gate.name)
    if seen > now:
        return verdict(BrakeReason.HealthUndated, gate.name, until=seen)
    if evidence.revision != revision:
        given = evidence.revision or _NO_NAME
        return verdict(BrakeReason.HealthOfOther, gate.name, given, revision or _NO_NAME)
    return _weigh(gate, evidence, seen, now)


def _weigh(gate: HealthGate, evidence: Evidence, seen: Instant, now: Instant) -> Verdict:
    """Bad first: that it was bad stays true when it is old."""
    runs = _last_runs(evidence, seen, gate.clean_runs)
    failed = sum(not run.clean for run in runs)
    if failed:
        return verdict(BrakeReason.HealthBad, gate.name, failed, len(runs), seen)
    alerts = sorted(alert.name for alert in evidence.alerts if _is_new(alert, evidence))
    if alerts and gate.no_new_alerts:
        names = (*alerts[:NAMES_MAX], "…") if len(alerts) > NAMES_MAX else tuple(alerts)
        return verdict(BrakeReason.HealthAlerts, gate.name, len(alerts), names, seen)
    stale_at = Instant(seen + gate.max_age)
    if now >= stale_at:
        return verdict(BrakeReason.HealthStale, gate.name, seen, gate.max_age)
    if len(runs) < gate.clean_runs:
        return verdict(BrakeReason.HealthUnproven, gate.name, len(runs), gate.clean_runs, seen)
    return verdict(BrakeReason.HealthGood, gate.name, len(runs), len(alerts), seen, until=stale_at)


def _last_runs(evidence: Evidence, seen: Instant, wanted: int) -> list[HealthRun]:
    """The last runs that count; of two at one instant, the failed one is the later."""
    since = evidence.since
    mine = [run for run in evidence.runs if (since is None or run.at >= since) and run.at <= seen]
    mine.sort(key=lambda run: (run.at, not run.clean))
    return mine[len(mine) - min(wanted, len(mine)) :]


def _is_new(alert: Alert, evidence: Evidence) -> bool:
    return alert.since is None or evidence.since is None or alert.since >= evidence.since
