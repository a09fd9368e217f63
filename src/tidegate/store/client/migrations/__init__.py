"""Brings a journal to the tables of this version; a newer one is not changed.

Alembic is loaded only where there is something to do: the version is one row, and comparing it
takes no library.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.store.client.database import Database
from tidegate.store.port import NoJournalError

if TYPE_CHECKING:
    from alembic.config import Config

# The newest migration in versions/; a test holds it against alembic's own answer.
NEWEST = "0001"
VERSION_TABLE = "journal_version"
FOLDER = Path(__file__).parent

# The lock that serialises two processes that find an empty database. An arbitrary number.
_LOCK = 7_463_015


def version(connection: sa.Connection) -> str | None:
    """The version of the tables; None where there are none."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").scalar()
    return str(found) if found is not None else None


def require(database: Database) -> None:
    """Check that the tables are of this version, for commands that only read."""
    with database.reading() as connection:
        found = version(connection)
    if found == NEWEST:
        return
    if found is None:
        raise NoJournalError(database.name, "holds no journal")
    if found > NEWEST:
        raise _too_new(database, found)
    raise _refused(
        database,
        f"is of version {found}, this Tidegate has {NEWEST}",
        "a command that writes brings it up to date",
    )


def upgrade(database: Database, *, creates: bool = True) -> None:
    """Bring the tables to this version; where there are none, make them if that is meant."""
    with database.reading() as connection:
        if version(connection) == NEWEST:
            return
    with database.writing() as connection:
        if not database.is_sqlite:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        found = version(connection)
        if found == NEWEST:
            return
        if found is None and not creates:
            raise NoJournalError(database.name, "holds no journal")
        if found is not None and found > NEWEST:
            raise _too_new(database, found)
        _run(connection)


def _run(connection: sa.Connection) -> None:
    from alembic import command

    command.upgrade(alembic_config(connection), "head")


def alembic_config(connection: sa.Connection) -> "Config":
    """Alembic on our migrations and the connection of the caller."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _too_new(database: Database, found: str) -> UserError:
    what = f"is of version {found}, newer than the {NEWEST} of this Tidegate"
    return _refused(database, what, "use the Tidegate that made it")


def _refused(database: Database, message: str, remedy: str) -> UserError:
    return UserError((Problem(database.name, message, remedy),))
