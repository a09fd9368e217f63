"""Patterns that block versions, matched by RE2: in time that grows with the text, never for ever.

Owners of labels write them, so one that another engine would chew on for seconds (`^(\\d+)+$`) must
cost nothing here. RE2 looks neither ahead nor behind and knows no back-references: such a pattern
is refused with that reason. A pattern is found anywhere in a version, unless it says `^` or `$`.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import re2

from tidegate.model.problem import shorten

# A fleet has a few dozen patterns, read again on every round.
_REMEMBERED_MAX = 4096
# A longer one is a mistake, and it is repeated in messages.
_LENGTH_MAX = 1000
# What one compiled pattern may take; a tenth of RE2's default.
_MEMORY_MAX = 1 << 20
_LOOKS = ("(?=", "(?!", "(?<")


class PatternError(ValueError):
    """A text is no pattern; the text says why."""


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY_MAX
    return options


_OPTIONS = _options()


@lru_cache(_REMEMBERED_MAX)
def read_pattern(text: str) -> Any:
    """A pattern made ready; PatternError says what is wrong with it."""
    if len(text) > _LENGTH_MAX:
        raise PatternError(f"longer than {_LENGTH_MAX} characters")
    if any(look in text for look in _LOOKS):
        raise PatternError("looks ahead or behind (`(?=`, `(?!`, `(?<`), which RE2 cannot")
    if not text.isprintable():
        raise PatternError("holds invisible characters")
    try:
        return re2.compile(text, _OPTIONS)
    except re2.error as error:
        what = error.args[0] if error.args else "unreadable"
        words = what.decode(errors="replace") if isinstance(what, bytes) else str(what)
        raise PatternError(words) from None


@lru_cache(_REMEMBERED_MAX)
def is_found(pattern: str, version: str) -> bool:
    """Whether a pattern that can be read is found somewhere in a version."""
    if not version.isprintable():  # no version of anything
        return False
    return read_pattern(pattern).search(version) is not None


def comma_problem(pattern: str) -> tuple[str, str]:
    """What is wrong with a pattern that has a comma, and what to write instead."""
    what = f'"{shorten(pattern.strip())}" contains a comma, which separates the patterns of a label'
    return what, 'write it without one, as "11?" for "1{1,2}"'


def split_patterns(text: str | None) -> list[str]:
    """The patterns of a label, separated by commas; one that has a comma of its own is not cut.

    The label cannot hold such a pattern: every other reader parts it, into two that block nothing.
    A bracket that is never closed encloses no comma: "[,^4" is two patterns, the first a mistake.
    """
    if not text:
        return []
    found, depth, last, escaped, classed = [], 0, 0, False, False
    for at, char in enumerate(text):
        if escaped or char == "\\":
            escaped = not escaped
        elif classed:
            classed = char != "]"
        elif char == "[":
            classed = True
        elif char in "({":
            depth += 1
        elif char in ")}":
            depth = max(0, depth - 1)
        elif char == "," and not depth:
            found.append(text[last:at])
            last = at + 1
    rest = text[last:]
    return [*found, *(rest.split(",") if depth or classed else (rest,))]


def first_found(patterns: Iterable[str], version: str) -> str | None:
    """The first of some patterns that is found in a version; None: none is."""
    return next((each for each in patterns if is_found(each, version)), None)
