"""The note beside a pinned image: its author, expiry and reason, in words a program reads too.

    imageRef: f929a38  # tidegate: pinned by ann until 2026-12-01: the fix for 42 is not out yet

The schema of the existing system has no field for it and refuses unknown ones, so it is a comment.
A day means the whole of it, in UTC.
"""

import re

import msgspec

from tidegate.model.time import SECOND, Instant, parse_instant

MARK = "tidegate:"
FORM = f"# {MARK} pinned by NAME until 2026-12-01: REASON"
_DAY_S = 86_400
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TEXT = re.compile(r"pinned by (?P<by>[^:]+?)(?: until (?P<until>\S+))?: (?P<reason>.+)")


class PinNote(msgspec.Struct, frozen=True, kw_only=True):
    """Who pinned a shard, until when and why."""

    by: str
    reason: str
    # A day or a time, as it is written; empty: until it is unpinned.
    until: str = ""

    @property
    def expires_at(self) -> Instant | None:
        """When it is over; None: never by itself."""
        return expiry_of(self.until) if self.until else None

    @property
    def text(self) -> str:
        """As it is written after the mark."""
        until = f" until {self.until}" if self.until else ""
        return f"pinned by {_plain(self.by).replace(':', '')}{until}: {_plain(self.reason)}"


def _plain(text: str) -> str:
    """On one line, with nothing in it that a file does not show."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def read_note(text: str) -> PinNote | None:
    """What a note says; None if it is none."""
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    until = found["until"] or ""
    try:
        if until:
            expiry_of(until)
    except ValueError:
        return None
    return PinNote(by=found["by"], reason=found["reason"], until=until)


def expiry_of(until: str) -> Instant:
    """When a day or a time is over; ValueError if it is neither."""
    if _DAY.fullmatch(until):
        return Instant(parse_instant(f"{until}T00:00:00Z") + _DAY_S * SECOND)
    return parse_instant(until)
