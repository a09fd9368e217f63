"""The `prometheus` of a health gate: what to request, so that the answer is evidence.

prometheus:
  server: main                          # a server the worker knows; or url; or neither
  runs:                                 # two counters; what they grow by are runs
    clean: reconcile_runs_total{result="ok", version=$revision}
    failed: reconcile_runs_total{result="failed", version=$revision}
    by: [shard]                         # each shard proves itself
    atLeast: 3                          # and there are three of them
  alerts:
    rules: [ReconcileFailing]

The author of a document must not be able to send our credentials anywhere: they belong to the
servers of the settings, and a `url` in a document is queried without any.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

import msgspec

from tidegate.documents.promql import complaints, matchers_of, selector_labels
from tidegate.documents.reader import Reader
from tidegate.model.problem import shown
from tidegate.model.time import SECOND, Duration

# Far enough for three runs of an hourly job.
WINDOW = Duration(6 * 3600 * SECOND)
# As far back as Prometheus looks for a sample by default: the first checks must not see old ones.
SETTLE = Duration(300 * SECOND)
EVERY = Duration(60 * SECOND)
# A larger number is a mistake; the limit also bounds the size of requests.
RUNS_MAX = 1000
_URL_REMEDY = "write http://… or https://…, without credentials"


class Counters(msgspec.Struct, frozen=True):
    """Two plain selectors of counters: a run is what one of them grows by."""

    clean: str
    failed: str
    # How far back runs are searched.
    window: Duration = WINDOW


class Checks(msgspec.Struct, frozen=True):
    """An expression that is 1 or 0, evaluated at intervals: each evaluation is a run."""

    good: str
    every: Duration = EVERY
    # How long after the change the first evaluation counts.
    after: Duration = SETTLE


class AlertRules(msgspec.Struct, frozen=True):
    """The rules that watch, by name, and which of their alerts count."""

    rules: tuple[str, ...]
    # Matchers without braces; empty: all alerts of these rules.
    match: str = ""


class PrometheusProbe(msgspec.Struct, frozen=True, kw_only=True):
    """What to request from a Prometheus for one health gate."""

    # None: not by name.
    server: str | None = None
    # None: not by address; neither: the only server there is.
    url: str | None = None
    # How many runs the gate requires.
    wanted: int = 0
    # None: runs are not requested.
    runs: Counters | Checks | None = None
    # The labels that distinguish the things that run; none: all together are one.
    by: tuple[str, ...] = ()
    # With fewer things than this, some are missing.
    at_least: int = 1
    # None: alerts are not requested.
    alerts: AlertRules | None = None


def read_probe(reader: Reader, clean_runs: int, no_new_alerts: bool) -> PrometheusProbe:
    """A probe that requests exactly what its gate requires."""
    has_runs, has_checks = reader.has("runs"), reader.has("checks")
    if has_runs and has_checks:
        reader.problems.add(reader.at("checks"), "cannot be combined with runs", "keep one of them")
    _agree(reader, "runs" if has_runs else "checks", has_runs or has_checks, bool(clean_runs))
    _agree(reader, "alerts", reader.has("alerts"), no_new_alerts)
    if clean_runs > RUNS_MAX:
        wrong = f"for {clean_runs} runs"
        reader.problems.add(reader.path, wrong, f"ask for at most {RUNS_MAX} in cleanRuns")
    part = reader.child("runs" if has_runs else "checks")
    server, url = reader.text("server"), reader.text("url")
    if server is not None and url is not None:
        reader.problems.add(reader.at("url"), "cannot be combined with server", "keep one of them")
    probe = PrometheusProbe(
        server=server,
        url=_address(reader, url),
        wanted=clean_runs,
        runs=_counters(part) if has_runs else _checks(part) if has_checks else None,
        by=tuple(sorted(set(part.texts("by")))),
        at_least=_at_least(part),
        alerts=_alerts(reader.child("alerts")) if reader.has("alerts") else None,
    )
    part.close()
    reader.close()
    return probe


# The field that requires a part, the remedy if it is missing, and if nothing requires it.
_WANTED = {
    "runs": ("cleanRuns", "write runs or checks, or drop cleanRuns", "write cleanRuns: 3"),
    "checks": ("cleanRuns", "write runs or checks, or drop cleanRuns", "write cleanRuns: 3"),
    "alerts": ("noNewAlerts", "write alerts, or noNewAlerts: false", "drop one of the two"),
}


def _agree(reader: Reader, part: str, is_there: bool, is_wanted: bool) -> None:
    """What the gate requires is requested, and what is requested is required."""
    wish, missing, unwanted = _WANTED[part]
    if is_wanted and not is_there:
        reader.problems.add(reader.at(part), f"missing, and {wish} wants it", missing)
    elif is_there and not is_wanted:
        reader.problems.add(reader.at(part), f"asked for, and {wish} does not want it", unwanted)


def _counters(reader: Reader) -> Counters:
    window = reader.duration("window")
    if window == 0:
        reader.problems.add(reader.at("window"), "0 sees nothing", 'write "6h"')
    return Counters(
        clean=_selector(reader, "clean"),
        failed=_selector(reader, "failed"),
        window=window or WINDOW,
    )


def _checks(reader: Reader) -> Checks:
    every, after = reader.duration("every"), reader.duration("after")
    if every is not None and (every < SECOND or every % SECOND):
        reader.problems.add(reader.at("every"), "is not made of whole seconds", 'write "1m"')
        every = None
    good = _query(reader, "good")
    return Checks(good, every or EVERY, SETTLE if after is None else after)


def _at_least(reader: Reader) -> int:
    count = reader.whole("atLeast")
    if count == 0:
        reader.problems.add(
            reader.at("atLeast"), "0 would take nothing for good", "write 1 or more"
        )
    if count is not None and count > 1 and not reader.raw("by"):
        wrong = f"{count} of what by does not tell apart"
        reader.problems.add(reader.at("atLeast"), wrong, "write by: [label]")
    return count or 1


def _alerts(reader: Reader) -> AlertRules:
    rules = reader.texts("rules")
    if not rules or not all(rule.strip() for rule in rules):
        reader.problems.add(reader.at("rules"), "missing", "name the alerting rules that watch")
    match = reader.text("match") or ""
    if match:
        _complain(reader, "match", complaints(match))
        labels = selector_labels(match)
        if labels is None or not match.strip().startswith("{"):
            wrong = f"{shown(match)} is not a selector of labels"
            reader.problems.add(reader.at("match"), wrong, 'write {label="value"}')
        for label in sorted((labels or set()) & {"__name__", "alertname", "alertstate"}):
            reader.problems.add(reader.at("match"), f"asks for {label}", "name the rules in rules")
    found = AlertRules(tuple(sorted(set(rules))), matchers_of(match))
    reader.close()
    return found


def _selector(reader: Reader, field: str) -> str:
    query = _query(reader, field)
    if query.strip() and selector_labels(query) is None:
        wrong = f"{shown(query)} is more than a counter's name and labels"
        remedy = 'write name{label="value"}; tell series apart with by, or record a rule'
        reader.problems.add(reader.at(field), wrong, remedy)
    return query


def _query(reader: Reader, field: str) -> str:
    query = reader.text(field)
    if query is None:
        if not reader.has(field):
            reader.problems.add(reader.at(field), "missing", "write a query")
        return ""
    _complain(reader, field, complaints(query))
    return query


def _complain(reader: Reader, field: str, found: Iterable[tuple[str, str]]) -> None:
    for wrong, remedy in found:
        reader.problems.add(reader.at(field), wrong, remedy)


def _address(reader: Reader, url: str | None) -> str | None:
    if url is not None and (wrong := url_trouble(url)):
        reader.problems.add(reader.at("url"), wrong, _URL_REMEDY)
        return None
    return url


def url_trouble(url: str) -> str:
    """What is wrong with the address of a server; empty if nothing is. Never shows credentials."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "is not an address"
    if parts.username is not None or parts.password is not None:
        return "has credentials in it"
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        return f"{shown(url)} is not an address"
    if parts.query or parts.fragment:
        return f"{shown(url)} has a query"
    return ""
