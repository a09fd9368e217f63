"""Recurrence rules (RFC 5545) as concrete spans of time in UTC, up to a horizon.

A rule is computed on the wall clock of its time zone, and each of its times is then converted to
UTC. Where the wall clock jumps, a span is taken as long as it can be read: it begins
at the earlier of two readings and ends at the later. Worked example, Europe/Berlin, "every Saturday
22:00 to Sunday 02:30": on the night summer time begins there is no 02:30, and the span lasts until
03:30 summer time; on the night it ends there are two, and the later one counts.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo

import msgspec

from tidegate.gates.freeze import Span
from tidegate.model.time import SECOND, Instant

# More spans than this are a mistake; the message names the limit.
OCCURRENCES_MAX = 20_000
# The calendar repeats itself to the weekday after so many years.
CYCLE_YEARS = 400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _numbers(pattern: str) -> str:
    return rf"{pattern}(,{pattern})*"


_WEEKDAY = "(MO|TU|WE|TH|FR|SA|SU)"
_PARTS = {
    "FREQ": r"DAILY|WEEKLY|MONTHLY|YEARLY",
    "INTERVAL": r"[1-9]\d{0,3}",
    "COUNT": r"[1-9]\d{0,4}",
    "UNTIL": r"\d{8}(T\d{6}Z?)?",
    "WKST": _WEEKDAY,
    "BYMONTH": _numbers(r"(1[0-2]|0?[1-9])"),
    "BYMONTHDAY": _numbers(r"[+-]?(3[01]|[12]\d|0?[1-9])"),
    "BYYEARDAY": _numbers(r"[+-]?(36[0-6]|3[0-5]\d|[12]\d\d|0?[1-9]\d|0{0,2}[1-9])"),
    "BYWEEKNO": _numbers(r"[+-]?(5[0-3]|[1-4]\d|0?[1-9])"),
    "BYSETPOS": _numbers(r"[+-]?[1-9]\d{0,2}"),
    "BYDAY": _numbers(rf"([+-]?[1-9]\d?)?{_WEEKDAY}"),
    "BYHOUR": _numbers(r"(2[0-3]|1\d|0?\d)"),
    "BYMINUTE": _numbers(r"[0-5]?\d"),
    "BYSECOND": _numbers(r"[0-5]?\d"),
}
_FORMS = {name: re.compile(form, re.ASCII) for name, form in _PARTS.items()}


class RecurringSeries(msgspec.Struct, frozen=True):
    """A span of wall-clock time and how it repeats."""

    first: datetime  # on the wall clock: without a time zone
    length: timedelta
    zone: tzinfo
    # None: it does not repeat.
    rule: str | None = None
    also: tuple[datetime, ...] = ()
    without: frozenset[datetime] = frozenset()


def expand(series: RecurringSeries, begin: Instant, end: Instant) -> tuple[list[Span], bool]:
    """The spans that lie in a stretch of time, and whether there are any behind it.

    ValueError says what is wrong with the rule.
    """
    # A day more on either side, for any offset of the zone.
    day = timedelta(days=1)
    first, last = wall_clock(begin, series.zone), wall_clock(end, series.zone) + day
    starts, goes_on = [*series.also], False
    repeats = iter((series.first,)) if series.rule is None else _starts(series, last)
    for start in repeats:
        goes_on = start > last
        if goes_on:
            break
        if first - start <= series.length + day:
            starts.append(start)
        if len(starts) > OCCURRENCES_MAX:
            raise ValueError(f"more than {OCCURRENCES_MAX} times")
    spans = [span_of(start, series) for start in sorted(set(starts) - series.without)]
    later = any(span.start >= end for span in spans)
    return [span for span in spans if span.end > begin and span.start < end], goes_on or later


def span_of(start: datetime, series: RecurringSeries) -> Span:
    """One repetition in UTC."""
    return Span(
        min(readings(start, series.zone)), max(readings(start + series.length, series.zone))
    )


def readings(moment: datetime, zone: tzinfo) -> tuple[Instant, Instant]:
    """Both readings of a wall-clock time; they differ only where the clock is set."""
    first, second = (moment.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    return instant_of(first), instant_of(second)


def instant_of(moment: datetime) -> Instant:
    """The instant of a time with a time zone."""
    since = moment.astimezone(UTC) - _EPOCH
    return Instant((since.days * 86400 + since.seconds) * SECOND + since.microseconds * 1000)


def wall_clock(instant: Instant, zone: tzinfo) -> datetime:
    """What the clock on the wall shows at an instant, to the second."""
    moment = _EPOCH + timedelta(seconds=instant // SECOND)
    return moment.astimezone(zone).replace(tzinfo=None)


def _starts(series: RecurringSeries, last: datetime) -> Iterator[datetime]:
    """When the rule says it begins, in order.

    The library looks for the next time up to the year 9999, which takes long where there is none.
    So the rule is worked out in the last cycle of the calendar before that, and moved back.
    """
    from dateutil.rrule import rrulestr

    parts = parse_rule(series.rule or "")
    until = _until(parts.pop("UNTIL", None), series.zone)
    room = last.year - series.first.year + 2
    years = (9999 - room - series.first.year) // CYCLE_YEARS * CYCLE_YEARS
    text = ";".join(f"{name}={value}" for name, value in parts.items())
    rule = rrulestr(text, dtstart=series.first.replace(year=series.first.year + years))
    for moved in rule:
        start = moved.replace(year=moved.year - years)
        if until is not None and start > until:
            return
        yield start


def parse_rule(text: str) -> dict[str, str]:
    """The parts of a rule; ValueError says what is wrong with it."""
    parts: dict[str, str] = {}
    for part in text.removeprefix("RRULE:").rstrip(";").split(";"):
        name, _, value = part.upper().partition("=")
        if name not in _FORMS:
            raise ValueError(f'unknown part "{name}"')
        if name in parts:
            raise ValueError(f"{name} appears twice")
        if not _FORMS[name].fullmatch(value):
            raise ValueError(f'{name} cannot be "{value}"')
        parts[name] = value
    if "FREQ" not in parts:
        raise ValueError("FREQ is missing")
    return parts


def _until(text: str | None, zone: tzinfo) -> datetime | None:
    """The last moment a repetition may begin at, on the wall clock; a day counts to its end."""
    if text is None:
        return None
    try:
        if len(text) == len("20260101"):
            return datetime.strptime(text + "235959", "%Y%m%d%H%M%S")  # noqa: DTZ007
        moment = datetime.strptime(text.removesuffix("Z"), "%Y%m%dT%H%M%S")  # noqa: DTZ007
    except ValueError:
        raise ValueError(f'UNTIL cannot be "{text}"') from None
    if text.endswith("Z"):
        return moment.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)
    return moment
