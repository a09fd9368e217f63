"""Calendar files (RFC 5545): every event is a time in which the freeze is on.

Repetitions, exceptions to them and moved ones count as in any calendar; a cancelled event does not.
A time without a zone, and a whole day, are in the zone that the freeze names.
"""

from collections.abc import Iterable
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from tidegate.documents.recurrence import RecurringSeries

# A longer file is not a calendar of freezes.
LENGTH_MAX = 5_000_000
EVENTS_MAX = 5_000


def read_calendar(text: str, zone: tzinfo | None) -> list[RecurringSeries]:
    """The events of a calendar file; ValueError says what is wrong with it.

    `zone` is for times that name none; None: there must be no such time.
    """
    from icalendar import Calendar

    if len(text) > LENGTH_MAX:
        raise ValueError(f"longer than {LENGTH_MAX} characters")
    try:
        calendar = Calendar.from_ical(text)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"not a calendar: {error}") from None
    every = list(calendar.walk("VEVENT"))
    _check(every)
    events = [event for event in every if event.get("STATUS") != "CANCELLED"]
    moved = _moved(every, zone)
    return [_series(event, zone, moved.get(str(event.get("UID")), frozenset())) for event in events]


def _check(events: list[Any]) -> None:
    """Raise for a line that the library skips: a freeze without one of its lines is wrong."""
    if not events:
        raise ValueError("no event in it")
    if len(events) > EVENTS_MAX:
        raise ValueError(f"more than {EVENTS_MAX} events")
    for event in events:
        for line, wrong in event.errors:
            raise ValueError(f"{_called(event)}: {line}: {wrong}")


def _moved(events: Iterable[Any], zone: tzinfo | None) -> dict[str, frozenset[datetime]]:
    """Repetitions of an event that are events of their own, by the uid of the event."""
    found: dict[str, set[datetime]] = {}
    for event in events:
        which = event.get("RECURRENCE-ID")
        if which is None:
            continue
        if "RANGE" in which.params:
            raise ValueError("RECURRENCE-ID with RANGE is not read; write the events apart")
        found.setdefault(str(event.get("UID")), set()).add(_wall(which.dt, zone)[0])
    return {uid: frozenset(moments) for uid, moments in found.items()}


def _series(event: Any, zone: tzinfo | None, moved: frozenset[datetime]) -> RecurringSeries:
    start = _value(event, "DTSTART")
    if start is None:
        raise ValueError(f"{_called(event)} has no start")
    first, its_zone = _wall(start, zone)
    length = _length(event, start, first, its_zone)
    if length <= timedelta(0):
        raise ValueError(f"{_called(event)} has no length; give it an end")
    if event.get("RECURRENCE-ID") is not None:
        return RecurringSeries(first, length, its_zone)
    rules = _listed(event.get("RRULE"))
    if len(rules) > 1:
        raise ValueError(f"{_called(event)} has more than one RRULE; write the events apart")
    rule = rules[0].to_ical().decode() if rules else None
    also = tuple(_wall(one, its_zone)[0] for one in _dates(event, "RDATE"))
    dropped = frozenset(
        moment for one in _dates(event, "EXDATE") for moment in _exactly(one, first, its_zone)
    )
    return RecurringSeries(first, length, its_zone, rule, also, dropped | moved)


def _value(event: Any, name: str) -> date | None:
    prop = event.get(name)
    found = getattr(prop, "dt", None)
    return found if isinstance(found, date) else None


def _length(event: Any, start: date, first: datetime, zone: tzinfo) -> timedelta:
    """How long it lasts on the wall clock; a whole day by default."""
    end = _value(event, "DTEND")
    if end is not None:
        return _in_zone(end, zone) - first
    lasts = getattr(event.get("DURATION"), "dt", None)
    if isinstance(lasts, timedelta):
        return lasts
    return timedelta(0) if isinstance(start, datetime) else timedelta(days=1)


def _wall(moment: object, zone: tzinfo | None) -> tuple[datetime, tzinfo]:
    """A time on the wall clock of its own zone, or of the one given."""
    own = moment.tzinfo if isinstance(moment, datetime) else None
    its_zone = own or zone
    if its_zone is None:
        raise ValueError("a time without a zone; name one with timeZone")
    return _in_zone(moment, its_zone), its_zone


def _in_zone(moment: object, zone: tzinfo) -> datetime:
    if isinstance(moment, datetime):
        if moment.tzinfo is not None:
            moment = moment.astimezone(zone)
        return moment.replace(tzinfo=None)
    if isinstance(moment, date):
        return datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001
    raise ValueError(f"{moment} is not a time; periods are not read")


def _exactly(moment: object, first: datetime, zone: tzinfo) -> list[datetime]:
    """The repetition that an exception names; a whole day names the one that begins on it."""
    found = _in_zone(moment, zone)
    if isinstance(moment, datetime):
        return [found]
    return [found, datetime.combine(found.date(), first.time())]


def _dates(event: Any, name: str) -> list[object]:
    return [one.dt for prop in _listed(event.get(name)) for one in prop.dts]


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _called(event: Any) -> str:
    return f'event "{event.get("SUMMARY") or event.get("UID") or "without a name"}"'
