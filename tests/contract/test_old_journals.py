"""Journals that earlier versions wrote verify, fold to the same states and replay the same.

They are in tests/fixtures/journals, made by `make.py` there with the code of their version.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from tests.contract.journals import Journal
from tests.fixtures.journals import reading
from tests.fixtures.journals.reading import Archive, Expected

NAMES = reading.names()
DATABASES = sorted(path.name.removesuffix(".db.gz") for path in reading.FOLDER.glob("*.db.gz"))
MUST_HAVE = {
    *("declared", "observed", "asked", "decided", "bound", "acted", "braked", "lifted", "told"),
    *("handled", "surveyed", "planned", "imported", "folded"),
}


def check(name: str, archive: Archive) -> None:
    """A journal is what the version that wrote it found in it."""
    expected = reading.expected_of(name)
    assert reading.broken_chains(archive) == []
    assert reading.ends_of(archive) == ends(expected)
    chains, claims, states = reading.found_in(archive)
    assert claims == expected.claims
    then = reading.states_of(name, expected)
    for key, one in expected.partitions.items():
        assert reading.difference(then[key], states[key]) is None, key
        now = chains[key]
        assert (now.decisions, now.targets) == (one.decisions, one.targets), key
        assert now.facts == one.facts, key


def ends(expected: Expected) -> dict[str, tuple[int, int, str, int]]:
    """Where each chain began and ended."""
    return {
        key: (one.base_seq, one.seq, one.hash, one.token)
        for key, one in expected.partitions.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_an_old_export_verifies_folds_and_replays_the_same(name: str, journal: Journal) -> None:
    """In memory, in SQLite and in PostgreSQL; and what is exported again is the same file."""
    archive = journal.open()
    reading.take_in(archive, reading.export_of(name))
    check(name, archive)
    assert reading.exported(archive) == reading.export_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_facts_of_old_journals_are_written_as_they_were(name: str) -> None:
    """What is read and written again is the same to the byte: no field was lost or renamed."""
    with reading.opened("memory:") as archive:
        reading.take_in(archive, reading.export_of(name))
        assert reading.rewritten(archive) == []


@pytest.mark.parametrize("name", NAMES)
def test_old_journals_are_shown_as_they_were(name: str, tmp_path: Path) -> None:
    """Where words are meant to change, `make.py --lines` writes the new ones down."""
    address = str(tmp_path / "journal.db")
    with reading.opened(address) as archive:
        reading.take_in(archive, reading.export_of(name))
    assert reading.shown(address) == reading.unpacked(f"{name}.show.txt.gz").decode().splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_recorded_of_states_is_whole(name: str) -> None:
    """Each recorded state is the one whose hash is recorded."""
    expected = reading.expected_of(name)
    states = reading.states_of(name, expected)
    assert {key: reading.hash_of(states[key]) for key in expected.partitions} == {
        key: one.state_hash for key, one in expected.partitions.items()
    }


# Databases as they were


def old_file(name: str, folder: Path) -> str:
    """The SQLite file of a journal, unpacked."""
    path = folder / "old.db"
    path.write_bytes(reading.unpacked(f"{name}.db.gz"))
    return str(path)


@pytest.fixture
def another_database(postgres: str) -> Iterator[str]:
    """A database without tables on the server."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS old_journal")
        connection.execute("CREATE DATABASE old_journal")
    yield urlunsplit(urlsplit(postgres)._replace(path="/old_journal"))
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP DATABASE old_journal WITH (FORCE)")


def check_database(name: str, address: str) -> None:
    """An old database is opened, brought up to date, read, and written to."""
    with reading.opened(address) as archive:
        check(name, archive)
        states = reading.states_of(name, reading.expected_of(name))
        kept = [key for key in archive.partitions() if archive.load(key) is not None]
        assert bool(kept) == (name != "rollout-braked"), "projections are kept of long ones"
        for key in archive.partitions():
            assert reading.difference(states[key], reading.desk_state(archive, key)) is None, key


@pytest.mark.parametrize("name", DATABASES)
def test_an_old_file_opens_and_holds_the_same(name: str, tmp_path: Path) -> None:
    """Its tables are brought up to date; states taken up from its projections are the same."""
    check_database(name, old_file(name, tmp_path))


