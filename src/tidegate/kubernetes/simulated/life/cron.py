"""When a CronJob is due: the five fields of its schedule, in UTC.

Worked: `*/20 3-5 * * 1` is due on Mondays at 03:00, 03:20, …, 05:40. As in every cron, where both a
day of the month and a day of the week are named, one of them is enough.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import msgspec

from tidegate.model.time import SECOND, Instant

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_DAYS = "sun mon tue wed thu fri sat"
_NAMES: tuple[Mapping[str, int], ...] = (
    {},
    {},
    {},
    {name: number + 1 for number, name in enumerate(_MONTHS.split())},
    {name: number for number, name in enumerate(_DAYS.split())},
)
# The 29th of February comes again within eight years; what does not, never does.
_DAYS_MAX = 8 * 366


class Schedule(msgspec.Struct, frozen=True):
    """The minutes at which something is due."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    # A day of the month, or of the week, is enough.
    either: bool

    def after(self, now: Instant) -> Instant | None:
        """The first moment after one; None: there is none."""
        moment = _EPOCH + timedelta(seconds=now // SECOND)
        moment = moment.replace(second=0) + timedelta(minutes=1)
        for _ in range(_DAYS_MAX):
            if self._fits_day(moment):
                found = self._in_day(moment)
                if found is not None:
                    since = found - _EPOCH
                    return Instant((since.days * 86400 + since.seconds) * SECOND)
            moment = moment.replace(hour=0, minute=0) + timedelta(days=1)
        return None

    def _fits_day(self, moment: datetime) -> bool:
        if moment.month not in self.months:
            return False
        day = moment.day in self.days
        weekday = (moment.weekday() + 1) % 7 in self.weekdays
        return (day or weekday) if self.either else (day and weekday)

    def _in_day(self, start: datetime) -> datetime | None:
        for hour in sorted(self.hours):
            for minute in sorted(self.minutes):
                moment = start.replace(hour=hour, minute=minute)
                if moment >= start:
                    return moment
        return None


def parse_schedule(text: str) -> Schedule:
    """Read a schedule; ValueError says what is wrong with it."""
    fields = _MACROS.get(text.strip(), text).lower().split()
    if len(fields) != len(_RANGES):
        raise ValueError(f"{len(fields)} fields instead of five")
    minutes, hours, days, months, weekdays = map(_numbers, fields, _RANGES, _NAMES)
    # Sunday is 0 and 7.
    weekdays = frozenset(number % 7 for number in weekdays)
    either = not fields[2].startswith("*") and not fields[4].startswith("*")
    return Schedule(minutes, hours, days, months, weekdays, either)


def _numbers(field: str, bounds: tuple[int, int], names: Mapping[str, int]) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        if first in ("*", "?"):
            low, high = bounds
        else:
            low = _number(first, names)
            # `5/15` is from 5 on.
            high = _number(last, names) if dash else (bounds[1] if step else low)
        each = _number(step, {}) if step else 1
        if not bounds[0] <= low <= high <= bounds[1] or each < 1:
            raise ValueError(f'"{part}" is not between {bounds[0]} and {bounds[1]}')
        found.update(range(low, high + 1, each))
    return frozenset(found)


def _number(text: str, names: Mapping[str, int]) -> int:
    if text in names:
        return names[text]
    if not text.isdecimal():
        raise ValueError(f'"{text}" is no number')
    return int(text)
