"""The requests of a probe to its Prometheus: a handful, each for one thing.

Counters are read sample by sample, with the times of their scrapes: an expression evaluated in
steps would carry a sample from before the change past it. The clock is read too, since `since` is a
moment of our clock and the time of a sample one of theirs.
"""

import enum

import msgspec

from tidegate.documents.probe import AlertRules, Checks, Counters, PrometheusProbe
from tidegate.documents.promql import any_of, asks_for_revision, filled
from tidegate.model.time import MILLISECOND, SECOND, Duration, Instant
from tidegate.prometheus.answer import AnswerError

# Samples from before the change give the initial values of counters; no sensible scrape is rarer.
LEAD = Duration(300 * SECOND)


class ProbeQuestion(enum.Enum):
    """What is requested."""

    CLOCK = "clock"
    CLEAN = "clean"
    FAILED = "failed"
    CHECKS = "checks"
    ALERTS = "alerts"
    RULES = "rules"


class PrometheusRequest(msgspec.Struct, frozen=True):
    """A path below the server's address, and the form sent there."""

    path: str
    form: dict[str, str]
    # False: the path knows no form in the body.
    posts: bool = True


def questions(
    probe: PrometheusProbe, revision: str | None, since: Instant, now: Instant
) -> dict[ProbeQuestion, PrometheusRequest]:
    """All requests at a moment about a change that began at another."""
    asked = {ProbeQuestion.CLOCK: _query("time()")}
    match probe.runs:
        case Counters():
            start = counters_start(probe.runs, since, now)
            asked[ProbeQuestion.CLEAN] = _samples(probe.runs.clean, revision, start, now)
            asked[ProbeQuestion.FAILED] = _samples(probe.runs.failed, revision, start, now)
        case Checks():
            steps = check_steps(probe.runs, probe.wanted, since, now)
            if steps:
                asked[ProbeQuestion.CHECKS] = _steps(probe.runs, revision, steps)
        case None:
            pass
    if probe.alerts is not None:
        asked[ProbeQuestion.ALERTS] = _query(_alerts(probe.alerts, revision))
        asked[ProbeQuestion.RULES] = PrometheusRequest(
            "api/v1/rules", {"type": "alert"}, posts=False
        )
    return asked


def counters_start(counters: Counters, since: Instant, now: Instant) -> Instant:
    """The start of the samples to read: a while before the change, but bounded."""
    return Instant(max(since - LEAD, now - max(counters.window, LEAD)))


def check_steps(checks: Checks, wanted: int, since: Instant, now: Instant) -> range:
    """The moments of the last checks, one more than wanted; on a fixed grid."""
    every = checks.every
    first = -(-(since + checks.after) // every) * every
    last = now // every * every
    return range(max(first, last - wanted * every), last + 1, every)


def _query(query: str) -> PrometheusRequest:
    return PrometheusRequest("api/v1/query", {"query": query})


def _samples(query: str, revision: str | None, start: Instant, now: Instant) -> PrometheusRequest:
    length = -(-(now - start) // MILLISECOND)
    text = f"{_filled(query, revision).strip()}[{length}ms]"
    return PrometheusRequest("api/v1/query", {"query": text, "time": _seconds(now)})


def _steps(checks: Checks, revision: str | None, steps: range) -> PrometheusRequest:
    form = {
        "query": _filled(checks.good, revision),
        "start": _seconds(steps[0]),
        "end": _seconds(steps[-1]),
        "step": _seconds(checks.every),
    }
    return PrometheusRequest("api/v1/query_range", form)


def _alerts(alerts: AlertRules, revision: str | None) -> str:
    """Which alerts fire and since when, in one request: between two, one could begin."""
    both = '__name__=~"ALERTS|ALERTS_FOR_STATE"'
    match = f",{_filled(alerts.match, revision)}" if alerts.match else ""
    return f"{{{both},alertname=~{any_of(alerts.rules)}{match}}}"


def _filled(query: str, revision: str | None) -> str:
    if not asks_for_revision(query):
        return query
    if revision is None:
        raise AnswerError("the probe asks for $revision, and the revision has no name")
    return filled(query, revision)


def _seconds(moment: int) -> str:
    """Seconds with three digits, rounded down: nothing later than the moment is requested."""
    whole, below = divmod(moment // MILLISECOND, 1000)
    return f"{whole}.{below:03d}"
