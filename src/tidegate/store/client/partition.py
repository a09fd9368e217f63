"""The row of a partition: the end of its chain, its start, and its lease."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from tidegate.journal.chain import genesis
from tidegate.journal.lease import KeptLease, Lease, LeaseRequest, Look
from tidegate.journal.pieces import Chain
from tidegate.model.json_text import json_decoder
from tidegate.model.time import Duration, Instant
from tidegate.store.client.database import Driver
from tidegate.store.port import Head

# Once or more a round: on the driver's own cursor, which takes a fifth of the time.
_COLUMNS = "id, name, seq, hash, base_seq, base_hash, holder, token, until"
_FIND_SQLITE = f"SELECT {_COLUMNS} FROM journal_partitions WHERE name = ?"
_FIND_POSTGRES = f"SELECT {_COLUMNS} FROM journal_partitions WHERE name = %s"
# In SQLite the transaction has locked the whole database already.
_LOCK_POSTGRES = f"{_FIND_POSTGRES} FOR UPDATE"
_MOVE_HEAD_SQLITE = "UPDATE journal_partitions SET seq = ?, hash = ? WHERE id = ?"
_MOVE_HEAD_POSTGRES = "UPDATE journal_partitions SET seq = %s, hash = %s WHERE id = %s"
# Another transaction may be creating it at the same time.
_MAKE = (
    "INSERT INTO journal_partitions"
    " (name, seq, hash, base_seq, base_hash, holder, token, until)"
    " VALUES ({0}, 0, {0}, 0, {0}, '', 0, 0) ON CONFLICT DO NOTHING"
)
_KEEP_LEASE = "UPDATE journal_partitions SET holder = {0}, token = {0}, until = {0} WHERE id = {0}"
# In the order in which appends of several partitions lock theirs.
_LOCK_MANY = (
    f"SELECT {_COLUMNS} FROM journal_partitions WHERE name = ANY(%s)"
    ' ORDER BY name COLLATE "C" FOR UPDATE'
)
_KEEP_MANY = (
    "UPDATE journal_partitions AS kept"
    " SET holder = new.holder, token = new.token, until = new.until"
    " FROM unnest(%s::bigint[], %s::text[], %s::bigint[], %s::bigint[])"
    " AS new (id, holder, token, until)"
    " WHERE kept.id = new.id"
)
_KNOWN = "SELECT name FROM journal_partitions WHERE name = ANY(%s)"
_LEASES = "SELECT name, holder, token, until FROM journal_partitions WHERE token > 0"
_ALL = f"SELECT {_COLUMNS} FROM journal_partitions WHERE seq > 0"
_ROWS = f"SELECT {_COLUMNS} FROM journal_partitions"
_HEADS = "SELECT name, seq FROM journal_partitions WHERE seq > 0"
_MOVE_BASE = "UPDATE journal_partitions SET base_seq = ?, base_hash = ? WHERE id = ?"


class Partition(NamedTuple):
    """One partition as it is kept."""

    id: int
    name: str
    head: Head
    base: Head
    record: KeptLease

    @property
    def lease(self) -> Lease:
        """Its lease."""
        return self.record.lease

    def chain(self) -> Chain:
        """Its chain, to be verified or moved."""
        base, head = self.base, self.head
        return Chain(self.name, base.seq, base.hash, head.seq, head.hash, self.lease.token)


def find(driver: Driver, name: str) -> Partition | None:
    """A partition; None if nothing was ever written to it."""
    return _row(driver, name, _FIND_POSTGRES)


def _row(driver: Driver, name: str, postgres: str) -> Partition | None:
    row = driver.raw.execute(_FIND_SQLITE if driver.is_sqlite else postgres, (name,)).fetchone()
    return None if row is None else made(row)


def made(row: tuple[Any, ...]) -> Partition:
    """A partition, from its row."""
    ident, name, seq, hashed, base_seq, base_hash, holder, token, until = row
    return Partition(
        ident,
        name,
        Head(seq, bytes(hashed)),
        Head(base_seq, bytes(base_hash)),
        _record(name, holder, token, until),
    )


class _Beside(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept behind the holder's name, in the same column: JSON, behind a line break.

    So the tables stay those of every Tidegate that may share the journal. An older one never has
    such a name itself: to it this is the name of another worker.
    """

    term: int
    look: Look | None = None
    wish: LeaseRequest | None = None


