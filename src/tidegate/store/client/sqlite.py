"""A database in a file: a log that is synced at each commit, and writers that queue.

`BEGIN IMMEDIATE` and a busy timeout make a writer wait for another instead of failing half way.

A file that is removed or replaced while it is open lives on for the process that has it: it would
write what is lost at its end, and see no brake that others set in the new one. So each use looks
whether the file of this name is still the one that was opened.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock, RLock, local
from typing import TYPE_CHECKING
from urllib.parse import quote

from tidegate.model.errors import OutsideError
from tidegate.store.client.database import BUSY_TIMEOUT_MS, Database, Driver, one_line

if TYPE_CHECKING:
    import sqlalchemy as sa

# Pages that a connection keeps in memory: the writer's, and those of each thread that reads a few.
WRITER_CACHE_KIB, READER_CACHE_KIB = 2_000, 128

_PRAGMAS = (f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}",)
_PRAGMAS_WRITING = (*_PRAGMAS, "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL")
# What only a mistake of ours raises.
_OURS = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError)


class SqliteDatabase(Database):
    """Transactions on one file. Modes are SQLite's: ro, rw, and rwc, which makes the file."""

    def __init__(self, path: Path, *, mode: str) -> None:
        super().__init__(str(path), path)
        self._place = path.absolute()
        self._address = f"file:{quote(str(self._place))}?mode={mode}"
        self._pragmas = _PRAGMAS if mode == "ro" else _PRAGMAS_WRITING
        self._writer: sqlite3.Connection | None = None
        self._mine = local()
        # Connections of threads that read, each with a lock that is held while it is used.
        self._opened: list[tuple[sqlite3.Connection, RLock]] = []
        self._opened_lock = Lock()
        # A writer that finds the database locked retries after up to a tenth of a second: those of
        # one process are better off queueing here.
        self._queue = Lock()
        # The device and number of the file that was opened; None: none was.
        self._file: tuple[int, int] | None = None

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._address, uri=True, isolation_level=None, check_same_thread=False
        )
        for pragma in self._pragmas:
            connection.execute(pragma)
        self._file = self._file or self._found()
        return connection

    def _found(self) -> tuple[int, int] | None:
        try:
            status = self._place.stat()
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino

    def _check_same(self) -> None:
        """OutsideError if the file of this name is not the one that was opened."""
        if self._file is not None and self._file != self._found():
            what = "was removed or replaced while this process had it open"
            raise OutsideError(f"{self.name}: {what}; end it, restore the journal, start it again")

    @contextmanager
    def appending(self) -> Iterator[Driver]:
        """One transaction that writes, all or nothing; it is on disk when this ends."""
        with self._outside(), self._queue:
            file = self._writer
            if file is None:
                file = self._writer = self._sized(WRITER_CACHE_KIB)
            with _begun(file, "BEGIN IMMEDIATE"):
                yield Driver(file, True)

    @contextmanager
    def asking(self) -> Iterator[Driver]:
        """For one statement that reads, on a connection of this thread.

        A round asks several times whether there is anything new: a transaction of its own takes
        several times as long as the statement.
        """
        mine: tuple[sqlite3.Connection, RLock] | None = getattr(self._mine, "reader", None)
        with self._outside():
            if mine is None:
                mine = self._mine.reader = self._sized(READER_CACHE_KIB), RLock()
                with self._opened_lock:
                    self._opened.append(mine)
            file, used = mine
            with used:
                yield Driver(file, True)

    def _sized(self, cache_kib: int) -> sqlite3.Connection:
        file = self._connect()
        file.execute(f"PRAGMA cache_size = -{cache_kib}")
        return file

    @contextmanager
    def snapshot(self) -> Iterator[Driver]:
        """One long transaction, on a connection of its own, that sees what was when this began.

        Its caller may hand pieces on and run other statements in between.
        """
        with self._outside(), closing(self._connect()) as file, _begun(file, "BEGIN"):
            yield Driver(file, True)

    @contextmanager
    def altering(self) -> "Iterator[sa.Connection]":
        """The same as `appending`, on a connection of SQLAlchemy."""
        import sqlalchemy as sa
        from sqlalchemy.exc import DBAPIError

        with self._outside(), self._queue:
            engine = sa.create_engine("sqlite://", creator=self._connect, poolclass=sa.NullPool)
            sa.event.listen(engine, "begin", _begin)
            try:
                with engine.begin() as connection:
                    yield connection
            except DBAPIError as error:
                raise error.orig or error from error
            finally:
                engine.dispose()

    def close(self) -> None:
        """Close every connection, each after the statement that another thread runs on it.

        SQLite frees a statement with its connection; a thread that runs it ends the process.
        """
        with self._opened_lock:
            readers, self._opened, self._mine = self._opened, [], local()
        for file, used in readers:
            with used:
                file.close()
        with self._queue:
            if self._writer is not None:
                self._writer.close()
            self._writer = None
        self._file = None

    @contextmanager
    def _outside(self) -> Iterator[None]:
        """What the database cannot do is an OutsideError; what we did wrong stays what it is."""
        self._check_same()
        try:
            yield
        except _OURS:
            raise
        except sqlite3.Error as error:
            raise OutsideError(f"{self.name}: {one_line(error)}") from error


@contextmanager
def _begun(file: sqlite3.Connection, begin: str) -> Iterator[None]:
    """A transaction that ends with this: committed, or undone after an error."""
    file.execute(begin)
    try:
        yield
        file.execute("COMMIT")
    except BaseException:
        if file.in_transaction:  # some errors have ended it already
            file.execute("ROLLBACK")
        raise


def _begin(connection: "sa.Connection") -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
