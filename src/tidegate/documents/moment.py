"""A moment as people write it: a time, or how long from now or ago."""

import re

from tidegate.model.time import SECOND, Instant, parse_duration, parse_instant

# Go's durations have no days, but journals span days.
_DAYS = re.compile(r"(\d+)d(.*)")
_DAY = 86_400 * SECOND
REMEDY = "like 90m, 3d12h or 2026-01-31T12:00:00Z"


def parse_moment(text: str, now: Instant, sign: int) -> Instant:
    """A time in RFC 3339, or the moment that lies a duration ahead (1) or back (-1)."""
    try:
        return parse_instant(text)
    except ValueError:
        pass
    try:
        return Instant(now + sign * _duration(text))
    except ValueError:
        raise ValueError(f"neither a duration nor a time; {REMEDY}") from None


def parse_ahead(text: str, now: Instant) -> Instant:
    """A moment to come; ValueError if it is past."""
    found = parse_moment(text, now, 1)
    if found <= now:
        raise ValueError("is past; write one to come, like 2h or 3d")
    return Instant(found // SECOND * SECOND)  # whole seconds are enough


def _duration(text: str) -> int:
    days = _DAYS.fullmatch(text)
    if days is None:
        return parse_duration(text)
    rest = parse_duration(days[2]) if days[2] else 0
    return int(days[1]) * _DAY + rest
