"""Entries on stdout: a table whose columns keep their places, or data."""

import sys
from collections.abc import Iterable
from itertools import islice
from typing import Any, Protocol

import click
import msgspec

from tidegate.cli.output import FORMATS, emit, terminal_width
from tidegate.journal.chain import JournalEntry
from tidegate.journal.selection import EntryFilter
from tidegate.model.time import format_instant, format_second

__all__ = ("FORMATS", "Row", "Writer", "make_writer")

Row = tuple[str, JournalEntry]

_HEAD = ("AT", "PARTITION", "SEQ", "ACTOR", "KIND", "TARGET", "WHAT")
# Rows that are laid out together; later ones only ever widen a column.
_CHUNK = 500


class Writer(Protocol):
    """Writes entries as they come."""

    def write(self, rows: Iterable[Row]) -> None:
        """Write some entries."""
        ...

    def flush(self) -> None:
        """What was written is seen now."""
        ...

    def close(self) -> None:
        """That was all."""
        ...


def make_writer(output: str, watch: bool, wanted: EntryFilter) -> Writer:
    """The writer for a format; it shows more of the target or gate that was searched for."""
    if output == "table":
        return _Table(wanted)
    return _Stream(output, wanted) if watch else _List(output, wanted)


class _Table:
    """A table, some rows at a time."""

    def __init__(self, wanted: EntryFilter) -> None:
        self._wanted = wanted
        self._sizes = [len(cell) for cell in _HEAD[:-1]]
        self._head = [_HEAD]
        self._width = terminal_width()

    def write(self, rows: Iterable[Row]) -> None:
        """Write rows, after the head if they are the first."""
        cells = (_cells(*row, self._wanted) for row in rows)
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


class _List:
    """All entries in one document."""

    def __init__(self, output: str, wanted: EntryFilter) -> None:
        self._output, self._wanted = output, wanted
        self._items: list[dict[str, Any]] = []

    def write(self, rows: Iterable[Row]) -> None:
        """Collect entries."""
        self._items += [_document(*row, self._wanted) for row in rows]

    def flush(self) -> None:
        """Nothing is written before the end."""

    def close(self) -> None:
        """Write them all."""
        emit({"kind": "EntryList", "items": self._items}, self._output)


class _Stream:
    """A document an entry, as it comes: a line of JSON, or a YAML document."""

    def __init__(self, output: str, wanted: EntryFilter) -> None:
        self._output, self._wanted = output, wanted

    def write(self, rows: Iterable[Row]) -> None:
        """Write entries one by one."""
        for row in rows:
            document = _document(*row, self._wanted)
            if self._output == "json":
                click.echo(msgspec.json.encode(document))
            else:
                click.echo("---")
                emit(document, self._output)

    def flush(self) -> None:
        """What was written is seen now."""
        sys.stdout.flush()

    def close(self) -> None:
        """Nothing is open."""


def _cells(partition: str, entry: JournalEntry, wanted: EntryFilter) -> tuple[str, ...]:
    # People compare seconds; data has every nanosecond.
    moment = format_second(entry.at)
    who = (entry.actor, entry.kind, entry.target or "-")
    return (moment, partition, str(entry.seq), *who, _what(entry, wanted))


def _document(partition: str, entry: JournalEntry, wanted: EntryFilter) -> dict[str, Any]:
    return {
        "partition": partition,
        "seq": entry.seq,
        "at": format_instant(entry.at),
        "actor": entry.actor,
        "kind": entry.kind,
        "target": entry.target,
        "what": _what(entry, wanted),
        "fact": msgspec.Raw(entry.body),
        "hash": entry.hash.hex(),
    }


def _what(entry: JournalEntry, wanted: EntryFilter) -> str:
    try:
        return entry.fact().line_of(wanted.target, wanted.gate)
    except msgspec.MsgspecError:
        return "a fact of a form this Tidegate does not know"
