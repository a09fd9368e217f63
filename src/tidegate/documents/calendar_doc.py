"""When a freeze is on, as people write it: from–to, a rule, or a calendar file, in a time zone.

Everything is converted here to spans of UTC, from now up to a horizon; the rules know nothing of
time zones, summer time or calendars.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, available_timezones

import msgspec

from tidegate.documents.ics import read_calendar
from tidegate.documents.reader import Reader
from tidegate.documents.recurrence import RecurringSeries, expand, parse_rule, readings, wall_clock
from tidegate.gates.freeze import Span, joined
from tidegate.model.problem import nearest, shorten, shown
from tidegate.model.time import SECOND, Duration, Instant, parse_instant

# How far ahead calendars are worked out: a year and a month, so that what comes every year is seen.
HORIZON = Duration(400 * 24 * 3600 * SECOND)
TIME_REMEDY = 'write "2026-12-20T18:00" with a timeZone, or "2026-12-20T18:00:00Z"'
RULE_REMEDY = 'write a rule like "FREQ=WEEKLY;BYDAY=FR"'
_LOCAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?", re.ASCII)

# How a document's other files are read, by name; None: there are none to be had.
Files = Callable[[str], str]


class CalendarRange(msgspec.Struct, frozen=True):
    """What is read of a calendar: from now to how far ahead."""

    begin: Instant
    end: Instant


class Calendar(msgspec.Struct, frozen=True):
    """The spans of a calendar, and up to when they are known."""

    spans: tuple[Span, ...] = ()
    # None: there is nothing behind them.
    known_until: Instant | None = None


def stretch_from(now: Instant, lasting: Duration | None = None) -> CalendarRange:
    """From a moment on to the horizon beyond the simulated time."""
    return CalendarRange(now, Instant(now + (lasting or 0) + HORIZON))


def read_calendar_of(reader: Reader, stretch: CalendarRange, files: Files | None) -> Calendar:
    """The spans a freeze is on."""
    written = [name for name in _FIELDS if reader.has(name)]
    zone = _zone(reader)
    readable = _rule_is_readable(reader)
    if (reader.has("timeZone") and zone is None) or not readable:
        return Calendar()
    if set(written) & {"ics", "icsFile"}:
        if len(written) > 1:
            beside = f"{', '.join(written)} cannot be combined"
            reader.problems.add(reader.path, beside, "write from and to, or one calendar")
            return Calendar()
        return _expand(reader, written[0], _events(reader, written[0], zone, files), stretch)
    if "rrule" in written:
        return _expand(reader, "rrule", _repeated(reader, zone), stretch)
    return Calendar(_once(reader, zone))


def _rule_is_readable(reader: Reader) -> bool:
    rule = reader.text("rrule")
    try:
        return rule is None or bool(parse_rule(rule))
    except ValueError as error:
        reader.problems.add(reader.at("rrule"), f"{shown(rule)}: {error}", RULE_REMEDY)
        return False


_FIELDS = ("from", "to", "rrule", "ics", "icsFile")


def _expand(
    reader: Reader, field: str, found: list[RecurringSeries], stretch: CalendarRange
) -> Calendar:
    spans: list[Span] = []
    goes_on = False
    for series in found:
        try:
            some, more = expand(series, stretch.begin, stretch.end)
        except (ValueError, OverflowError) as error:
            wrong = f"{shown(series.rule)}: {error}" if series.rule else str(error)
            reader.problems.add(reader.at(field), wrong, RULE_REMEDY)
            continue
        spans += some
        goes_on = goes_on or more
    if not goes_on:
        return Calendar(joined(spans))
    cut = (Span(span.start, min(span.end, stretch.end)) for span in spans)
    return Calendar(joined(cut), stretch.end)


def _zone(reader: Reader) -> tzinfo | None:
    name = reader.text("timeZone")
    if name is None:
        return None
    try:
        return UTC if name in ("UTC", "Z") else ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        hint = nearest(name, available_timezones()) or 'write one like "Europe/Berlin"'
        reader.problems.add(reader.at("timeZone"), f"no time zone {shown(name)}", hint)
        return None


def _events(
    reader: Reader, field: str, zone: tzinfo | None, files: Files | None
) -> list[RecurringSeries]:
    text = reader.text("ics") if field == "ics" else _file(reader, files)
    if text is None:
        return []
    try:
        return read_calendar(text, zone)
    except (ValueError, OverflowError) as error:
        wrong = shorten(" ".join(str(error).split()))
        reader.problems.add(reader.at(field), wrong, "write an iCalendar text (RFC 5545)")
        return []


def _file(reader: Reader, files: Files | None) -> str | None:
    name = reader.text("icsFile")
    if name is None:
        return None
    wrong, remedy = "no files are read here", "write its text as ics"
    if files is not None:
        try:
            return files(name)
        except (OSError, ValueError) as error:
            wrong = f"{shown(name)}: {getattr(error, 'strerror', None) or error}"
            remedy = "name a calendar file, seen from this document"
    reader.problems.add(reader.at("icsFile"), wrong, remedy)
    return None


def _repeated(reader: Reader, zone: tzinfo | None) -> list[RecurringSeries]:
    """A rule needs a wall clock: an offset is not a time zone, Z is one."""
    times = {name: reader.raw(name) for name in ("from", "to")}
    offset = any(isinstance(time, str) and time[-1:] not in ("Z", "z") for time in times.values())
    if zone is None and offset:
        remedy = 'a rule needs one: write "Europe/Berlin" or the like'
        reader.problems.add(reader.at("timeZone"), "missing", remedy)
        return []
    first, last = (_wall_time(reader, name, zone or UTC) for name in times)
    rule = reader.text("rrule")
    if first is None or last is None or rule is None:
        return []
    if last <= first:
        reader.problems.add(reader.at("to"), "not after from", "write when the freeze ends")
        return []
    return [RecurringSeries(first, last - first, zone or UTC, rule)]


def _once(reader: Reader, zone: tzinfo | None) -> tuple[Span, ...]:
    """One span. A wall-clock time that comes twice makes it the longer one."""
    starts, ends = (_moments(reader, name, zone) for name in ("from", "to"))
    if not starts or not ends:
        return ()
    if max(ends) <= min(starts):
        reader.problems.add(reader.at("to"), "not after from", "write when the freeze ends")
    return joined((Span(min(starts), max(ends)),))


def _moments(reader: Reader, name: str, zone: tzinfo | None) -> tuple[Instant, ...]:
    """A time with an offset is one instant; one on a wall clock may be two instants, or none."""
    value = reader.raw(name)
    if isinstance(value, str) and not _LOCAL.fullmatch(value):
        instant = reader.instant(name)
        return () if instant is None else (instant,)
    wall = _wall_time(reader, name, zone)
    return () if wall is None or zone is None else readings(wall, zone)


def _wall_time(reader: Reader, name: str, zone: tzinfo | None) -> datetime | None:
    value = reader.raw(name)
    if value is None:
        reader.problems.add(reader.at(name), "missing", TIME_REMEDY)
        return None
    text = value if isinstance(value, str) else ""
    wrong = "no time zone"
    try:
        if not _LOCAL.fullmatch(text):
            return wall_clock(parse_instant(text), zone or UTC)
        if zone is not None:
            return datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        wrong = str(error)
    reader.problems.add(reader.at(name), f"{shown(value)}: {wrong}", TIME_REMEDY)
    return None
