"""Limits and deadlines as the rollout library of Open Cluster Management reads them. Frozen.

The strict rules have limits of their own; these are kept for `compat` alone, with their surprises:

- A percentage goes through binary floating point and is rounded up: 7 % of 100 is 0.07 × 100 =
  7.000000000000001, so 8; 30 % of 100 is 30; 2.5 % of 20 is 0.5, so 1.
- A limit of 0 or less, or above the total, is as good as none: `maxConcurrency` 0 or 99 of 5 lets
  all 5 start, and `maxFailures` 9 of 5 tolerates 0.
- A number in quotes is refused: "3" lacks its %.
- A deadline needs whole numbers in front: 90s and 1h1.5h will do, 1.5h will not.
"""

import math
import re

from tidegate.model.time import DURATION_MAX, Duration, parse_duration

# Misgrouped in the library: "begins with digits and one of h, |, m, s" or "ends with None".
_DEADLINE = re.compile(r"^(([0-9])+[h|m|s])|None\Z")
_DECIMAL = re.compile(r"[0-9_.eE+-]+")
_HEXADECIMAL = re.compile(
    r"[+-]?0x(_?[0-9a-f])*(\.([0-9a-f](_?[0-9a-f])*)?)?p[+-]?[0-9](_?[0-9])*",
    re.IGNORECASE | re.ASCII,
)
_NOT_FINITE = re.compile(r"[+-]?inf(inity)?|nan", re.IGNORECASE | re.ASCII)


def parse_deadline(text: str) -> Duration:
    """A progressDeadline; DURATION_MAX is none. ValueError says what is wrong with it."""
    if text in ("", "None"):
        return DURATION_MAX
    if not _DEADLINE.search(text):
        raise ValueError(f'progressDeadline: "{text}" is neither "None" nor like 90s, 30m, 2h')
    try:
        return parse_duration(text)
    except ValueError as error:
        raise ValueError(f'progressDeadline: "{text}": {error}') from None


def size(limit: int | str, total: int, default: int) -> int:
    """How many of the total a limit allows; the default unless that is between 1 and the total."""
    count: float = limit if isinstance(limit, int) else _percentage(limit) / 100 * total
    return math.ceil(count) if 0 < count <= total else default


def _percentage(text: str) -> float:
    if not text.endswith("%"):
        raise ValueError(f'"{text}" is not a percentage')
    try:
        return _float(text.removesuffix("%"))
    except (ValueError, OverflowError):
        raise ValueError(f'"{text}": there is no number before the %') from None


def _float(text: str) -> float:
    """A number in Go's syntax: no blanks, hexadecimal only with an exponent, nothing too large."""
    if _NOT_FINITE.fullmatch(text):
        return float(text)
    if _HEXADECIMAL.fullmatch(text):
        return float.fromhex(text.replace("_", ""))
    if not _DECIMAL.fullmatch(text) or math.isinf(number := float(text)):
        raise ValueError(text)
    return number
