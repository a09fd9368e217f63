"""A copy of a journal's file, made while others write to it.

SQLite copies page by page within one read transaction, so the copy is the journal as it was when
the copying began. It gets its name only when it is whole and on disk.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from tidegate.model.errors import OutsideError, UserError
from tidegate.model.problem import Problem
from tidegate.store.client.database import Database
from tidegate.store.port import Tell

# Pages of 4 KiB copied between two words of progress.
_STEP_PAGES = 4_096


def copy_file(database: Database, path: Path, tell: Tell | None) -> None:
    """Copy a journal into a file that is not there yet."""
    if not database.is_sqlite:
        remedy = "use pg_dump, or `tidegate journal export`"
        raise UserError((Problem(database.name, "is on a PostgreSQL server", remedy),))
    if path.exists():
        raise UserError((Problem(str(path), "is there already", "name a new file"),))
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        try:
            _copy(database, unfinished, tell)
        except OutsideError as error:
            # SQLite says the same of both files, and does not name one: no space, no folder.
            why = str(error).removeprefix(f"{database.name}: ")
            raise OutsideError(f"{database.name}, copied to {path}: {why}") from None
        _sync(unfinished)
        unfinished.rename(path)
    finally:
        unfinished.unlink(missing_ok=True)
    _sync(path.parent)


def _copy(database: Database, path: Path, tell: Tell | None) -> None:
    told = 0

    def progress(_: int, remaining: int, total: int) -> None:
        nonlocal told
        if tell is not None:
            tell(total - remaining - told)
        told = total - remaining

    with database.snapshot() as driver, closing(sqlite3.connect(path)) as target:
        # The first read makes the transaction see this moment and no later one.
        driver.execute("SELECT count(*) FROM journal_partitions").fetchall()
        driver.raw.backup(target, pages=_STEP_PAGES, progress=progress)
        # A file that is whole in itself: there is no log beside it to be forgotten.
        target.execute("PRAGMA journal_mode = DELETE")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
