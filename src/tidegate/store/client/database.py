"""A durable database: what it acknowledged is on disk, and its errors become our own.

Statements are SQL for the driver, the same for both databases but for their marks: a command on a
file imports no library for them. SQLAlchemy has the connections to a server (`postgres.py`) and
whatever changes tables.
"""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import sqlalchemy as sa

# How long a writer waits for another. Longer than any append takes, shorter than a lease.
BUSY_TIMEOUT_MS = 10_000


class Driver(NamedTuple):
    """A connection as the driver has it, inside a transaction or for one statement."""

    raw: Any
    is_sqlite: bool

    def execute(self, statement: str, values: tuple[Any, ...] = ()) -> Any:
        """Run a statement in which every `?` is a value; the cursor with its rows."""
        marked = statement if self.is_sqlite else statement.replace("?", "%s")
        return self.raw.execute(marked, values)


def driver_of(connection: "sa.Connection") -> Driver:
    """The driver's side of a connection."""
    return Driver(connection.connection.driver_connection, connection.dialect.name == "sqlite")


class Database(ABC):
    """Transactions on one database."""

    def __init__(self, name: str, path: Path | None = None) -> None:
        self.name = name
        # The file; None: it is on a server.
        self.path = path

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is a file."""
        return self.path is not None

    @abstractmethod
    def appending(self) -> AbstractContextManager[Driver]:
        """One transaction that writes, all or nothing; it is on disk when this ends."""

    @abstractmethod
    def asking(self) -> AbstractContextManager[Driver]:
        """For one statement that reads."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Driver]:
        """One long transaction that sees the database as it was when this began."""

    @abstractmethod
    def altering(self) -> "AbstractContextManager[sa.Connection]":
        """The same as `appending`, for what changes tables: with SQLAlchemy, which takes a while
        to import.
        """

    @abstractmethod
    def close(self) -> None:
        """Close every connection."""


def one_line(error: BaseException | None) -> str:
    """What a database says, in one line and with what to do about it."""
    text = " ".join(str(error).split())
    if text == "database is locked":
        return f"another process kept it locked for {BUSY_TIMEOUT_MS // 1000} s; try again"
    return text
