"""Names on one line: consecutive ones are shown by the first and the last of them.

Worked: a-1, a-2, a-3 is a-1…3; a-1, a-2 stays as it is; a-1, a-3, b is a-1, a-3, b.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

_NUMBERED = re.compile(r"(.*?)(0|[1-9]\d*)")
# From so many on it is shorter to show the first and the last.
RANGE_LEAST = 3
# More than these are counted, not listed.
PIECES_MAX = 4


def ranged(names: Iterable[str], most: int | None = PIECES_MAX) -> str:
    """Names in order, each once, as many as fit on a line; None: all of them."""
    pieces = [_piece(some) for some in _runs(sorted(set(names), key=_order))]
    shown = [text for some in pieces[:most] for text in some[0]]
    more = 0 if most is None else sum(count for _, count in pieces[most:])
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _order(name: str) -> tuple[str, int, str]:
    found = _NUMBERED.fullmatch(name)
    return (found[1], int(found[2]), name) if found else (name, -1, name)


def _runs(names: Sequence[str]) -> Iterable[list[str]]:
    """Names that follow one on the other."""
    keys = [(_order(name), at) for at, name in enumerate(names)]
    for _, some in groupby(keys, key=lambda one: (one[0][0], one[0][1] - one[1])):
        yield [names[at] for _, at in some]


def _piece(run: list[str]) -> tuple[list[str], int]:
    if len(run) < RANGE_LEAST:
        return run, len(run)
    return [f"{run[0]}…{_order(run[-1])[1]}"], len(run)
