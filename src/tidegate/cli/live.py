"""What commands on the journal share: opening it, the actor, and confirming what an act covers."""

import getpass
from collections.abc import Iterator
from contextlib import contextmanager

import click

from tidegate.app.journals import Journals
from tidegate.cli.prompt import FREE, asked_about
from tidegate.kind_table import rules_of
from tidegate.model.time import Instant
from tidegate.store.port import Store
from tidegate.wiring import clock, open_store


@contextmanager
def opened(database: str, *, writes: bool = False) -> Iterator[Store]:
    """The store, for as long as a command needs it; one only read is neither made nor changed."""
    store = open_store(database, writes=writes)
    try:
        yield store
    finally:
        store.close()


def journals(store: Store, now: Instant | None = None) -> Journals:
    """Partitions of every kind, as of now or of another moment."""
    return Journals(store, rules_of, clock().now() if now is None else now)


def actor() -> str:
    """The person who runs the command, as the journal names them."""
    return f"user:{whoami()}"


def whoami() -> str:
    """The login name of the person who runs the command."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def confirmed(what: str, reach: int, yes: bool, free: int = FREE) -> None:
    """Show what is reached, and ask where it is more than a handful and a terminal is there."""
    click.echo(what, err=True)
    asked_about("Continue?", reach, yes, free)
