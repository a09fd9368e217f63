"""When a schedule fires: in UTC, day of the month *and* day of the week.

`0 11 8-14 * 5` is the second Friday of a month at 11:00: unlike in classic cron both day fields
must agree. A schedule that fires on no day of the next fifty years (`0 0 31 2 *`) never does. The
grammar is in `cron_text.py`.
"""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import msgspec

from tidegate.model.time import SECOND, Instant

# The search gives up after so many years, which no leap day and no weekday outlasts.
YEARS_MAX = 50
LAST = 0
"""Stands for `L`: as a day of the month, and as the number of a weekday in its month."""

_MINUTE = timedelta(minutes=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Cron(msgspec.Struct, frozen=True, gc=False):
    """A schedule as sets of what it allows."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]  # LAST is the last day, whichever it is
    months: frozenset[int]
    weekdays: frozenset[int]  # Sunday is 0
    # Weekdays by their number in the month (LAST: the last); if there are any, weekdays is not read
    counted: frozenset[tuple[int, int]] = frozenset()
    nearest: int | None = None  # the weekday nearest to this day; if set, days is not read
    seconds: tuple[int, ...] | None = None  # None: whole minutes
    years: frozenset[int] | None = None  # None: every year
    drawn: bool = False  # written with R: the predecessor draws lots, we take the first
    whole: bool = False  # written with a range of one, `12-12`, which is the whole column


def next_after(cron: Cron, instant: int) -> Instant | None:
    """The first time the schedule fires strictly after an instant; None if it never does."""
    at = _EPOCH + timedelta(microseconds=instant // 1000)
    if at.year == date.max.year:
        return None
    at = at.replace(microsecond=0) + timedelta(seconds=1)
    if cron.seconds is None and at.second:
        at = at.replace(second=0) + _MINUTE
    clock = (at.hour, at.minute, at.second)
    for day in _days_from(cron, at.date()):
        found = _clock_from(cron, clock if day == at.date() else (0, 0, 0))
        if found is not None:
            fires = datetime(day.year, day.month, day.day, *found, tzinfo=UTC)
            return Instant(int(fires.timestamp()) * SECOND)
    return None


def _days_from(cron: Cron, first: date) -> Iterator[date]:
    for year in range(first.year, min(first.year + YEARS_MAX, date.max.year - 1) + 1):
        if cron.years is not None and year not in cron.years:
            continue
        for month in sorted(cron.months):
            if (year, month) >= (first.year, first.month):
                for number in _days_of(cron, year, month):
                    if (day := date(year, month, number)) >= first:
                        yield day


def _days_of(cron: Cron, year: int, month: int) -> list[int]:
    """The days of a month on which the schedule fires, in order."""
    begins = date(year, month, 1)
    after = date(year + month // 12, month % 12 + 1, 1)
    last = (after - begins).days
    sunday_based = begins.isoweekday() % 7
    if cron.nearest is None:
        days = {day for day in range(1, last + 1) if day in cron.days}
        days |= {last} if LAST in cron.days else set()
    else:
        days = {_nearest(begins, last, min(cron.nearest, last))}
    return sorted(day for day in days if _on_weekday(cron, (sunday_based + day - 1) % 7, day, last))


def _on_weekday(cron: Cron, weekday: int, day: int, last: int) -> bool:
    if not cron.counted:
        return weekday in cron.weekdays
    is_last = day + 7 > last and (weekday, LAST) in cron.counted
    return is_last or (weekday, (day + 6) // 7) in cron.counted


def _nearest(begins: date, last: int, day: int) -> int:
    """The day from Monday to Friday nearest to a day, without leaving the month."""
    weekday = (begins.weekday() + day - 1) % 7
    if weekday == 5:
        return day - 1 if day > 1 else day + 2
    if weekday == 6:
        return day + 1 if day < last else day - 2
    return day


def _clock_from(cron: Cron, clock: tuple[int, int, int]) -> tuple[int, int, int] | None:
    """The first time of day at or after another; None if it is over for this day."""
    hour, minute, second = clock
    seconds = cron.seconds or (0,)
    first = (cron.minutes[0], seconds[0])
    for each in cron.hours[bisect_left(cron.hours, hour) :]:
        if each > hour:
            return each, *first
        for one in cron.minutes[bisect_left(cron.minutes, minute) :]:
            if one > minute:
                return each, one, seconds[0]
            at = bisect_left(seconds, second)
            if at < len(seconds):
                return each, one, seconds[at]
    return None
