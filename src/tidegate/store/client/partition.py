"""A partition's row: the end of its chain, what it starts from, and who may write."""

from typing import Any, NamedTuple

import sqlalchemy as sa

from tidegate.journal.chain import genesis
from tidegate.journal.pieces import Chain
from tidegate.model.time import Instant
from tidegate.store.client.schema import partitions
from tidegate.store.port import Head, Lease

_ALL = sa.select(partitions).where(partitions.c.seq > 0)
_FIND = sa.select(partitions).where(partitions.c.name == sa.bindparam("name"))
# In SQLite the transaction has locked the whole database already.
_LOCK = _FIND.with_for_update()
# Somebody else may be making it in this very moment.
_MAKE = sa.text(
    "INSERT INTO journal_partitions"
    " (name, seq, hash, base_seq, base_hash, holder, token, until)"
    " VALUES (:name, 0, :start, 0, :start, '', 0, 0) ON CONFLICT DO NOTHING"
)
_ONE = sa.update(partitions).where(partitions.c.id == sa.bindparam("at"))


def _setting(*columns: str) -> sa.Update:
    return _ONE.values({name: sa.bindparam(name) for name in columns})


_MOVE_HEAD = _setting("seq", "hash")
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
        """Its chain, for whoever verifies or moves it."""
        base, head = self.base, self.head
        return Chain(self.name, base.seq, base.hash, head.seq, head.hash, self.lease.token)


def find(connection: sa.Connection, name: str) -> Partition | None:
    """A partition; None if nothing was ever written to it."""
    row = connection.execute(_FIND, {"name": name}).one_or_none()
    return None if row is None else _partition(row)


def find_all(connection: sa.Connection) -> list[Partition]:
    """Every partition with an entry, by name."""
    rows = connection.execute(_ALL)
    return sorted((_partition(row) for row in rows), key=lambda each: each.name)


def lock(connection: sa.Connection, name: str) -> Partition:
    """A partition that nobody else writes to until this transaction ends; made if need be."""
    row = connection.execute(_LOCK, {"name": name}).one_or_none()
    if row is None:
        connection.execute(_MAKE, {"name": name, "start": genesis(name)})
        row = connection.execute(_LOCK, {"name": name}).one()
    return _partition(row)


def move_head(connection: sa.Connection, found: Partition, head: Head) -> None:
    """The chain ends further on."""
    connection.execute(_MOVE_HEAD, {"at": found.id, "seq": head.seq, "hash": head.hash})


def move_base(connection: sa.Connection, found: Partition, base: Head) -> None:
    """The chain starts further on: everything up to there is gone."""
    values = {"at": found.id, "base_seq": base.seq, "base_hash": base.hash}
    connection.execute(_MOVE_BASE, values)


def keep_lease(connection: sa.Connection, found: Partition, lease: Lease) -> None:
    """Somebody else may write, or the same for longer; an empty holder is nobody."""
    values = {"holder": lease.holder, "token": lease.token, "until": lease.until}
    connection.execute(_KEEP_LEASE, {"at": found.id, **values})


def _partition(row: sa.Row[Any]) -> Partition:
    return Partition(
        row.id,
        row.name,
        Head(row.seq, bytes(row.hash)),
        Head(row.base_seq, bytes(row.base_hash)),
        Lease(row.name, row.holder, row.token, Instant(row.until)),
    )
