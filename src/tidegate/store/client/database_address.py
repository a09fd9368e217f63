"""Opens a journal by its address: a file, `postgresql://…`, or `memory:`."""

from pathlib import Path

from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.store.archive_port import Archive
from tidegate.store.client import migrations
from tidegate.store.client.archive import SqlArchive
from tidegate.store.client.database import Database
from tidegate.store.client.memory import MemoryStore
from tidegate.store.client.sqlite import SqliteDatabase
from tidegate.store.port import NoJournalError

# What every file of SQLite begins with.
_MAGIC = b"SQLite format 3\0"

_POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")


def open_archive(address: str, *, writes: bool, creates: bool | None = None) -> Archive:
    """The journal at an address; one that is only read is neither made nor changed.

    NoJournalError where there is none, unless one may be made: `creates`, or else `writes`.
    """
    makes = writes if creates is None else creates
    if address == "memory:":
        return MemoryStore()
    scheme, separator, rest = address.partition("://")
    if separator and scheme in _POSTGRES:
        # A file needs nothing of it: everyday commands do not wait for the import.
        from tidegate.store.client.postgres import postgres_database

        database: Database = postgres_database(address)
    elif separator and scheme != "sqlite":
        remedy = "name a file, or postgresql://user@host/database"
        raise UserError((Problem("--database", f"no journal is kept in {scheme}", remedy),))
    else:
        database = _file(Path(rest.removeprefix("/") if separator else address), writes, makes)
    try:
        if writes:
            migrations.upgrade(database, creates=makes)
        else:
            migrations.require(database)
    except BaseException:
        database.close()
        raise
    return SqlArchive(database)


def _file(path: Path, writes: bool, creates: bool) -> Database:
    """A file that is a journal, or that may become one."""
    if path.is_dir():
        raise _unusable(path, "is a directory", "name a file in it")
    if not path.parent.is_dir():
        raise _unusable(path, f"there is no directory {path.parent}", "make it first")
    if not path.exists():
        if not creates:
            raise NoJournalError(str(path.absolute()), "no such journal")
        return SqliteDatabase(path, mode="rwc")
    if not creates and not path.stat().st_size:
        raise NoJournalError(str(path.absolute()), "holds no journal")
    # An empty file is a database without tables to SQLite, and so to us.
    if path.stat().st_size and not is_sqlite(path):
        raise _unusable(path, "is no journal", "name a file that `tidegate` made")
    return SqliteDatabase(path, mode="rw" if writes else "ro")


def is_sqlite(path: Path) -> bool:
    """Whether a file is one of SQLite's."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _unusable(path: Path, message: str, remedy: str) -> UserError:
    return UserError((Problem(str(path), message, remedy),))
