"""When a subscriber may be promoted: in the minutes its crontab names, on the clock of its zone."""

from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from tidegate.model.cron.cron import Cron
from tidegate.model.cron.cron_text import CronError, parse_cron
from tidegate.model.cron.zone import fires_after
from tidegate.model.time import SECOND, Instant

MINUTE = 60 * SECOND
# The end of a window is searched minute by minute for a day; then it is asked again.
_MINUTES_MAX = 24 * 60
# Pipelines have a few dozen schedules, read again on every round.
_REMEMBERED_MAX = 1024


class Window(msgspec.Struct, frozen=True):
    """Whether a schedule is open, and the moment at which that may change; None: it never does."""

    is_open: bool
    until: Instant | None


class WindowError(ValueError):
    """A schedule or its time zone cannot be read; the text says why."""


@lru_cache(_REMEMBERED_MAX)
def window(schedule: str, zone: str, now: Instant) -> Window:
    """What a schedule says of a moment; WindowError if it cannot be read."""
    cron = _read(schedule, zone)
    if _is_always(cron):
        return Window(is_open=True, until=None)
    lasts = SECOND if cron.seconds is not None else MINUTE
    opened = fires_after(cron, zone, now - lasts)
    if opened is None or opened > now:
        return Window(is_open=False, until=opened)
    for _ in range(_MINUTES_MAX):
        again = fires_after(cron, zone, opened)
        if again is None or again > opened + lasts:
            break
        opened = again
    return Window(is_open=True, until=Instant(opened + lasts))


def _is_always(cron: Cron) -> bool:
    return (
        len(cron.minutes) == len(range(60))
        and len(cron.hours) == len(range(24))
        and cron.days.issuperset(range(1, 32))
        and cron.months.issuperset(range(1, 13))
        and cron.weekdays.issuperset(range(7))
        and not cron.counted
        and cron.nearest is None
        and cron.seconds is None
        and cron.years is None
    )


@lru_cache(_REMEMBERED_MAX)
def _read(schedule: str, zone: str) -> Cron:
    if not is_zone(zone):
        raise WindowError("there is no such time zone")
    try:
        return parse_cron(schedule)
    except CronError as error:
        raise WindowError(str(error)) from None


def is_zone(zone: str) -> bool:
    """Whether there is a time zone of that name; the empty one is UTC."""
    try:
        return not zone or bool(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
