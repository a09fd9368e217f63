"""Entries on stdout as they are read: a table whose columns keep their places, or items."""

import sys
from collections.abc import Iterable
from itertools import islice

import click

from tidegate.app.journal.entries import EntryRow
from tidegate.cli.output import FORMATS, emit_item, terminal_width
from tidegate.explain.table import Row, placed
from tidegate.model.time import format_second, parse_instant

__all__ = ("FORMATS", "EntryPrinter")

_HEAD = ("AT", "PARTITION", "SEQ", "ACTOR", "KIND", "TARGET", "WHAT")
# Rows that are laid out together; later ones only ever widen a column.
_CHUNK = 500


class EntryPrinter:
    """Writes entries some at a time, in the format that was asked for."""

    def __init__(self, output: str) -> None:
        self._output = output
        self._sizes = [len(cell) for cell in _HEAD]
        self._head: list[Row] = [_HEAD] if output == "table" else []
        self._width = terminal_width()

    def write(self, rows: Iterable[EntryRow]) -> None:
        """Write rows, after the head if they are the first."""
        if self._output != "table":
            for row in rows:
                emit_item(row, self._output)
            return
        cells = map(_cells, rows)
        while chunk := list(islice(cells, _CHUNK)):
            lines, self._head = [*self._head, *chunk], []
            for at, size in enumerate(self._sizes):
                self._sizes[at] = max(size, *(len(line[at]) for line in lines))
            self._place(lines)

    def _place(self, rows: list[Row]) -> None:
        for line in placed(rows, self._sizes, self._width):
            click.echo(line)

    def flush(self) -> None:
        """What was written is seen now."""
        sys.stdout.flush()

    def close(self) -> None:
        """A table without rows has its head all the same."""
        self._place(self._head)


def _cells(row: EntryRow) -> Row:
    # People compare seconds; data has every nanosecond.
    at = format_second(parse_instant(row.at))
    return (at, row.partition, str(row.seq), row.actor, row.kind, row.target or "-", row.what)
