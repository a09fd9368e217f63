"""A database on a server: connections from SQLAlchemy's pool, and commits that are waited for.

Even where the server's default would not wait for the disk.
"""

import select
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, InvalidatePoolError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from tidegate.model.errors import OutsideError, UserError
from tidegate.model.problem import Problem
from tidegate.store.client.database import Database, Driver, driver_of, one_line

_WAIT_FOR_COMMIT = (
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)


class PostgresDatabase(Database):
    """Transactions on a server's database."""

    def __init__(self, engine: sa.Engine, name: str) -> None:
        super().__init__(name)
        self.engine = engine
        self._asks = engine.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def altering(self) -> Iterator[sa.Connection]:
        """One transaction that writes, all or nothing; it is on disk when this ends."""
        with self._outside(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def appending(self) -> Iterator[Driver]:
        """The same, on the driver's connection."""
        with self.altering() as connection:
            yield driver_of(connection)

    @contextmanager
    def asking(self) -> Iterator[Driver]:
        """For one statement that reads: it is a transaction by itself, so it takes one answer."""
        with self._outside(), self._asks.connect() as connection:
            yield driver_of(connection)

    @contextmanager
    def snapshot(self) -> Iterator[Driver]:
        """One long transaction that sees the database as it was when this began."""
        with self._outside(), self.engine.connect() as connection:
            chosen = connection.execution_options(isolation_level="REPEATABLE READ")
            with chosen.begin():
                yield driver_of(chosen)

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    @contextmanager
    def _outside(self) -> Iterator[None]:
        """What the database cannot do is an OutsideError; what we did wrong stays what it is."""
        driver: Any = self.engine.dialect.loaded_dbapi
        try:
            yield
        except PoolTimeoutError as error:
            raise OutsideError(f"{self.name}: {one_line(error)}") from error
        except (DBAPIError, driver.Error) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            ours = (driver.IntegrityError, driver.ProgrammingError, driver.DataError)
            if isinstance(cause, ours):
                raise
            raise OutsideError(f"{self.name}: {one_line(cause)}") from error


def postgres_database(url: str) -> PostgresDatabase:
    """A database on a server; UserError if the address is none, or the driver is not there."""
    rest = url.partition("://")[2]
    try:
        address = sa.make_url(f"postgresql+psycopg://{rest}")
        engine = sa.create_engine(address)
    except (ArgumentError, ValueError):
        raise _unusable("not a PostgreSQL address", "postgresql://user@host/database") from None
    except ModuleNotFoundError:
        raise _unusable("no driver for PostgreSQL", "install tidegate[postgres]") from None
    sa.event.listen(engine, "connect", _wait_for_commits)
    sa.event.listen(engine, "checkout", _still_open)
    # A password is never printed.
    return PostgresDatabase(engine, address.set(drivername="postgresql").render_as_string())


def _unusable(message: str, remedy: str) -> UserError:
    return UserError((Problem("--database", message, remedy),))


def _still_open(connection: Any, _: Any, __: Any) -> None:
    """A connection that its server has closed is not used again.

    Its socket can be read, though nothing was asked: that takes no answer of the server, as a ping
    does.
    """
    if connection.closed:
        raise InvalidatePoolError
    socket = select.poll()
    socket.register(connection.fileno(), select.POLLIN)
    if socket.poll(0):
        raise InvalidatePoolError


def _wait_for_commits(connection: Any, _: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_WAIT_FOR_COMMIT)
    connection.commit()
