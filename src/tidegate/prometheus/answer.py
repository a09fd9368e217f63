"""Answers of a Prometheus, typed where they enter; everything uncertain is a doubt.

A value that is not a number (NaN, ±Inf) counts as a missing sample. A warning means that a part of
the answer may be missing. An answer of another shape than the request calls for is an error.
"""

import math
from itertools import pairwise
from typing import TypeVar

import msgspec

from tidegate.model.errors import OutsideError
from tidegate.model.json_text import decode_json
from tidegate.model.problem import shorten, shown
from tidegate.model.time import MILLISECOND, Instant, parse_instant

# Beyond year 9999 a time is a mistake, and would not fit a calendar.
_SECONDS_MAX = 253_402_300_799
T = TypeVar("T")


class AnswerError(OutsideError):
    """An answer that is not evidence."""


class Sample(msgspec.Struct, frozen=True, gc=False):
    """A number at a moment."""

    at: Instant
    value: float


class MetricSeries(msgspec.Struct, frozen=True):
    """The samples of one set of labels, oldest first; what is not a number is left out."""

    labels: dict[str, str]
    samples: tuple[Sample, ...]


class QueryResult(msgspec.Struct, frozen=True):
    """The series of an answer, and its warnings."""

    series: tuple[MetricSeries, ...] = ()
    warnings: tuple[str, ...] = ()


class AlertingRule(msgspec.Struct, frozen=True):
    """An alerting rule, its health, and when it was last evaluated."""

    name: str
    health: str = ""
    # None: it does not say.
    evaluated_at: Instant | None = None
    trouble: str = ""


class _Answer(msgspec.Struct):
    status: str
    data: msgspec.Raw = msgspec.Raw(b"null")
    errorType: str = ""  # noqa: N815 - its name in the answer
    error: str = ""
    warnings: list[str] = []


_Point = tuple[float, str]


class _One(msgspec.Struct, kw_only=True):
    metric: dict[str, str]
    value: _Point


class _Many(msgspec.Struct, kw_only=True):
    metric: dict[str, str]
    values: list[_Point]


class _Result(msgspec.Struct):
    resultType: str  # noqa: N815 - its name in the answer
    result: msgspec.Raw


class _Rule(msgspec.Struct):
    name: str
    health: str = ""
    lastError: str = ""  # noqa: N815 - its name in the answer
    lastEvaluation: str = ""  # noqa: N815 - its name in the answer
    type: str = "alerting"


class _Group(msgspec.Struct):
    rules: list[_Rule]


class _Groups(msgspec.Struct):
    groups: list[_Group]


def refusal(body: bytes) -> str:
    """The reason that a Prometheus gives for an error; empty if there is none."""
    try:
        answer = decode_json(body, _Answer)
    except msgspec.DecodeError:
        return ""
    return shorten(f"{answer.errorType}: {answer.error}") if answer.error else ""


def read_clock(body: bytes) -> Instant:
    """The clock of the server: the answer to `time()`."""
    _, (seconds, text) = _result(body, "scalar", tuple[float, str])
    return _sample((seconds, text)).at


def read_now(body: bytes) -> QueryResult:
    """An answer about one moment."""
    warnings, found = _result(body, "vector", list[_One])
    series = tuple(MetricSeries(one.metric, _samples([one.value])) for one in found)
    return QueryResult(series, warnings)


def read_past(body: bytes) -> QueryResult:
    """An answer about a stretch of time."""
    warnings, found = _result(body, "matrix", list[_Many])
    return QueryResult(
        tuple(MetricSeries(many.metric, _samples(many.values)) for many in found), warnings
    )


def read_rules(body: bytes) -> tuple[list[AlertingRule], tuple[str, ...]]:
    """The alerting rules it has, and its warnings."""
    warnings, raw = _data(body)
    found = _decode(raw, _Groups)
    return [
        AlertingRule(rule.name, rule.health, _evaluated_at(rule.lastEvaluation), rule.lastError)
        for group in found.groups
        for rule in group.rules
        if rule.type == "alerting"
    ], warnings


def _data(body: bytes) -> tuple[tuple[str, ...], msgspec.Raw]:
    answer = _decode(msgspec.Raw(body), _Answer)
    if answer.status != "success":
        reason = shorten(f"{answer.errorType}: {answer.error}") if answer.error else answer.status
        raise AnswerError(f"it refuses: {reason}")
    return tuple(answer.warnings), answer.data


def _result(body: bytes, wanted: str, kind: type[T]) -> tuple[tuple[str, ...], T]:
    warnings, raw = _data(body)
    found = _decode(raw, _Result)
    if found.resultType != wanted:
        raise AnswerError(f"it answers with a {shorten(found.resultType)}, not with a {wanted}")
    return warnings, _decode(found.result, kind)


def _decode(raw: msgspec.Raw, kind: type[T]) -> T:
    try:
        return decode_json(raw, kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AnswerError(f"its answer cannot be read: {shorten(str(error))}") from None


def _samples(points: list[_Point]) -> tuple[Sample, ...]:
    found = [_sample(point) for point in points]
    if any(b.at <= a.at for a, b in pairwise(found)):
        raise AnswerError("its samples are out of order")
    return tuple(sample for sample in found if math.isfinite(sample.value))


def _sample(point: _Point) -> Sample:
    seconds, text = point
    if not 0 <= seconds <= _SECONDS_MAX:
        raise AnswerError(f"{seconds} is not a time")
    try:
        value = float(text)
    except ValueError:
        raise AnswerError(f"{shown(text)} is not a number") from None
    return Sample(Instant(round(seconds * 1000) * MILLISECOND), value)


def _evaluated_at(text: str) -> Instant | None:
    try:
        return parse_instant(text)
    except ValueError:
        return None
