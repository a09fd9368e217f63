"""A cache gives back what was put, or nothing: whatever happened to its file."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidegate.machine.file_cache import ENTRIES_MAX, FileCache, NoCache, cache_path

KEYS = [bytes([i]) * 32 for i in range(4)]


def test_what_was_put_is_given_back(tmp_path: Path) -> None:
    """By another process as well; and only that."""
    FileCache(tmp_path / "a" / "c.db").put({KEYS[0]: b"x", KEYS[1]: b""})
    assert FileCache(tmp_path / "a" / "c.db").get(KEYS) == {KEYS[0]: b"x", KEYS[1]: b""}
    assert NoCache().get(KEYS) == {}


def test_a_later_value_replaces_an_earlier_one(tmp_path: Path) -> None:
    """Of one key."""
    cache = FileCache(tmp_path / "c.db")
    cache.put({KEYS[0]: b"x"})
    cache.put({KEYS[0]: b"y"})
    assert cache.get(KEYS) == {KEYS[0]: b"y"}


def test_many_are_found_at_once(tmp_path: Path) -> None:
    """More than one question can ask for."""
    many = {i.to_bytes(32): str(i).encode() for i in range(2_345)}
    cache = FileCache(tmp_path / "c.db")
    cache.put(many)
    assert cache.get(many) == many


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=600))
def test_a_damaged_file_never_lies(tmp_path: Path, place: float, junk: bytes) -> None:
    """Bytes written anywhere into the file: what still comes back is what was put."""
    path = tmp_path / "c.db"
    path.unlink(missing_ok=True)
    put = {key: key * 20 for key in KEYS}
    FileCache(path).put(put)
    raw = bytearray(path.read_bytes())
    at = int(place * len(raw))
    raw[at : at + len(junk)] = junk
    path.write_bytes(raw)
    assert FileCache(path).get(KEYS).items() <= put.items()
    FileCache(path).put(put)
    assert FileCache(path).get(KEYS).items() <= put.items()


def test_a_file_that_is_no_database_makes_room(tmp_path: Path) -> None:
    """It is thrown away, and the next one is sound."""
    path = tmp_path / "c.db"
    path.write_bytes(b"no database at all" * 100)
    cache = FileCache(path)
    assert cache.get(KEYS) == {}
    cache.put({KEYS[0]: b"x"})
    assert cache.get(KEYS) == {KEYS[0]: b"x"}


def test_a_file_of_another_version_makes_room(tmp_path: Path) -> None:
    """A table of another shape would refuse every value, and no one would ever be notified."""
    path = tmp_path / "cache.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("create table entry (id integer primary key, key blob, value blob)")
        database.execute("insert into entry values (1, x'00', x'00')")
    cache = FileCache(path)
    cache.put({b"k": b"v"})
    assert cache.get([b"k", b"\0"]) == {b"k": b"v"}


def test_a_value_moved_to_another_key_is_not_believed(tmp_path: Path) -> None:
    """A person swapped two of them."""
    path = tmp_path / "c.db"
    FileCache(path).put({KEYS[0]: b"x"})
    with sqlite3.connect(path) as database:
        database.execute("update entry set key = ?", (KEYS[1],))
    database.close()
    assert FileCache(path).get(KEYS) == {}


def test_a_place_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    """A file stands where the folder would be."""
    (tmp_path / "a").write_text("")
    cache = FileCache(tmp_path / "a" / "c.db")
    cache.put({KEYS[0]: b"x"})
    assert cache.get(KEYS) == {}


def test_a_busy_file_is_left_alone(tmp_path: Path) -> None:
    """Another process writes for long: we go without, and its file stays."""
    path = tmp_path / "c.db"
    FileCache(path).put({KEYS[0]: b"x"})
    with sqlite3.connect(path, isolation_level=None) as database:
        database.execute("begin exclusive")
        FileCache(path).put({KEYS[1]: b"y"})
    database.close()
    assert FileCache(path).get(KEYS) == {KEYS[0]: b"x"}


def test_what_is_full_is_emptied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not grow for ever, and what was put last is there."""
    assert ENTRIES_MAX > 10_000
    monkeypatch.setattr("tidegate.machine.file_cache.ENTRIES_MAX", 3)
    cache = FileCache(tmp_path / "c.db")
    for key in KEYS:
        cache.put({key: b"x"})
    assert cache.get(KEYS).keys() == {KEYS[3]}


def test_it_is_where_caches_belong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """XDG_CACHE_HOME if it is absolute, else the folder everyone uses."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_path() == tmp_path / "tidegate" / "bundle.db"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", os.fspath(tmp_path / "h"))
    assert cache_path() == tmp_path / "h" / ".cache" / "tidegate" / "bundle.db"