@pytest.mark.parametrize("name", DATABASES)
def test_an_old_server_opens_and_holds_the_same(name: str, another_database: str) -> None:
    """The same of PostgreSQL, from what pg_dump made of it."""
    with psycopg.connect(another_database) as connection:
        connection.execute(reading.unpacked(f"{name}.sql.gz"))
    check_database(name, another_database)


# What is kept tells of everything


def test_every_kind_of_fact_is_kept() -> None:
    """And of both databases."""
    every = [reading.expected_of(name) for name in NAMES]
    found = {kind for each in every for one in each.partitions.values() for kind in one.facts}
    assert found == MUST_HAVE
    assert {store for each in every for store in each.stores} == {"postgres", "sqlite"}
    assert any(each.claims for each in every)
    assert sum(one.decisions for each in every for one in each.partitions.values()) > 500


# These checks can fail


@pytest.mark.parametrize("old, new", [(b"user:ada", b"user:eve"), (b'"v2"', b'"v9"')])
def test_a_changed_byte_is_not_imported(old: bytes, new: bytes) -> None:
    """Who did it, or what a fact says: the chain does not hold."""
    lines = reading.export_of("rollout-braked")
    with reading.opened("memory:") as archive:
        with pytest.raises(reading.UserError, match="changed"):
            reading.take_in(archive, lines.replace(old, new, 1))
        assert archive.partitions() == []


def test_a_changed_row_of_an_old_file_is_found(tmp_path: Path) -> None:
    """One byte in a body, in the file itself."""
    path = tmp_path / "old.db"
    content = reading.unpacked("rollout-braked.db.gz")
    assert b"incident 42" in content
    path.write_bytes(content.replace(b"incident 42", b"incident 43"))
    with reading.opened(str(path)) as archive:
        assert any("was changed" in each for each in reading.broken_chains(archive))


def test_a_fact_that_says_something_else_is_found_by_its_state_and_decisions(
    tmp_path: Path,
) -> None:
    """A chain that was made anew around one changed fact holds; states and replay do not."""
    name = "rollout-succeeding"
    with reading.opened("memory:") as archive:
        reading.take_in(archive, reading.export_of(name))
        lines = reading.forged(archive, b'"soak":300000000000', b'"soak":900000000000')
    with reading.opened("memory:") as archive:
        reading.take_in(archive, lines)
        assert reading.broken_chains(archive) == []
        (key,) = archive.partitions()
        then = reading.states_of(name, reading.expected_of(name))[key]
        now = reading.state_of(key, archive.read(key))
        assert "soak" in (reading.difference(then, now) or "")
        with pytest.raises(reading.NotEqualError, match="entry"):
            reading.replayed(archive, key)
        with pytest.raises(AssertionError):
            check(name, archive)


THEN: dict[str, Any] = {"reports": {"a": {"status": "Failed", "tags": [1, 2]}}, "told": {}}


@pytest.mark.parametrize(
    "now, where",
    [
        ({**THEN, "told": {"x": 1}}, "state.told.x"),
        ({"reports": THEN["reports"]}, "state.told"),
        ({**THEN, "reports": {}}, "state.reports.a"),
        ({**THEN, "reports": {"a": {"status": "Done", "tags": [1, 2]}}}, "state.reports.a.status"),
        ({**THEN, "reports": {"a": {"status": "Failed", "tags": [1]}}}, "state.reports.a.tags"),
        ({**THEN, "reports": {"a": {"status": "Failed", "tags": [1, 3]}}}, "tags[1]"),
        ({**THEN, "fresh": None}, "state.fresh"),
    ],
)
def test_a_difference_of_states_is_named(now: Any, where: str) -> None:
    """What is missing, other or more than it was."""
    assert where in (reading.difference(THEN, now) or "")


def test_a_field_that_is_known_to_be_added_is_no_difference() -> None:
    """Anywhere in a state, with any value; everything else has to be as it was."""
    now = {**THEN, "fresh": [1], "reports": {"a": {**THEN["reports"]["a"], "fresh": 2}}}
    assert reading.difference(THEN, now, frozenset({"fresh"})) is None
    assert reading.difference(THEN, {**now, "told": 1}, frozenset({"fresh"})) is not None


def test_the_kept_files_are_small() -> None:
    """They are in every checkout."""
    assert sum(path.stat().st_size for path in reading.FOLDER.iterdir() if path.is_file()) < 1.5e6
