"""The care of a journal in a database: find in it, verify it, move it, copy it.

A journal is verified or moved as of one moment, while others continue to write.
"""

from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tidegate.journal.chain import JournalEntry
from tidegate.journal.pieces import Chain, Piece
from tidegate.journal.selection import EntryFilter, matches_inside
from tidegate.store.client import transfer
from tidegate.store.client.backup import copy_file
from tidegate.store.client.database import driver_of
from tidegate.store.client.partition import find, find_all
from tidegate.store.client.rows import PAGE_ENTRIES_MAX
from tidegate.store.client.schema import entries
from tidegate.store.client.sql import SqlStore
from tidegate.store.port import Tell


class SqlArchive(SqlStore):
    """A journal in a database, and its care."""

    def chains(self) -> list[Chain]:
        """Every chain from its first kept entry to its last, by name."""
        with self._database.reading() as connection:
            return [found.chain() for found in find_all(connection)]

    def find(
        self, partition: str, wanted: EntryFilter, *, after: int = 0
    ) -> Iterator[JournalEntry]:
        """The entries behind a number that are wanted, in order, without judging the chain."""
        with self._database.reading() as connection:
            found = find(driver_of(connection), partition)
        while found is not None:
            statement = _wanted(found.id, wanted, after)
            with self._database.reading() as connection:
                page = [JournalEntry(*row) for row in connection.execute(statement)]
            yield from (entry for entry in page if matches_inside(wanted, entry))
            if len(page) < PAGE_ENTRIES_MAX:
                return
            after = page[-1].seq

    def dump(self) -> Generator[Piece, None, None]:
        """The whole journal as it is at one moment."""
        with self._database.snapshot() as connection:
            yield from transfer.dump(connection)

    def adopt(self, pieces: Iterable[Piece]) -> None:
        """Take in what another journal dumped, all or nothing."""
        with self._database.writing() as connection:
            transfer.adopt(connection, pieces)

    def backup(self, path: Path, tell: Tell | None = None) -> None:
        """Copy the journal into a new file while it is written to."""
        copy_file(self._database, path, tell)


def _wanted(partition_id: int, wanted: EntryFilter, after: int) -> sa.Select[Any]:
    """The next entries whose columns are as wanted."""
    e = entries.c
    conditions = [e.partition_id == partition_id, e.seq > after]
    if wanted.kinds:
        conditions.append(e.kind.in_(wanted.kinds))
    if wanted.actor:
        conditions.append(e.actor == wanted.actor)
    if wanted.since is not None:
        conditions.append(e.at >= wanted.since)
    if wanted.until is not None:
        conditions.append(e.at < wanted.until)
    columns = (e.seq, e.at, e.actor, e.kind, e.target, e.body, e.hash)
    return sa.select(*columns).where(*conditions).order_by(e.seq).limit(PAGE_ENTRIES_MAX)