_beside = json_decoder(_Beside)


def _record(name: str, column: str, token: int, until: int) -> KeptLease:
    holder, line, kept = column.rpartition("\n")
    try:
        beside = _beside(kept) if line else None
    except msgspec.MsgspecError:
        beside = None
    if beside is None:  # an older Tidegate wrote it
        return KeptLease(Lease(name, column, token, Instant(until)))
    lease = Lease(name, holder, token, Instant(until))
    return KeptLease(lease, Duration(beside.term), beside.look, beside.wish)


def find_leases(driver: Driver) -> dict[str, KeptLease]:
    """Every lease that was ever given out, by the name of its partition."""
    rows = driver.raw.execute(_LEASES).fetchall()
    return {row[0]: _record(*row) for row in sorted(rows)}


def find_heads(driver: Driver) -> dict[str, int]:
    """The number of the last entry of every partition, by name."""
    return dict(sorted(driver.execute(_HEADS).fetchall()))


def all_rows(driver: Driver) -> list[tuple[Any, ...]]:
    """The row of every partition, with an entry or not; its name is the second column."""
    found: list[tuple[Any, ...]] = driver.execute(_ROWS).fetchall()
    return found


def find_all(driver: Driver) -> list[Partition]:
    """Every partition with an entry, by name."""
    rows = driver.execute(_ALL).fetchall()
    return sorted(map(made, rows), key=lambda each: each.name)


def lock(driver: Driver, name: str) -> Partition:
    """A partition, locked until this transaction ends; created if it does not exist."""
    found = _row(driver, name, _LOCK_POSTGRES)
    if found is None:
        start = genesis(name)
        driver.raw.execute(_MAKE.format(_mark(driver)), (name, start, start))
        found = _row(driver, name, _LOCK_POSTGRES)
    assert found is not None, "it was made a moment ago"
    return found


def _mark(driver: Driver) -> str:
    """Where a value goes in a statement."""
    return "?" if driver.is_sqlite else "%s"


def move_head(driver: Driver, found: Partition, head: Head) -> None:
    """The chain ends further on."""
    statement = _MOVE_HEAD_SQLITE if driver.is_sqlite else _MOVE_HEAD_POSTGRES
    driver.raw.execute(statement, (head.seq, head.hash, found.id))


def move_base(driver: Driver, found: Partition, base: Head) -> None:
    """The chain starts further on: everything up to there is gone."""
    driver.execute(_MOVE_BASE, (base.seq, base.hash, found.id))


def keep_lease(driver: Driver, found: Partition, record: KeptLease) -> None:
    """Give the lease to a holder, or extend it; an empty holder releases it."""
    lease = record.lease
    values = (_column(record), lease.token, lease.until, found.id)
    driver.raw.execute(_KEEP_LEASE.format(_mark(driver)), values)


def _column(record: KeptLease) -> str:
    """The holder's name, and what is kept behind it."""
    beside = msgspec.json.encode(_Beside(record.term, record.look, record.wish)).decode()
    return f"{record.lease.holder}\n{beside}"


def lock_many(driver: Driver, names: Sequence[str]) -> list[Partition]:
    """Those partitions that exist, locked until this transaction ends."""
    if not driver.is_sqlite:
        return [made(row) for row in driver.raw.execute(_LOCK_MANY, (list(names),)).fetchall()]
    found = (_row(driver, name, "") for name in names)
    return [each for each in found if each is not None]


def keep_many(driver: Driver, records: Sequence[tuple[Partition, KeptLease]]) -> None:
    """The same for many."""
    if driver.is_sqlite:
        for found, record in records:
            keep_lease(driver, found, record)
    elif records:
        ids = [found.id for found, _ in records]
        leases = [record.lease for _, record in records]
        columns = [_column(record) for _, record in records], [each.token for each in leases]
        driver.raw.execute(_KEEP_MANY, (ids, *columns, [each.until for each in leases]))


def make_missing(driver: Driver, names: Sequence[str]) -> None:
    """Make the partitions that do not exist."""
    if driver.is_sqlite:
        known = {name for name in names if _row(driver, name, "") is not None}
    else:
        rows = driver.raw.execute(_KNOWN, (list(names),)).fetchall()
        known = {row[0] for row in rows}
    for name in names:
        if name not in known:
            start = genesis(name)
            driver.raw.execute(_MAKE.format(_mark(driver)), (name, start, start))
