"""A moment as options have it: a time, how long ago, or how long from now."""

import click

from tidegate.model.time import Duration, Instant, parse_ahead, parse_moment, parse_time_taken


def moment(option: str, text: str, now: Instant) -> Instant:
    """A time in RFC 3339, or the moment that lies a duration back: "3d12h", "90m"."""
    return _moment(option, text, now, -1)


def ahead(option: str, text: str, now: Instant) -> Instant:
    """A time in RFC 3339 that is still to come, or the moment that lies a duration ahead."""
    _moment(option, text, now, 1)
    try:
        return parse_ahead(text, now)
    except ValueError as error:
        raise click.UsageError(f'{option} "{text}" {error}') from None


def point(option: str, text: str, now: Instant) -> Instant:
    """A time in RFC 3339, whenever that is, or the moment that lies a duration ahead."""
    return _moment(option, text, now, 1)


def duration(option: str, text: str | None) -> Duration | None:
    """How long something takes: 20m, 2h30m; None: it was left out."""
    if not text:
        return None
    try:
        return parse_time_taken(text)
    except ValueError as error:
        raise click.UsageError(f'{option} "{text}": {error}; like 20m') from None


def _moment(option: str, text: str, now: Instant, sign: int) -> Instant:
    try:
        return parse_moment(text, now, sign)
    except ValueError as error:
        raise click.UsageError(f'{option} "{text}": {error}') from None
