"""A durable database: what it acknowledged is on disk, and its errors become our own.

SQLite: a write-ahead log that is synced at each commit, and writers that queue instead of failing
half way (`BEGIN IMMEDIATE`, a busy timeout). PostgreSQL: a commit is waited for, even where the
server's default would not.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from threading import Lock, local
from typing import Any, NamedTuple
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from tidegate.model.errors import OutsideError, UserError
from tidegate.model.problem import Problem

# How long a writer waits for another. Longer than any append takes, shorter than a lease.
BUSY_TIMEOUT_MS = 10_000
# Pages that a connection keeps in memory: the writer's, and those of each thread that reads a few.
WRITER_CACHE_KIB, READER_CACHE_KIB = 2_000, 128

_PRAGMAS = (f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}",)
_PRAGMAS_WRITING = (*_PRAGMAS, "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL")
_WAIT_FOR_COMMIT = (
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)
# The option that marks a transaction as writing.
_WRITES = "tidegate_writes"


class Driver(NamedTuple):
    """A connection as the driver has it, inside a transaction: what is done often goes this way."""

    raw: Any
    is_sqlite: bool


def driver_of(connection: sa.Connection) -> Driver:
    """The driver's side of a connection."""
    return Driver(connection.connection.driver_connection, connection.dialect.name == "sqlite")


class Database:
    """Transactions on one database."""

    def __init__(
        self,
        engine: sa.Engine,
        name: str,
        path: Path | None = None,
        connect: Callable[[], sqlite3.Connection] | None = None,
    ) -> None:
        self.engine = engine
        self.name = name
        # Opens one more connection to the file, for `asking` and `appending`.
        self._connect = connect
        self._writer: sqlite3.Connection | None = None
        self._mine = local()
        self._opened: list[sqlite3.Connection] = []
        self._opened_lock = Lock()
        # The file; None: it is on a server.
        self.path = path
        # A writer of SQLite that finds the database locked retries after up to a tenth of a second:
        # those of one process are better off queueing here. A server has a queue of its own.
        self._queue: AbstractContextManager[Any] = Lock() if path is not None else nullcontext()

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is a file."""
        return self.path is not None

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """One transaction that writes, all or nothing; it is on disk when this ends."""
        with self._outside(), self._queue, self._begun({_WRITES: True}) as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """One short transaction that reads."""
        with self._outside(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def appending(self) -> Iterator[Driver]:
        """The same as `writing`, for what is done often: without SQLAlchemy's share."""
        if self._connect is None:
            with self.writing() as connection:
                yield driver_of(connection)
            return
        with self._outside(), self._queue:
            file = self._writer
            if file is None:
                file = self._writer = self._open(self._connect, WRITER_CACHE_KIB)
            file.execute("BEGIN IMMEDIATE")
            try:
                yield Driver(file, True)
                file.execute("COMMIT")
            except BaseException:
                if file.in_transaction:  # some errors have ended it already
                    file.execute("ROLLBACK")
                raise

    @contextmanager
    def asking(self) -> Iterator[Driver]:
        """For one statement that reads, in a file on a connection of this thread.

        A round asks several times whether there is anything new: a transaction of its own, from the
        pool and back, takes five times as long as the statement.
        """
        if self._connect is None:
            with self.reading() as connection:
                yield driver_of(connection)
            return
        file: sqlite3.Connection | None = getattr(self._mine, "file", None)
        with self._outside():
            if file is None:
                file = self._mine.file = self._open(self._connect, READER_CACHE_KIB)
            yield Driver(file, True)

    def _open(
        self, connect: Callable[[], sqlite3.Connection], cache_kib: int
    ) -> sqlite3.Connection:
        file = connect()
        file.execute(f"PRAGMA cache_size = -{cache_kib}")
        with self._opened_lock:
            self._opened.append(file)
        return file

    @contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """One long transaction that sees the database as it was when this began."""
        # A transaction of SQLite always does.
        options: dict[str, Any] = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        with self._outside(), self._begun(options) as connection:
            yield connection

    @contextmanager
    def _begun(self, options: dict[str, Any]) -> Iterator[sa.Connection]:
        with self.engine.connect() as connection:
            chosen = connection.execution_options(**options)
            with chosen.begin():
                yield chosen

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()
        with self._opened_lock:
            for each in self._opened:
                each.close()
            self._opened = []
            self._mine, self._writer = local(), None

    @contextmanager
    def _outside(self) -> Iterator[None]:
        """What the database cannot do is an OutsideError; what we did wrong stays what it is."""
        driver: Any = self.engine.dialect.loaded_dbapi
        try:
            yield
        except PoolTimeoutError as error:
            raise OutsideError(f"{self.name}: {_one_line(error)}") from error
        except (DBAPIError, driver.Error) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            ours = (driver.IntegrityError, driver.ProgrammingError, driver.DataError)
            if isinstance(cause, ours):
                raise
            raise OutsideError(f"{self.name}: {_one_line(cause)}") from error


def _one_line(error: BaseException | None) -> str:
    text = " ".join(str(error).split())
    if text == "database is locked":
        return f"another process kept it locked for {BUSY_TIMEOUT_MS // 1000} s; try again"
    return text


def sqlite_database(path: Path, *, mode: str) -> Database:
    """A database in a file. Modes are SQLite's: ro, rw, and rwc, which makes the file."""
    address = f"file:{quote(str(path.absolute()))}?mode={mode}"
    pragmas = _PRAGMAS if mode == "ro" else _PRAGMAS_WRITING

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            address, uri=True, isolation_level=None, check_same_thread=False
        )
        for pragma in pragmas:
            connection.execute(pragma)
        return connection

    engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.QueuePool)
    sa.event.listen(engine, "begin", _begin)
    return Database(engine, str(path), path, connect)


def _begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def postgres_database(url: str) -> Database:
    """A database on a server; UserError if the address is none, or the driver is not there."""
    rest = url.partition("://")[2]
    try:
        address = sa.make_url(f"postgresql+psycopg://{rest}")
        engine = sa.create_engine(address, pool_pre_ping=True)
    except (ArgumentError, ValueError):
        raise _unusable("not a PostgreSQL address", "postgresql://user@host/database") from None
    except ModuleNotFoundError:
        raise _unusable("no driver for PostgreSQL", "install tidegate[postgres]") from None
    sa.event.listen(engine, "connect", _wait_for_commits)
    # A password is never printed.
    return Database(engine, address.set(drivername="postgresql").render_as_string())


def _unusable(message: str, remedy: str) -> UserError:
    return UserError((Problem("--database", message, remedy),))


def _wait_for_commits(connection: Any, _: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_WAIT_FOR_COMMIT)
    connection.commit()
