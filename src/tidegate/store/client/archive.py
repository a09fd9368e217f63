"""The care of a journal in a database: find in it, verify it, move it, copy it.

A journal is verified or moved as of one moment, while others continue to write.
"""

from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tidegate.journal.chain import Break, JournalEntry
from tidegate.journal.pieces import Chain, Piece
from tidegate.journal.selection import EntryFilter, matches_inside
from tidegate.store.archive_port import Tell
from tidegate.store.client import transfer
from tidegate.store.client.backup import copy_file
from tidegate.store.client.database import driver_of
from tidegate.store.client.partition import Partition, find, find_all
from tidegate.store.client.rows import PAGE_ENTRIES_MAX, Pages, verify_stretch
from tidegate.store.client.schema import entries
from tidegate.store.client.sql import SqlStore


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

    def verify(self, partition: str, tell: Tell | None = None) -> Break | None:
        """The first entry that was changed, is missing or out of order; None if none is."""
        with self._database.snapshot() as connection:
            found = find(driver_of(connection), partition)
            if found is None:
                return None
            prev = found.base.hash
            pages = Pages(found.base.seq, found.head.seq)
            for after, up_to in pages:
                stretch = verify_stretch(driver_of(connection), found.id, prev, after, up_to)
                if stretch.broken is not None:
                    return stretch.broken
                prev = stretch.hash
                pages.weighed(up_to - after, stretch.weight)
                if tell is not None:
                    tell(up_to - after)
            return _verify_ends(connection, found, prev)

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


def _verify_ends(connection: sa.Connection, found: Partition, last: bytes) -> Break | None:
    """A valid chain must also begin and end where its partition says."""
    if last != found.head.hash:
        what = f"entry {found.head.seq} is another one than the chain ends with"
        return Break(found.head.seq, what)
    of = entries.c.partition_id == found.id
    ends = sa.select(sa.func.min(entries.c.seq), sa.func.max(entries.c.seq)).where(of)
    first_seq, last_seq = connection.execute(ends).one()
    if first_seq is not None and first_seq <= found.base.seq:
        return Break(first_seq, f"entry {first_seq} is there, though it was dropped")
    if last_seq is not None and last_seq > found.head.seq:
        return Break(last_seq, f"entry {last_seq} is there, though the chain ends before it")
    return None
