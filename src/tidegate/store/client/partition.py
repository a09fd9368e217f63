"""The row of a partition: the end of its chain, its start, and its lease."""

import sqlite3
from typing import Any, NamedTuple

import sqlalchemy as sa

from tidegate.journal.chain import genesis
from tidegate.journal.pieces import Chain
from tidegate.model.time import Instant
from tidegate.store.client.schema import partitions
from tidegate.store.port import Head, Lease

_ALL = sa.select(partitions).where(partitions.c.seq > 0)
# Once or more a round: on the driver's own cursor, which takes a fifth of the time.
_COLUMNS = "id, name, seq, hash, base_seq, base_hash, holder, token, until"
_FIND_SQLITE = f"SELECT {_COLUMNS} FROM journal_partitions WHERE name = ?"
_FIND_POSTGRES = f"SELECT {_COLUMNS} FROM journal_partitions WHERE name = %s"
# In SQLite the transaction has locked the whole database already.
_LOCK_POSTGRES = f"{_FIND_POSTGRES} FOR UPDATE"
_MOVE_HEAD_SQLITE = "UPDATE journal_partitions SET seq = ?, hash = ? WHERE id = ?"
_MOVE_HEAD_POSTGRES = "UPDATE journal_partitions SET seq = %s, hash = %s WHERE id = %s"
# Another transaction may be creating it at the same time.
_MAKE = sa.text(
    "INSERT INTO journal_partitions"
    " (name, seq, hash, base_seq, base_hash, holder, token, until)"
    " VALUES (:name, 0, :start, 0, :start, '', 0, 0) ON CONFLICT DO NOTHING"
)
_ONE = sa.update(partitions).where(partitions.c.id == sa.bindparam("at"))


def _setting(*columns: str) -> sa.Update:
    return _ONE.values({name: sa.bindparam(name) for name in columns})


_MOVE_BASE = _setting("base_seq", "base_hash")
_KEEP_LEASE = _setting("holder", "token", "until")


class Partition(NamedTuple):
    """One partition as it is kept."""

    id: int
    name: str
    head: Head
    base: Head
    lease: Lease

    def chain(self) -> Chain:
        """Its chain, to be verified or moved."""
        base, head = self.base, self.head
        return Chain(self.name, base.seq, base.hash, head.seq, head.hash, self.lease.token)


def find(connection: sa.Connection, name: str) -> Partition | None:
    """A partition; None if nothing was ever written to it."""
    return _row(connection, name, _FIND_POSTGRES)


def find_in_file(connection: sqlite3.Connection, name: str) -> Partition | None:
    """The same, on a connection to a file that is only read."""
    row = connection.execute(_FIND_SQLITE, (name,)).fetchone()
    return None if row is None else _made(row)


def _row(connection: sa.Connection, name: str, postgres: str) -> Partition | None:
    driver: Any = connection.connection.driver_connection
    is_sqlite = connection.dialect.name == "sqlite"
    row = driver.execute(_FIND_SQLITE if is_sqlite else postgres, (name,)).fetchone()
    return None if row is None else _made(row)


def _made(row: tuple[Any, ...]) -> Partition:
    ident, name, seq, hashed, base_seq, base_hash, holder, token, until = row
    return Partition(
        ident,
        name,
        Head(seq, bytes(hashed)),
        Head(base_seq, bytes(base_hash)),
        Lease(name, holder, token, Instant(until)),
    )


def find_all(connection: sa.Connection) -> list[Partition]:
    """Every partition with an entry, by name."""
    rows = connection.execute(_ALL)
    return sorted((_made(tuple(row)) for row in rows), key=lambda each: each.name)


def lock(connection: sa.Connection, name: str) -> Partition:
    """A partition, locked until this transaction ends; created if it does not exist."""
    found = _row(connection, name, _LOCK_POSTGRES)
    if found is None:
        connection.execute(_MAKE, {"name": name, "start": genesis(name)})
        found = _row(connection, name, _LOCK_POSTGRES)
    assert found is not None, "it was made a moment ago"
    return found


def move_head(connection: sa.Connection, found: Partition, head: Head) -> None:
    """The chain ends further on."""
    driver: Any = connection.connection.driver_connection
    is_sqlite = connection.dialect.name == "sqlite"
    statement = _MOVE_HEAD_SQLITE if is_sqlite else _MOVE_HEAD_POSTGRES
    driver.execute(statement, (head.seq, head.hash, found.id))


def move_base(connection: sa.Connection, found: Partition, base: Head) -> None:
    """The chain starts further on: everything up to there is gone."""
    values = {"at": found.id, "base_seq": base.seq, "base_hash": base.hash}
    connection.execute(_MOVE_BASE, values)


def keep_lease(connection: sa.Connection, found: Partition, lease: Lease) -> None:
    """Give the lease to a holder, or extend it; an empty holder releases it."""
    values = {"holder": lease.holder, "token": lease.token, "until": lease.until}
    connection.execute(_KEEP_LEASE, {"at": found.id, **values})
