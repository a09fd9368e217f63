"""Instants and durations are whole nanoseconds, as types of their own.

Nanoseconds, because the systems we speak with count in them and because integers add without
rounding: `soak_end = since + soak` is exact, at any date. An instant is UTC, counted from 1970.

Durations are written the way Go writes them (`90s`, `1h30m`, `1.5h`, `300ms`), since that is what
people already have in their Placement and Policy documents.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NewType

Instant = NewType("Instant", int)
Duration = NewType("Duration", int)

SECOND = 1_000_000_000
MILLISECOND = 1_000_000
_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, the micro sign
    "μs": 1_000,  # U+03BC, the Greek letter; Go takes both
    "ms": MILLISECOND,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
# Go keeps a duration in a signed 64-bit integer; what does not fit is refused there and so here.
DURATION_MAX = Duration(2**63 - 1)
# Of a number in 64 bits; Python refuses to read one of more than 4,300.
DIGITS_MAX = 19
_TOO_LONG = "longer than 292 years"

_PART = re.compile(r"([0-9]*)(?:(\.)([0-9]*))?([^0-9.]*)")
_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d)(:\d\d(?:\.(\d{1,9})\d*)?)?([Zz]|[+-]\d\d:\d\d)",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Go's durations have no days, but journals span days.
_DAYS = re.compile(r"(\d+)d(.*)")
_DAY = 86_400 * SECOND


def parse_duration(text: str) -> Duration:
    """Read a duration in Go's syntax; ValueError says what is wrong with it.

    Worked numbers: "1h30m" is 5400 s; "1.5h" is the same; "0" needs no unit, "5" does.
    """
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return Duration(0)
    if not rest:
        raise ValueError("an empty duration")
    total = 0
    while rest:
        match = _PART.match(rest)
        if match is None or not (match[1] or match[3]):
            raise ValueError("not a duration")
        whole, _, fraction, unit = match.groups()
        if unit not in _UNITS:
            raise ValueError(f'unknown unit "{unit}"' if unit else "a number without a unit")
        total += _nanoseconds(whole, fraction or "", _UNITS[unit])
        if total > DURATION_MAX + (text[0] == "-"):
            raise ValueError(_TOO_LONG)
        rest = rest[match.end() :]
    return Duration(-total if text[0] == "-" else total)


def parse_time_taken(text: str) -> Duration:
    """Read how long something takes; ValueError says what is wrong with it."""
    if (found := parse_duration(text)) < 0:
        raise ValueError("is negative")
    return found


def _nanoseconds(whole: str, fraction: str, unit: int) -> int:
    """`whole.fraction` units. The fraction goes through a double as in Go: 0.3…3h is 20 minutes."""
    # Digits beyond 64 bits are dropped, as in Go.
    digits = fraction[:19] if int(fraction[:19] or 0) < 2**63 else fraction[:18]
    part = int(int(digits) * (unit / 10 ** len(digits))) if digits else 0
    if len(whole.lstrip("0")) > DIGITS_MAX:
        raise ValueError(_TOO_LONG)
    return int(whole or "0") * unit + part


def format_duration(duration: int) -> str:
    """A duration in Go's syntax without idle zeros: 5400 s is "1h30m"."""
    if duration < 0:
        return "-" + format_duration(-duration)
    seconds, below = divmod(duration, SECOND)
    hours, seconds = divmod(seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    text = f"{hours}h" if hours else ""
    text += f"{minutes}m" if minutes else ""
    if below:
        digits = f"{below:09d}".rstrip("0")
        return f"{text}{seconds}.{digits}s"
    return text + f"{seconds}s" if seconds or not text else text


def format_age(duration: int) -> str:
    """A duration for people, its two largest units: "3d4h", "1h30m", "45s"."""
    seconds = max(0, duration) // SECOND
    steps = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
    parts: list[str] = []
    for size, unit in steps:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
        elif parts:
            break
    return "".join(parts[:2]) or ("0s" if duration <= 0 else "<1s")


@lru_cache(maxsize=4096)
def parse_instant(text: str) -> Instant:
    """Read an RFC 3339 time; seconds may be left out. ValueError says what is wrong with it."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError("not an RFC 3339 time")
    day, clock, seconds, fraction, zone = match.groups()
    zone = "+00:00" if zone in "Zz" else zone
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{(seconds or ':00')[:3]}{zone}")
    except ValueError as error:
        raise ValueError(f"not a time: {error}") from None
    since = moment - _EPOCH
    below = int(fraction.ljust(9, "0")) if fraction else 0
    return Instant((since.days * 86400 + since.seconds) * SECOND + below)


def format_instant(instant: int) -> str:
    """An instant as RFC 3339 in UTC; fractions only where there are any."""
    seconds, below = divmod(instant, SECOND)
    text = _format_seconds(seconds)
    return f"{text}.{below:09d}".rstrip("0") + "Z" if below else text + "Z"


@lru_cache(maxsize=4096)
def _format_seconds(seconds: int) -> str:
    """Whole seconds since 1970: answers name the same few again and again."""
    # Years outside 1–9999 have no RFC 3339 form; the nearest end of the calendar is shown.
    seconds = min(max(seconds, -62_135_596_800), 253_402_300_799)
    return (_EPOCH + timedelta(seconds=seconds)).isoformat()[:19]


def in_seconds(seconds: float) -> Duration:
    """A duration from seconds, to the millisecond."""
    return Duration(round(seconds * 1000) * MILLISECOND)


def format_second(instant: int) -> str:
    """An instant as people read it: to the second."""
    return format_instant(instant // SECOND * SECOND)


def after(instant: Instant, duration: Duration) -> Instant:
    """The instant that lies a duration later."""
    return Instant(instant + duration)


def parse_moment(text: str, now: Instant, sign: int) -> Instant:
    """A time in RFC 3339, or the moment that lies a duration ahead (1) or back (-1)."""
    try:
        return parse_instant(text)
    except ValueError:
        pass
    try:
        return Instant(now + sign * _with_days(text))
    except ValueError:
        hint = "like 90m, 3d12h or 2026-01-31T12:00:00Z"
        raise ValueError(f"neither a duration nor a time; {hint}") from None


def parse_ahead(text: str, now: Instant) -> Instant:
    """A moment to come; ValueError if it is past."""
    found = parse_moment(text, now, 1)
    if found <= now:
        raise ValueError("is past; write one to come, like 2h or 3d")
    return Instant(found // SECOND * SECOND)  # whole seconds are enough


def _with_days(text: str) -> int:
    days = _DAYS.fullmatch(text)
    if days is None:
        return parse_duration(text)
    rest = parse_duration(days[2]) if days[2] else 0
    total = _nanoseconds(days[1], "", _DAY) + rest
    if total > DURATION_MAX:
        raise ValueError(_TOO_LONG)
    return total
