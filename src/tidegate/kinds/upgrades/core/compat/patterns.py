r"""Patterns of owners as AUS matches them, but never for ever.

It matches with Python's `re`, which tries one way after another: `^(\d+)+$` on a version of 26
characters takes seconds, and one of 40 never ends. It holds everything that runs in the same
process meanwhile. So the number of ways is bounded before anything is matched:

    a pattern with few ways       `re`, as ever
    one with many                 RE2, which finds the same in linear time, where it can read it
    one that RE2 cannot read      refused, as a pattern that cannot be read is

Worked numbers, for a version of 20 characters: `\d+` has 20 ways, `.*-rc.*` 21 * 21, `(\d+\.)+`
more than 20 to the 20th.
"""

import re
from functools import lru_cache

import re2

# A match tries each way from each place. So many tries take about 10 ms.
TRIES_MAX = 100_000
# A longer text is no version; the number of ways is bounded for this length.
LENGTH_MAX = 100
# Groups in groups; Python's own parser ends at about a hundred.
_DEPTH_MAX = 50
# The same patterns and versions come back in every run.
_REMEMBERED_MAX = 4096
# What both engines read, but not alike: "{,3}" and named classes.
_UNLIKE = ("{,", "[:")
_FLAGS = re.compile(r"\(\?[aiLmsux-]+[:)]")
_HEADER = re.compile(r"\(\?(?:P<\w+>|P=\w+|\(\w+\)|<?[=!]|[:>]|[aiLmsu-]+:)|\(")
_COUNT = re.compile(r"\{(\d*)(?:(,)(\d*))?\}")


class UnboundedPatternError(ValueError):
    """A pattern that may be matched for ever; the text says so."""


@lru_cache(_REMEMBERED_MAX)
def is_found(pattern: str, version: str) -> bool:
    """Whether a pattern is found somewhere in a version.

    What `re` raises of a pattern it cannot read is raised; UnboundedPatternError if it may take for
    ever.
    """
    compiled = re.compile(pattern)
    if len(version) <= LENGTH_MAX and tries(pattern, len(version)) <= TRIES_MAX:
        return compiled.search(version) is not None
    if not version.isascii() or any(each in pattern for each in _UNLIKE):
        raise UnboundedPatternError(f"{pattern}: takes too long to match")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options).search(version) is not None
    except re2.error:
        raise UnboundedPatternError(f"{pattern}: takes too long to match") from None


@lru_cache(_REMEMBERED_MAX)
def tries(pattern: str, length: int) -> int:
    """At most how many ways there are to match a pattern in a text, over all places in it.

    What is not understood counts as too many.
    """
    if any("x" in each for each in _FLAGS.findall(pattern)):
        return TRIES_MAX + 1  # blanks and comments: another grammar
    try:
        reader = _Ways(pattern, length)
        found = reader.either(0)
    except _OddError:
        return TRIES_MAX + 1
    return found * (length + 1) if reader.at == len(pattern) else TRIES_MAX + 1


class _OddError(ValueError):
    """Something that is not understood."""


class _Ways:
    """The ways of a pattern, counted from left to right."""

    def __init__(self, pattern: str, length: int) -> None:
        self._text = pattern
        self._length = length
        self.at = 0

    def either(self, depth: int) -> int:
        """Alternatives: the ways of each."""
        if depth > _DEPTH_MAX:
            raise _OddError
        ways = self._sequence(depth)
        while self._next("|"):
            ways += self._sequence(depth)
        return _capped(ways)

    def _sequence(self, depth: int) -> int:
        """One after another: every way of the one with every way of the other."""
        ways = 1
        while self.at < len(self._text) and self._text[self.at] not in "|)":
            ways = _capped(ways * self._repeated(self._atom(depth)))
        return ways

    def _atom(self, depth: int) -> int:
        if self._text.startswith("(?#", self.at):
            raise _OddError
        header = _HEADER.match(self._text, self.at)
        if header is not None:
            self.at = header.end()
            ways = self.either(depth + 1)
            if not self._next(")"):
                raise _OddError
            return ways
        char = self._text[self.at]
        self.at += 1
        if char == "\\":
            self.at += 1
        elif char == "[":
            self._class()
        return 1

    def _class(self) -> None:
        self._next("^")
        self._next("]")
        while self.at < len(self._text) and self._text[self.at] != "]":
            self.at += 2 if self._text[self.at] == "\\" else 1
        if not self._next("]"):
            raise _OddError

    def _repeated(self, ways: int) -> int:
        """So many times at least and at most; no more often than the text has characters."""
        least, most = 1, 1
        count = _COUNT.match(self._text, self.at)
        if self._next("*"):
            least, most = 0, self._length
        elif self._next("+"):
            least, most = 1, self._length
        elif self._next("?"):
            least, most = 0, 1
        elif count is not None and count[0] not in ("{}", "{,}"):
            self.at = count.end()
            least = int(count[1] or 0)
            most = least if count[2] is None else int(count[3] or self._length)
        else:
            return ways
        if not self._next("?"):
            self._next("+")
        if self.at < len(self._text) and self._text[self.at] in "*+?{":
            raise _OddError
        most = min(most, self._length)
        if ways == 1:
            return max(1, most - least + 1)
        # Those that come too early to an end are tried, too.
        return _capped(sum(ways**times for times in range(most + 1)))

    def _next(self, char: str) -> bool:
        found = self._text.startswith(char, self.at)
        self.at += found
        return found


def _capped(ways: int) -> int:
    return min(ways, TRIES_MAX + 1)
