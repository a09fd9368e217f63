"""Rows of text as columns, cut to a width, and the verdict that a row shows."""

from collections.abc import Iterator, Sequence

from tidegate.model.reason import Outcome
from tidegate.model.verdict import Verdict

Row = tuple[str, ...]

# The indent of a row's further lines.
BENEATH = "    "
# With less room than this the last column, which says most, is not cut but goes beneath.
LAST_LEAST = 30


def first_shut(verdicts: tuple[Verdict, ...]) -> Verdict | None:
    """The verdict that says most about why nothing happens: a stop before a wait."""
    for outcome in (Outcome.STOP, Outcome.WAIT):
        for verdict in verdicts:
            if verdict.outcome is outcome:
                return verdict
    return None


def layout(
    head: Row, rows: Sequence[Row], width: int | None = None, *, headed: bool = True
) -> list[str]:
    """Columns with two spaces between them; the last is cut to the width, where there is one.

    Columns that do not fit go on beneath, on a line of the same row: none is lost.
    """
    rows = [_flat(each) for each in rows]
    sizes = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    return placed([head, *rows] if headed else rows, sizes, width)


def _flat(row: Row) -> Row:
    """A row without the line ends that people write in reasons: each would end its line."""
    return tuple(" ".join(each.split()) if "\n" in each else each for each in row)


def placed(rows: Sequence[Row], sizes: Sequence[int], width: int | None = None) -> list[str]:
    """The lines of rows whose columns have these sizes, as `layout` places them."""
    decks = _decks(sizes, width)
    return [line for row in rows for line in _row_lines(row, sizes, decks, width)]


def _decks(sizes: Sequence[int], width: int | None) -> list[range]:
    """Which columns stand on which line of a row. 10 and 75 of 80: [0], [1]."""
    if width is None:
        return [range(len(sizes))]
    decks, first, taken = [], 0, 0
    for column, size in enumerate(sizes):
        needs = min(size, LAST_LEAST) if column == len(sizes) - 1 else size
        if column > first and taken + needs > width:
            decks.append(range(first, column))
            first, taken = column, len(BENEATH)
        taken += size + 2
    return [*decks, range(first, len(sizes))]


def _row_lines(
    row: Row, sizes: Sequence[int], decks: Sequence[range], width: int | None
) -> Iterator[str]:
    for deck in decks:
        cells = [row[column].ljust(sizes[column]) for column in deck]
        line = (BENEATH if deck.start else "") + "  ".join(cells).rstrip()
        if line.strip() or not deck.start:
            cut = width is not None and len(line) > width
            yield line[: width - 1] + "…" if cut and width is not None else line
