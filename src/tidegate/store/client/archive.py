"""The care of a journal in a database: find in it, verify it, move it, copy it.

A journal is verified or moved as of one moment, while others continue to write.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tidegate.journal.chain import JournalEntry
from tidegate.journal.pieces import Chain, Piece
from tidegate.journal.selection import EntryFilter, matches_inside
from tidegate.store.archive_port import JournalSnapshot
from tidegate.store.client import rules, transfer
from tidegate.store.client.backup import copy_file
from tidegate.store.client.database import Database
from tidegate.store.client.partition import find_all
from tidegate.store.client.places import find_claims
from tidegate.store.client.rows import COLUMNS, PAGE_ENTRIES_MAX
from tidegate.store.client.sight import PartitionRows, behind
from tidegate.store.client.sql import SqlStore
from tidegate.store.port import Tell


class SqlArchive(SqlStore):
    """A journal in a database, and its care."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._rows = PartitionRows()

    def look(self, after: Mapping[str, int], *, claims: bool = False) -> JournalSnapshot:
        """All partitions, and the entries behind these numbers: a statement each."""
        with self._database.asking() as driver:
            seen = self._rows.read(driver)
        wanted = [each for each in (self._rows.stretch(*one) for one in after.items()) if each]
        with self._database.asking() as driver:
            entries = behind(driver, wanted)
            held = find_claims(driver) if claims else None
        return JournalSnapshot(seen, entries, held)

    def chains(self) -> list[Chain]:
        """Every chain from its first kept entry to its last, by name."""
        with self._database.asking() as driver:
            return [found.chain() for found in find_all(driver)]

    def find(
        self, partition: str, wanted: EntryFilter, *, after: int = 0
    ) -> Iterator[JournalEntry]:
        """The entries behind a number that are wanted, in order, without judging the chain."""
        found = self._find(partition)
        while found is not None:
            statement, values = _wanted(found.id, wanted, after)
            with self._database.asking() as driver:
                page = [JournalEntry(*row) for row in driver.execute(statement, values)]
            yield from (entry for entry in page if matches_inside(wanted, entry))
            if len(page) < PAGE_ENTRIES_MAX:
                return
            after = page[-1].seq

    def dump(self) -> Generator[Piece, None, None]:
        """The whole journal as it is at one moment."""
        with self._database.snapshot() as driver:
            yield from transfer.dump(driver)

    def adopt(self, pieces: Iterable[Piece]) -> None:
        """Take in what another journal dumped, all or nothing."""
        with self._database.appending() as driver:
            transfer.adopt(driver, pieces)

    def backup(self, path: Path, tell: Tell | None = None) -> None:
        """Copy the journal into a new file while it is written to."""
        copy_file(self._database, path, tell)


def _wanted(partition_id: int, wanted: EntryFilter, after: int) -> tuple[str, tuple[Any, ...]]:
    """The next entries whose columns are as wanted: the statement and its values."""
    conditions = ["partition_id = ?", "seq > ?"]
    values: list[Any] = [partition_id, rules.fitting(after)]
    if wanted.kinds:
        conditions.append(f"kind IN ({', '.join('?' * len(wanted.kinds))})")
        values.extend(wanted.kinds)
    if wanted.actor:
        conditions.append("actor = ?")
        values.append(wanted.actor)
    if wanted.since is not None:
        conditions.append("at >= ?")
        values.append(rules.fitting(wanted.since))
    if wanted.until is not None:
        conditions.append("at < ?")
        values.append(rules.fitting(wanted.until))
    where = f"WHERE {' AND '.join(conditions)} ORDER BY seq LIMIT {PAGE_ENTRIES_MAX}"
    return f"SELECT {COLUMNS} FROM journal_entries {where}", tuple(values)
