"""Brings a journal to the tables of this version; a newer one is not changed.

SQLAlchemy and Alembic are loaded only where an older journal is brought up to date, or a server has
none yet: the version is one row, and a new file is made by the statements of `newest.sql`.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.store.client.database import Database, Driver, driver_of
from tidegate.store.port import NoJournalError

if TYPE_CHECKING:
    import sqlalchemy as sa
    from alembic.config import Config

# The newest migration in versions/; a test holds it against alembic's own answer.
NEWEST = "0001"
VERSION_TABLE = "journal_version"
FOLDER = Path(__file__).parent
NEW_FILE = FOLDER / "newest.sql"

# The lock that serialises two processes that find an empty database. An arbitrary number.
_LOCK = 7_463_015


_TABLE_SQLITE = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?"
_TABLE_POSTGRES = "SELECT 1 WHERE to_regclass(?) IS NOT NULL"


def version(driver: Driver) -> str | None:
    """The version of the tables; None where there are none."""
    table = _TABLE_SQLITE if driver.is_sqlite else _TABLE_POSTGRES
    if not driver.execute(table, (VERSION_TABLE,)).fetchall():
        return None
    # It was made in one transaction with its row.
    rows = driver.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchall()
    return str(rows[0][0]) if rows else None


def require(database: Database) -> None:
    """Check that the tables are of this version, for commands that only read."""
    with database.asking() as driver:
        found = version(driver)
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
    with database.asking() as driver:
        found = version(driver)
    if found == NEWEST:
        return
    if found is None and not creates:
        raise NoJournalError(database.name, "holds no journal")
    if found is None and database.is_sqlite:
        _create(database)
        return
    with database.altering() as connection:
        driver = driver_of(connection)
        if not database.is_sqlite:
            driver.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
        found = version(driver)
        if found == NEWEST:
            return
        if found is not None and found > NEWEST:
            raise _too_new(database, found)
        _run(connection)


def _create(database: Database) -> None:
    """Make the tables of a new file, without the libraries that bring an old one up to date."""
    with database.appending() as driver:
        if version(driver) is not None:
            return  # another process was faster
        for statement in new_tables():
            driver.execute(statement)
        driver.execute(f"INSERT INTO {VERSION_TABLE} (version_num) VALUES (?)", (NEWEST,))


def new_tables() -> list[str]:
    """The statements that make the tables of this version in a file."""
    text = NEW_FILE.read_text(encoding="utf-8").partition("\n")[2]
    return [each.strip() for each in text.split(";") if each.strip()]


def _run(connection: "sa.Connection") -> None:
    from alembic import command

    command.upgrade(alembic_config(connection), "head")


def alembic_config(connection: "sa.Connection") -> "Config":
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
