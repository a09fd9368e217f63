"""Whatever is done to the tables behind our back, verifying names the first entry that suffered."""

import sqlite3
from pathlib import Path

import psycopg
import pytest

from tests.contract.journals import Journal, folded, in_file, notes
from tidegate.journal.chain import verify
from tidegate.journal.selection import EntryFilter
from tidegate.model.errors import OutsideError

E, P = "journal_entries", "journal_partitions"
STEPS = ("seq = 9001 WHERE seq = 8", "seq = 8 WHERE seq = 9", "seq = 9 WHERE seq = 9001")
SWAP = ";".join(f"UPDATE {E} SET {step}" for step in STEPS)
COLUMNS = "at, actor, kind, target, body, hash"
ADD = f"INSERT INTO {E} SELECT partition_id, 3001, {COLUMNS} FROM {E} WHERE seq = 3000"

# What is done, which entry is named, and how.
TAMPERED = {
    "body": (f"UPDATE {E} SET body = replace_ WHERE seq = 7", 7, "changed"),
    "actor": (f"UPDATE {E} SET actor = 'eve' WHERE seq = 7", 7, "changed"),
    "moment": (f"UPDATE {E} SET at = at + 1 WHERE seq = 7", 7, "changed"),
    "kind": (f"UPDATE {E} SET kind = 'asked' WHERE seq = 7", 7, "changed"),
    "target": (f"UPDATE {E} SET target = 'east-2' WHERE seq = 7", 7, "changed"),
    "hash": (f"UPDATE {E} SET hash = body WHERE seq = 7", 7, "changed"),
    "first": (f"UPDATE {E} SET actor = 'eve' WHERE seq = 1", 1, "changed"),
    "last": (f"UPDATE {E} SET actor = 'eve' WHERE seq = 3000", 3_000, "changed"),
    "page's last": (f"UPDATE {E} SET actor = 'eve' WHERE seq = 64", 64, "changed"),
    "all": (f"UPDATE {E} SET actor = 'eve'", 1, "changed"),
    "dropped": (f"DELETE FROM {E} WHERE seq = 7", 7, "missing"),
    "dropped first": (f"DELETE FROM {E} WHERE seq = 1", 1, "missing"),
    "dropped page's last": (f"DELETE FROM {E} WHERE seq = 64", 64, "missing"),
    "dropped some": (f"DELETE FROM {E} WHERE seq > 2100 AND seq < 2900", 2_101, "missing"),
    "dropped last": (f"DELETE FROM {E} WHERE seq = 3000", 3_000, "missing"),
    "dropped all": (f"DELETE FROM {E}", 1, "missing"),
    "swapped": (SWAP, 8, "changed"),
    "moved back": (f"UPDATE {E} SET seq = 5000 WHERE seq = 7", 7, "missing"),
    "added": (ADD, 3_001, "ends before it"),
    "end forgotten": (f"UPDATE {P} SET seq = 2999", 2_999, "another one"),
    "end moved on": (f"UPDATE {P} SET seq = 3001", 3_001, "missing"),
    "end's hash": (f"UPDATE {P} SET hash = base_hash", 3_000, "another one"),
    "renamed": (f"UPDATE {P} SET base_hash = hash", 1, "changed"),
    "start moved on": (f"UPDATE {P} SET base_seq = 1", 2, "changed"),
}


def tamper(journal: Journal, statement: str) -> None:
    """Do something to the tables that the store would not."""
    if journal.kind == "sqlite":
        connection = sqlite3.connect(journal.address)
        connection.executescript(statement.replace("replace_", "CAST(body || ' ' AS BLOB)"))
        connection.close()
        return
    with psycopg.connect(journal.address) as server:
        server.execute(statement.replace("replace_", "body || ' '::bytea").encode())


@pytest.mark.parametrize("statement, seq, what", TAMPERED.values(), ids=list(TAMPERED))
def test_tampering_is_found_where_it_was_done(
    database: Journal, statement: str, seq: int, what: str
) -> None:
    """The first entry that was changed, is missing or out of order is named."""
    store = database.open()
    store.append("r1", notes(3_000))
    tamper(database, statement)
    broken = store.verify("r1")
    assert broken is not None
    assert broken.seq == seq
    assert what in broken.what


@pytest.mark.parametrize("name", [name for name, row in TAMPERED.items() if E in row[0]])
def test_the_quick_way_finds_what_the_plain_one_finds(database: Journal, name: str) -> None:
    """Verifying in the database names the same entry as the core's own check of all entries."""
    statement, _, _ = TAMPERED[name]
    if name in ("added", "dropped last", "dropped all"):
        return  # where the chain ends, the entries alone do not say
    store = database.open()
    store.append("r1", notes(3_000))
    (chain,) = store.chains()
    tamper(database, statement)
    found = store.verify("r1")
    plain = verify(chain.base_hash, 1, store.find("r1", EntryFilter()))
    assert found is not None
    assert plain is not None
    assert found.seq == plain.seq


@pytest.mark.parametrize("value", ["at = 'noon'", "body = 5", "actor = CAST(x'ff' AS TEXT)"])
def test_what_is_no_entry_any_more_is_named_too(template: Path, tmp_path: Path, value: str) -> None:
    """SQLite keeps anything in any column; verifying says where, whatever it finds."""
    made = in_file(tmp_path / "journal.db", template)
    store = made.open()
    store.append("r1", notes(300))
    tamper(made, f"UPDATE {E} SET {value} WHERE seq = 200")
    broken = store.verify("r1")
    assert broken is not None
    assert broken.seq == 200
    assert "entry 200 was changed" in broken.what
    made.close()


def test_entries_of_another_partition_do_not_fit(database: Journal) -> None:
    """Two partitions that change places are both noticed: a chain starts from its name."""
    store = database.open()
    store.append("r1", notes(10))
    store.append("r2", notes(10))
    for old, new in ((1, 9), (2, 1), (9, 2)):
        tamper(database, f"UPDATE {E} SET partition_id = {new} WHERE partition_id = {old}")
    for name in ("r1", "r2"):
        broken = store.verify(name)
        assert broken is not None
        assert broken.seq == 1


@pytest.mark.parametrize(
    "statement, seq",
    [
        (f"UPDATE {E} SET actor = 'eve' WHERE seq = 7", 7),
        (f"DELETE FROM {E} WHERE seq = 6", 6),
        (f"UPDATE {P} SET base_hash = hash", 6),
        (f"UPDATE {P} SET base_seq = 6", 7),
    ],
)
def test_a_compacted_chain_is_verified_from_what_was_kept(
    database: Journal, statement: str, seq: int
) -> None:
    """The hash of the last dropped entry is what the first kept one has to follow."""
    store = database.open()
    store.append("r1", notes(10))
    store.compact("r1", folded(10), keep_after=5)
    assert store.verify("r1") is None
    tamper(database, statement)
    broken = store.verify("r1")
    assert broken is not None
    assert broken.seq == seq


def test_a_chain_with_a_hole_is_not_folded(database: Journal) -> None:
    """Reading on over a missing entry would give a state that never was: it fails, and says so."""
    store = database.open()
    store.append("r1", notes(3_000))
    tamper(database, f"DELETE FROM {E} WHERE seq = 2000")
    with pytest.raises(OutsideError, match="entries are missing"):
        list(store.read("r1"))
