"""The hot paths, on the driver's own cursor: entries in, entries out, hashes compared.

Per entry, SQLAlchemy's share of a bulk insert would be more than SQLite's own, and its rows would
cost as much again as the driver's (docs/decisions/0007).
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, NamedTuple

from tidegate.journal.chain import HASH_BYTES, SEALED, Break, JournalEntry, verify
from tidegate.store.client.database import Driver

# Entries and bytes fetched at once: a transaction of milliseconds, and never all the memory.
PAGE_ENTRIES_MAX, PAGE_BYTES = 2_048, 4_000_000
# How many to start with, and by how much to grow: one page does not say what the next one weighs.
_PAGE_FIRST, _PAGE_GROWTH = 64, 8

# The columns of an entry, in the order of its fields.
COLUMNS = "seq, at, actor, kind, target, body, hash"
_INSERT_SQLITE = (
    f"INSERT INTO journal_entries (partition_id, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
# One array a column: a statement of one row costs the same as with VALUES, one of 1,000 a half.
_INSERT_POSTGRES = (
    f"INSERT INTO journal_entries (partition_id, {COLUMNS})"
    " SELECT %s, * FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[],"
    " %b::bytea[], %b::bytea[])"
)
_SELECT = "FROM journal_entries WHERE partition_id = {0} AND seq > {0} AND seq <= {0} ORDER BY seq"
# Copying a fresh hash takes half as long as making one.
_FRESH = blake2b(digest_size=HASH_BYTES)


def insert_entries(driver: Driver, partition_id: int, entries: Sequence[JournalEntry]) -> None:
    """Write entries behind a chain's end."""
    if not entries:
        return
    if driver.is_sqlite:
        rows = [
            (partition_id, e.seq, e.at, e.actor, e.kind, e.target, e.body, e.hash) for e in entries
        ]
        driver.raw.executemany(_INSERT_SQLITE, rows)
        return
    columns = (
        [e.seq for e in entries],
        [e.at for e in entries],
        [e.actor for e in entries],
        [e.kind for e in entries],
        [e.target for e in entries],
        [e.body for e in entries],
        [e.hash for e in entries],
    )
    driver.raw.execute(_INSERT_POSTGRES, (partition_id, *columns))


def select_entries(driver: Driver, partition_id: int, after: int, up_to: int) -> list[JournalEntry]:
    """The entries behind one number and up to another."""
    statement, values = f"SELECT {COLUMNS} {_SELECT}", (partition_id, after, up_to)
    if driver.is_sqlite:
        return [JournalEntry(*row) for row in driver.raw.execute(statement.format("?"), values)]
    with driver.raw.cursor(binary=True) as cursor:
        return [JournalEntry(*row) for row in cursor.execute(statement.format("%s"), values)]


class Pages:
    """Stretches of a chain, as long as their weight allows."""

    def __init__(self, after: int, up_to: int) -> None:
        self._after, self._up_to = after, up_to
        self._size = _PAGE_FIRST

    def __iter__(self) -> Iterator[tuple[int, int]]:
        while self._after < self._up_to:
            after = self._after
            self._after = min(after + self._size, self._up_to)
            yield after, self._after

    def weighed(self, entries: int, weight: int) -> None:
        """What the last stretch weighed, so that the next can be longer or shorter."""
        fits = entries * PAGE_BYTES // max(weight, 1)
        self._size = max(1, min(fits, self._size * _PAGE_GROWTH, PAGE_ENTRIES_MAX))


class PartitionRange(NamedTuple):
    """A stretch of a chain that was verified: the hash it ends with, and what it weighs."""

    hash: bytes
    weight: int
    # Where the chain does not hold; None: it does.
    broken: Break | None = None


def verify_stretch(
    driver: Driver, partition_id: int, prev: bytes, after: int, up_to: int
) -> PartitionRange:
    """Verify the entries behind one number and up to another.

    Every hash follows from the one before and from everything in the row, its number among it: what
    is missing or out of order does not fit either. Which of them it is, the slow check finds.
    """
    fresh, last, seq, weight, found = _FRESH.copy, prev, after, 0, prev
    with _raw_rows(driver, (partition_id, after, up_to)) as rows:
        try:
            for at, actor, kind, target, body, found in rows:
                seq += 1
                seal = fresh()
                by, about = len(actor), len(target)
                seal.update(SEALED % (last, seq, at, by, actor, kind, about, target, body))
                last = seal.digest()
                weight += len(body)
                if last != found:
                    break
        except TypeError:  # SQLite stores a text in a column of numbers if it is given one
            found = b""
    if last == found and seq == up_to:
        return PartitionRange(last, weight)
    return PartitionRange(last, weight, _explain(driver, partition_id, prev, after, up_to, seq))


@contextmanager
def _raw_rows(driver: Driver, values: tuple[int, ...]) -> Iterator[Iterable[Any]]:
    """What is hashed of each entry, texts as the bytes they are kept as, and its hash."""
    statement = f"SELECT at, actor, kind, target, body, hash {_SELECT}"
    if driver.is_sqlite:
        driver.raw.text_factory = bytes
        try:
            yield driver.raw.execute(statement.format("?"), values)
        finally:
            driver.raw.text_factory = str
        return
    from psycopg.types.string import ByteaBinaryLoader

    with driver.raw.cursor(binary=True) as cursor:
        cursor.adapters.register_loader("text", ByteaBinaryLoader)
        yield cursor.execute(statement.format("%s"), values).fetchall()


def _explain(
    driver: Driver, partition_id: int, prev: bytes, after: int, up_to: int, seq: int
) -> Break:
    """What is wrong in a stretch that does not hold, at `seq` or because it is too short."""
    try:
        entries = select_entries(driver, partition_id, after, up_to)
        broken = verify(prev, after + 1, entries)
    except (TypeError, sqlite3.OperationalError):  # not even the types are right
        return Break(seq, f"entry {seq} was changed: it is not an entry any more")
    if broken is not None:
        return broken
    assert len(entries) < up_to - after, "two ways to verify disagree"
    missing = after + len(entries) + 1
    return Break(missing, f"entry {missing} is missing")
