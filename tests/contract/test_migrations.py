"""Tables and migrations say the same, on both databases; old and new journals are distinguished."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from tests.contract.journals import Journal, database_of, notes
from tidegate.model.errors import UserError
from tidegate.store.client import migrations
from tidegate.store.client.database_address import open_archive
from tidegate.store.client.schema import metadata


def drift(connection: sa.Connection) -> list[object]:
    """What autogenerate would change."""
    options = {"compare_type": True, "version_table": migrations.VERSION_TABLE}
    found = compare_metadata(MigrationContext.configure(connection, opts=options), metadata)
    return list(found)


def test_migrations_make_the_tables_of_the_code(database: Journal) -> None:
    """Autogenerate finds nothing to do after our own migrations."""
    kept = database_of(database)
    with kept.altering() as connection:
        assert drift(connection) == []
    kept.close()


def test_drift_would_be_found(database: Journal) -> None:
    """The check above can fail: a table too many and a column too few are both seen."""
    kept = database_of(database)
    with kept.altering() as connection:
        connection.exec_driver_sql("CREATE TABLE extra (a INTEGER)")
        connection.exec_driver_sql("ALTER TABLE journal_projections DROP COLUMN seq")
        assert len(drift(connection)) == 2
        connection.rollback()
    kept.close()


def test_the_newest_migration_is_the_one_we_look_for() -> None:
    """The number compared at every start is alembic's own last one."""
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        scripts = ScriptDirectory.from_config(migrations.alembic_config(connection))
        assert scripts.get_current_head() == migrations.NEWEST
    engine.dispose()


def test_a_new_file_has_the_tables_that_all_migrations_make(tmp_path: Path) -> None:
    """Statement by statement: `newest.sql` is what Alembic makes."""

    def tables(path: Path) -> list[tuple[str, ...]]:
        with closing(sqlite3.connect(path)) as file:
            asked = "SELECT type, name, sql FROM sqlite_master ORDER BY name"
            rows = [tuple(map(str, row)) for row in file.execute(asked)]
            versions = file.execute(f"SELECT version_num FROM {migrations.VERSION_TABLE}")
            return [*((kind, name, " ".join(sql.split())) for kind, name, sql in rows), *versions]

    open_archive(str(tmp_path / "new.db"), writes=True).close()
    engine = sa.create_engine(f"sqlite:///{tmp_path}/old.db")
    with engine.begin() as connection:
        command.upgrade(migrations.alembic_config(connection), "head")
    engine.dispose()
    assert tables(tmp_path / "new.db") == tables(tmp_path / "old.db")


def test_making_the_tables_twice_changes_nothing(database: Journal) -> None:
    """Opening a journal again finds its facts."""
    database.open().append("r1", notes(2))
    assert database.open().heads() == {"r1": 2}


def test_many_may_open_a_new_journal_at_once(tmp_path: Path) -> None:
    """Workers that start together on an empty file all get a journal, and the same."""
    path = str(tmp_path / "new.db")
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: open_archive(path, writes=True), range(4)))
    for store in stores:
        store.append("r1", notes(1))
    assert stores[0].heads() == {"r1": 4}
    for store in stores:
        store.close()


def test_many_may_open_an_empty_server_at_once(postgres: str) -> None:
    """The same on a server."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS empty")
        connection.execute("CREATE DATABASE empty")
    address = postgres.replace("/postgres?", "/empty?")
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: open_archive(address, writes=True), range(4)))
    for store in stores:
        store.append("r1", notes(1))
    assert stores[0].heads() == {"r1": 4}
    for store in stores:
        store.close()


def set_version(path: Path, version: str) -> None:
    """Pretend that another Tidegate made the journal."""
    connection = sqlite3.connect(path)
    connection.execute("UPDATE journal_version SET version_num = ?", (version,))
    connection.commit()
    connection.close()


@pytest.mark.parametrize("writes", [False, True])
def test_a_newer_journal_is_left_alone(template: Path, tmp_path: Path, writes: bool) -> None:
    """No one writes to tables they do not know."""
    path = tmp_path / "journal.db"
    path.write_bytes(template.read_bytes())
    set_version(path, "9999")
    with pytest.raises(UserError, match="newer than the"):
        open_archive(str(path), writes=writes)


def test_an_older_journal_is_not_changed_by_reading(template: Path, tmp_path: Path) -> None:
    """A reader says that the tables are old, and does not touch them."""
    path = tmp_path / "journal.db"
    path.write_bytes(template.read_bytes())
    set_version(path, "0000")
    with pytest.raises(UserError, match="brings it up to date"):
        open_archive(str(path), writes=False)


def test_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    """Other files, folders and addresses of nothing are refused with what to write instead."""
    text = tmp_path / "notes.txt"
    text.write_text("no database")
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE mine (a)")
    connection.close()
    cases = {
        str(text): "is no journal",
        str(tmp_path): "is a directory",
        str(other): "holds no journal",
        str(tmp_path / "none.db"): "no such journal",
        str(tmp_path / "none" / "none.db"): "there is no directory",
        "mysql://host/db": "no journal is kept in mysql",
        "postgresql://host:port/db": "not a PostgreSQL address",
    }
    for address, words in cases.items():
        with pytest.raises(UserError, match=words):
            open_archive(address, writes=False)
    assert not (tmp_path / "none.db").exists()
