"""A moment as people write it: a time, how long ago, or how long from now."""

import re

import click

from tidegate.model.time import SECOND, Duration, Instant, parse_duration, parse_instant

# Go's durations have no days, but journals span days.
_DAYS = re.compile(r"(\d+)d(.*)")
_DAY = 86_400 * SECOND


def moment(option: str, text: str, now: Instant) -> Instant:
    """A time in RFC 3339, or the moment that lies a duration back: "3d12h", "90m"."""
    return _moment(option, text, now, -1)


def ahead(option: str, text: str, now: Instant) -> Instant:
    """A time in RFC 3339 that is still to come, or the moment that lies a duration ahead."""
    found = _moment(option, text, now, 1)
    if found <= now:
        raise click.UsageError(f'{option} "{text}" is past; write one to come, like 2h or 3d')
    return Instant(found // SECOND * SECOND)  # whole seconds are enough


def point(option: str, text: str, now: Instant) -> Instant:
    """A time in RFC 3339, whenever that is, or the moment that lies a duration ahead."""
    return _moment(option, text, now, 1)


def duration(option: str, text: str | None) -> Duration | None:
    """How long something takes: 20m, 2h30m; None: it was left out."""
    if not text:
        return None
    try:
        return parse_duration(text)
    except ValueError as error:
        raise click.UsageError(f'{option} "{text}": {error}; like 20m') from None


def _moment(option: str, text: str, now: Instant, sign: int) -> Instant:
    try:
        return parse_instant(text)
    except ValueError:
        pass
    try:
        return Instant(now + sign * _duration(text))
    except ValueError:
        hint = "like 90m, 3d12h or 2026-01-31T12:00:00Z"
        what = f'{option} "{text}": neither a duration nor a time; {hint}'
        raise click.UsageError(what) from None


def _duration(text: str) -> int:
    days = _DAYS.fullmatch(text)
    if days is None:
        return parse_duration(text)
    rest = parse_duration(days[2]) if days[2] else 0
    return int(days[1]) * _DAY + rest
