"""Entries on stdout as they come: a table whose columns keep their places, or items of a list."""

import sys
from collections.abc import Iterable
from itertools import islice

import click

from tidegate.app.journal.entries import EntryRow
from tidegate.cli.output import FORMATS, emit_item, terminal_width

__all__ = ("FORMATS", "EntryPrinter")

_HEAD = ("AT", "PARTITION", "SEQ", "ACTOR", "KIND", "TARGET", "WHAT")
_SECONDS = len("2026-01-31T12:00:00")
# Rows that are laid out together; later ones only ever widen a column.
_CHUNK = 500


class EntryPrinter:
    """Writes entries some at a time, in the format that was asked for."""

    def __init__(self, output: str) -> None:
        self._output = output
        self._sizes = [len(cell) for cell in _HEAD[:-1]]
        self._head = [_HEAD] if output == "table" else []
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
            for line in lines:
                click.echo(self._line(line))

    def _line(self, cells: tuple[str, ...]) -> str:
        padded = (cell.ljust(size) for cell, size in zip(cells, self._sizes, strict=False))
        line = "  ".join((*padded, cells[-1])).rstrip()
        cut = self._width is not None and len(line) > self._width
        return line[: (self._width or 1) - 1] + "…" if cut else line

    def flush(self) -> None:
        """What was written is seen now."""
        sys.stdout.flush()

    def close(self) -> None:
        """A table without rows has its head all the same."""
        for head in self._head:
            click.echo(self._line(head))


def _cells(row: EntryRow) -> tuple[str, ...]:
    # People compare seconds; data has every nanosecond, behind these.
    moment = f"{row.at[:_SECONDS]}Z"
    return (moment, row.partition, str(row.seq), row.actor, row.kind, row.target or "-", row.what)
