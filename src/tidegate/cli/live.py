"""What commands on the journal share: opening it, the actor, and confirming what an act covers."""

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from tidegate.app.partitions.journals import Journals
from tidegate.cli.prompt import FREE, asked_about
from tidegate.cli.setting_options import origin_of
from tidegate.kind_table import rules_of
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.model.time import Instant
from tidegate.settings.settings import shown
from tidegate.store.archive_port import Archive
from tidegate.store.port import NoJournalError, Store
from tidegate.wiring import clock, open_store


@contextmanager
def opened(
    database: str, *, writes: bool = False, creates: bool | None = None
) -> Iterator[Archive]:
    """The journal, for as long as a command needs it; one only read is not changed.

    `creates`: make it if it does not exist, as workers do, and commands with --create if that is
    given; None: the command has no such option. A brake in a new journal binds no worker.
    """
    try:
        store = open_store(database, writes=writes, creates=bool(creates))
    except NoJournalError as error:
        raise _no_journal(error, database, offers=creates is False) from None
    try:
        yield store
    finally:
        store.close()


def tell_new_journal(database: str) -> None:
    """A warning, before something is done outside, where the journal does not exist yet.

    It is made, so that what is done is recorded; but brakes that were set in another do not bind.
    """
    if "://" not in database and database != "memory:" and not Path(database).exists():
        origin = origin_of("database", database)
        what = f"{database} is a new journal" + (f" ({origin})" if origin else "")
        click.echo(f"Warning: {what}: brakes set in another one do not bind this", err=True)


def _no_journal(error: NoJournalError, database: str, *, offers: bool) -> UserError:
    origin = origin_of("database", database)
    written = shown("database", database)  # without its password
    what = f"{error.what} ({written}: {origin})" if origin else error.what
    remedy = (
        "run it where the worker runs, or name its journal: --database, TIDEGATE_DATABASE;"
        " `tidegate login` is for one that serves"
    )
    if offers:
        remedy += "; --create makes a new one"
    return UserError((Problem(error.place, what, remedy),))


create_option = click.option(
    "--create", "creates", is_flag=True, help="Make the journal if it does not exist."
)


def journals(store: Store, at: Instant | None = None) -> Journals:
    """Partitions of every kind, as of a worker's last look; or as of another moment."""
    now = clock().now()
    return Journals(store, rules_of, now if at is None else at, at)


def actor() -> str:
    """The person who runs the command, as the journal names them."""
    return f"user:{whoami()}"


def whoami() -> str:
    """The login name of the person who runs the command."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def confirmed(what: str, reach: int, yes: bool, free: int = FREE, *, stops: bool = False) -> None:
    """Show what is reached, and ask where it is more than a handful (`cli/prompt.py`)."""
    click.echo(what, err=True)
    asked_about("Continue?", reach, yes, free, stops=stops)
