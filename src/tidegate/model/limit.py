"""A limit is a number of targets, or a percentage of them rounded up exactly.

`0` means none; an absent limit has the default its field documents; nothing is clamped in silence.
Worked numbers: 7 % of 100 is 7 (in binary floating point 0.07 × 100 rounds up to 8); 1 % of 3 is 1;
34 % of 3 is 2; any non-zero percentage of a non-empty set is at least 1.
"""

import re

import msgspec

_PERCENT = re.compile(r"(100|[1-9]?[0-9])%", re.ASCII)
REMEDY = 'write a whole number of 0 or more, or a whole percentage like "10%"'


class Limit(msgspec.Struct, frozen=True, gc=False):
    """So many targets, or so many percent of them."""

    amount: int
    percent: bool = False

    def of(self, total: int) -> int:
        """How many of a total this is; percentages are rounded up, numbers stay as they are."""
        return -(-self.amount * total // 100) if self.percent else self.amount

    def __str__(self) -> str:
        return f"{self.amount}%" if self.percent else str(self.amount)


def parse_limit(value: object) -> Limit:
    """Read a limit; ValueError says what is wrong with it."""
    if isinstance(value, bool):
        raise ValueError("not a limit")
    if isinstance(value, int):
        if value < 0:
            raise ValueError("a negative limit")
        return Limit(value)
    if isinstance(value, str):
        match = _PERCENT.fullmatch(value)
        if match:
            return Limit(int(match[1]), percent=True)
        if value.isascii() and value.isdigit():
            raise ValueError("a number in quotes")
    raise ValueError("not a limit")
