"""Tables for people: UPPERCASE heads, two spaces between columns, numbers to the right.

Worked numbers: 41.3 times is `41×`, 4.13 times `4.1×`, 0.413 times `0.41×`; 0.4134 ms is `0.41`,
41.34 ms `41.3`, 41341 ms `41,341`.
"""

from collections.abc import Sequence

import msgspec

# Where a figure was not or cannot be measured.
NOTHING = "–"


def draw(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A titled table; words go to the left, numbers to the right, blocks are set apart."""
    widths = [max(len(cell) for cell in column) for column in zip(heads, *rows, strict=True)]
    words = [
        all(row[i][:1].isalpha() or row[i] in ("", NOTHING) for row in rows)
        for i in range(len(heads))
    ]
    lines = [
        "  ".join(
            cell.ljust(width) if is_word else cell.rjust(width)
            for cell, width, is_word in zip(line, widths, words, strict=True)
        ).rstrip()
        for line in (heads, *rows)
    ]
    return "\n".join((title, "", lines[0], *_in_blocks(rows, lines[1:])))


def _in_blocks(rows: Sequence[Sequence[str]], lines: Sequence[str]) -> list[str]:
    """A blank line between blocks: rows that share their first cell, where any do."""
    firsts = [row[0] for row in rows]
    if len(set(firsts)) == len(firsts):
        return list(lines)
    spaced: list[str] = []
    for i, line in enumerate(lines):
        if i and firsts[i] != firsts[i - 1]:
            spaced.append("")
        spaced.append(line)
    return spaced


def times(ratio: float | None) -> str:
    """A ratio."""
    if ratio is None:
        return NOTHING
    if ratio >= 10:
        return f"{ratio:,.0f}×"
    return f"{ratio:.1f}×" if ratio >= 1 else f"{ratio:.2f}×"


def figure(value: float | None) -> str:
    """A number with as many digits as mean anything."""
    if value is None:
        return NOTHING
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def count(value: int | None) -> str:
    """A whole number."""
    return NOTHING if value is None else f"{value:,}"


class Report(msgspec.Struct, frozen=True):
    """What one section found: rows for machines, tables for people."""

    rows: Sequence[msgspec.Struct]
    tables: Sequence[str]
