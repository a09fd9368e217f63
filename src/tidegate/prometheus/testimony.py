"""From answers to evidence: what is missing is a doubt, and never counts as good.

Each thing that runs (`by`) has its own row of runs; the j-th last run of all of them together is
clean if all have one and each was clean, failed if one failed. So three clean runs wanted of
two shards, ✗✓✓✓ and ✓✓: two clean so far. A clean run must lie wholly behind the change, a failed
one need only reach behind it; the measured difference of the clocks is allowed for.

With a doubt left only failures are reported; without a failure there is no evidence.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec

from tidegate.documents.probe import AlertRules, Checks, Counters, PrometheusProbe
from tidegate.gates.health import Alert, Evidence, Run
from tidegate.model.problem import shorten, shown
from tidegate.model.time import SECOND, Duration, Instant, format_age, format_duration
from tidegate.prometheus.answer import (
    AnswerError,
    MetricSeries,
    QueryResult,
    read_clock,
    read_now,
    read_past,
    read_rules,
)
from tidegate.prometheus.questions import LEAD, ProbeQuestion, check_steps, counters_start

# A larger difference of clocks is an error to fix, and not allowed for.
SKEW_MAX = Duration(60 * SECOND)

Thing = tuple[str, ...]


class Answers(msgspec.Struct, frozen=True):
    """The answers, and how long after `now` the clock was requested and answered."""

    bodies: Mapping[ProbeQuestion, bytes]
    asked_after: Duration = Duration(0)
    answered_after: Duration = Duration(0)


class _Frame(msgspec.Struct, frozen=True):
    """The times that everything is compared with."""

    since: Instant
    now: Instant
    # How far their clock may be before ours, and behind it.
    ahead: Duration
    behind: Duration


class _Row(msgspec.Struct):
    """The runs of one thing, and until when it was seen."""

    runs: list[Run]
    seen_at: Instant


class _Found(msgspec.Struct):
    """What one part of a probe found."""

    doubts: list[str]
    seen_at: Instant
    runs: tuple[Run, ...] = ()
    alerts: tuple[Alert, ...] = ()


def weigh(
    probe: PrometheusProbe, revision: str | None, since: Instant, now: Instant, answers: Answers
) -> Evidence:
    """The evidence in some answers; AnswerError if there is none."""
    if since > now:
        raise AnswerError("the change begins in the future")
    frame = _frame(since, now, answers)
    found: list[_Found] = []
    if probe.runs is not None:
        found.append(_runs(probe, probe.runs, frame, answers.bodies))
    if probe.alerts is not None:
        found.append(_alerts(probe.alerts, frame, answers.bodies))
    doubts = [doubt for each in found for doubt in each.doubts]
    seen_at = min((each.seen_at for each in found), default=Instant(since - 1))
    if seen_at < since:
        doubts.append("nothing was seen since the change began")
    seen_at = now if doubts else seen_at
    runs = tuple(Run(_between(since, r.at, seen_at), r.clean) for each in found for r in each.runs)
    alerts = tuple(alert for each in found for alert in each.alerts)
    if doubts:
        runs = tuple(run for run in runs if not run.clean)
        if not runs and not any(a.since is None or a.since >= since for a in alerts):
            raise AnswerError("; ".join(doubts))
    return Evidence(seen_at=seen_at, revision=revision, since=since, runs=runs, alerts=alerts)


def _frame(since: Instant, now: Instant, answers: Answers) -> _Frame:
    theirs = read_clock(_body(answers.bodies, ProbeQuestion.CLOCK))
    ahead = theirs - (now + answers.asked_after)
    behind = now + answers.answered_after - theirs
    if -behind > SKEW_MAX:
        raise AnswerError(f"its clock is {format_age(-behind)} ahead of ours")
    if -ahead > SKEW_MAX:
        raise AnswerError(f"its clock is {format_age(-ahead)} behind ours")
    return _Frame(since, now, Duration(max(0, ahead)), Duration(max(0, behind)))


def _body(bodies: Mapping[ProbeQuestion, bytes], ask: ProbeQuestion) -> bytes:
    if ask not in bodies:
        raise AnswerError(f"it did not answer about {ask.value}")
    return bodies[ask]


def _between(low: Instant, at: Instant, high: Instant) -> Instant:
    return max(low, min(at, high))


def _runs(
    probe: PrometheusProbe,
    asked: Counters | Checks,
    frame: _Frame,
    bodies: Mapping[ProbeQuestion, bytes],
) -> _Found:
    doubts: list[str] = []
    match asked:
        case Counters():
            rows = _count(probe, asked, frame, bodies, doubts)
        case Checks():
            rows = _check(probe, asked, frame, bodies, doubts)
    if not rows:
        doubts.append("no series since the change began")
    elif len(rows) < probe.at_least:
        doubts.append(f"{len(rows)} of {probe.at_least} things that run were seen")
    runs = _together([row.runs for row in rows.values()], probe.wanted)
    seen = min((row.seen_at for row in rows.values()), default=frame.now)
    return _Found(doubts, Instant(seen - frame.ahead), runs=runs)


def _together(rows: Sequence[list[Run]], wanted: int) -> tuple[Run, ...]:
    """The last runs of all things as one row."""
    newest = [sorted(row, key=lambda run: (run.at, not run.clean), reverse=True) for row in rows]
    found: list[Run] = []
    for j in range(wanted):
        these = [row[j] for row in newest if j < len(row)]
        failed = any(not run.clean for run in these)
        if failed or (these and len(these) == len(newest)):
            found.append(Run(max(run.at for run in these), not failed))
    return tuple(reversed(found))


def _count(
    probe: PrometheusProbe,
    counters: Counters,
    frame: _Frame,
    bodies: Mapping[ProbeQuestion, bytes],
    doubts: list[str],
) -> dict[Thing, _Row]:
    """A row for everything that has a counter with a sample since the change."""
    sides: list[dict[Thing, list[MetricSeries]]] = []
    for ask in (ProbeQuestion.CLEAN, ProbeQuestion.FAILED):
        reading = read_past(_body(bodies, ask))
        _check_samples(reading, frame, doubts)
        sides.append(_things(probe.by, _alive(reading.series, frame.since)))
    clean, failed = sides
    known_from = Instant(counters_start(counters, frame.since, frame.now) + LEAD)
    rows: dict[Thing, _Row] = {}
    for thing in sorted(clean.keys() | failed.keys()):
        row = _Row([], frame.now)
        for side, name in ((clean, "clean"), (failed, "failed")):
            if thing not in side:
                doubts.append(f"no counter of {name} runs{_of(probe.by, thing)}")
                continue
            row.seen_at = min(row.seen_at, max(s.samples[-1].at for s in side[thing]))
        for series in failed.get(thing, ()):
            row.runs += _failed_runs(series, frame, known_from, probe.wanted)
        for series in clean.get(thing, ()):
            row.runs += _clean_runs(series, frame, probe.wanted)
        rows[thing] = row
    return rows


def _clean_runs(series: MetricSeries, frame: _Frame, most: int) -> list[Run]:
    """What a counter surely grew by behind the change; after a reset it begins anew."""
    begin = frame.since + frame.ahead
    return [
        Run(b.at, True)
        for a, b in pairwise(series.samples)
        if a.at >= begin
        for _ in range(min(most, max(0, math.floor(b.value) - math.floor(a.value))))
    ]


def _failed_runs(series: MetricSeries, frame: _Frame, known_from: Instant, most: int) -> list[Run]:
    """What a counter may have grown by behind the change; a new counter began at 0."""
    begin = frame.since - frame.behind
    first = series.samples[0]
    grown = [(first.at, first.value if first.at >= known_from else 0.0)]
    for a, b in pairwise(series.samples):
        grown.append((b.at, b.value - a.value if b.value >= a.value else b.value))
    return [
        Run(at, False)
        for at, more in grown
        if at >= begin
        for _ in range(min(most, math.ceil(more)))
    ]


def _check(
    probe: PrometheusProbe,
    checks: Checks,
    frame: _Frame,
    bodies: Mapping[ProbeQuestion, bytes],
    doubts: list[str],
) -> dict[Thing, _Row]:
    """A row for everything checked; a check without an answer ends the row before it."""
    steps = check_steps(checks, probe.wanted, frame.since, frame.now)
    if not steps:
        doubts.append(f"the first check is {format_duration(checks.after)} after the change")
        return {}
    reading = read_past(_body(bodies, ProbeQuestion.CHECKS))
    _check_samples(reading, frame, doubts)
    begin = frame.since + checks.after + frame.ahead
    rows: dict[Thing, _Row] = {}
    for thing, series in _things(probe.by, _alive(reading.series, frame.since)).items():
        looks: dict[Instant, bool] = {}
        for sample in (sample for each in series for sample in each.samples):
            if sample.value not in (0, 1):
                remedy = "compare with `< bool`, which answers 1 or 0"
                raise AnswerError(f"a check says {sample.value:g}, neither 1 nor 0; {remedy}")
            looks[sample.at] = looks.get(sample.at, True) and sample.value == 1
        last = max(looks)
        row = _Row([], last)
        while last in looks and last >= begin:
            row.runs.append(Run(last, looks[last]))
            last = Instant(last - checks.every)
        rows[thing] = row
    return rows


def _alive(series: Iterable[MetricSeries], since: Instant) -> list[MetricSeries]:
    """A series that ended before the change says nothing of it."""
    return [each for each in series if each.samples and each.samples[-1].at >= since]


def _things(by: tuple[str, ...], series: Iterable[MetricSeries]) -> dict[Thing, list[MetricSeries]]:
    found: dict[Thing, list[MetricSeries]] = {}
    for each in series:
        missing = [label for label in by if not each.labels.get(label)]
        if missing:
            raise AnswerError(f"a series has no label {missing[0]}: {shown(each.labels)}")
        found.setdefault(tuple(each.labels[label] for label in by), []).append(each)
    return found


def _of(by: tuple[str, ...], thing: Thing) -> str:
    pairs = ", ".join(f"{label}={value}" for label, value in zip(by, thing, strict=True))
    return f" of {shorten(pairs)}" if pairs else ""


def _check_samples(reading: QueryResult, frame: _Frame, doubts: list[str]) -> None:
    """Warnings are doubts; a sample from the future or below 0 makes the answer invalid."""
    doubts += [f"it warns: {shorten(warning)}" for warning in reading.warnings]
    for series in reading.series:
        for sample in series.samples:
            if sample.at > frame.now:
                raise AnswerError("it answers with samples from the future")
            if sample.value < 0:
                raise AnswerError(f"{sample.value:g} is neither a count nor a check")


def _alerts(asked: AlertRules, frame: _Frame, bodies: Mapping[ProbeQuestion, bytes]) -> _Found:
    """The firing alerts; that none fires counts only if the rules are healthy."""
    doubts: list[str] = []
    reading = read_now(_body(bodies, ProbeQuestion.ALERTS))
    rules, warnings = read_rules(_body(bodies, ProbeQuestion.RULES))
    doubts += [f"it warns: {shorten(text)}" for text in (*reading.warnings, *warnings)]
    seen_at = frame.now
    for name in asked.rules:
        mine = [rule for rule in rules if rule.name == name]
        if not mine:
            doubts.append(f"it has no alerting rule {shown(name)}")
        for rule in mine:
            if rule.health != "ok" or rule.evaluated_at is None:
                why = rule.trouble or rule.health or "it does not say how it is"
                doubts.append(f"the rule {shown(name)} is not well: {shorten(why)}")
            else:
                seen_at = min(seen_at, Instant(rule.evaluated_at - frame.ahead))
    return _Found(doubts, seen_at, alerts=_firing(reading.series, frame))


def _firing(series: Iterable[MetricSeries], frame: _Frame) -> tuple[Alert, ...]:
    began: dict[tuple[tuple[str, str], ...], Instant] = {}
    firing: list[MetricSeries] = []
    for each in series:
        if each.labels.get("__name__") == "ALERTS_FOR_STATE":
            for sample in each.samples:
                at = _latest(sample.value, frame)
                began[_who(each)] = max(at, began.get(_who(each), at))
        elif each.labels.get("alertstate") != "pending":
            firing.append(each)
    return tuple(
        Alert(each.labels.get("alertname", "an alert without a name"), began.get(_who(each)))
        for each in firing
    )


def _latest(seconds: float, frame: _Frame) -> Instant:
    """The latest moment at which an alert may have begun: Prometheus rounds down to seconds."""
    return Instant((math.floor(seconds) + 1) * SECOND - 1 + frame.behind)


def _who(series: MetricSeries) -> tuple[tuple[str, str], ...]:
    """The labels of an alert without those that name the metric."""
    rest = ((k, v) for k, v in series.labels.items() if k not in ("__name__", "alertstate"))
    return tuple(sorted(rest))
