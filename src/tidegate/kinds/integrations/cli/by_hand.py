"""The journal for what people change by hand: the brakes that bind it, and the record of it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tidegate.cli.live import opened, signed
from tidegate.cli.worker.options import brake_book, gatherer
from tidegate.gates.brakes import Brakes
from tidegate.journal.facts import Handled, HandledObject
from tidegate.kinds.integrations.app.apply import PARTITION, Record
from tidegate.model.time import Instant
from tidegate.settings.settings import Settings
from tidegate.store.port import Store
from tidegate.wiring import clock, open_store


def brakes_now(settings: Settings, now: Instant) -> Brakes:
    """Every brake there is."""
    with any_store(settings.database) as store:
        return brake_book(settings, store, gatherer(settings)).read(now)


@contextmanager
def any_store(database: str) -> Iterator[Store]:
    """The journal; an empty one where there is none yet."""
    missing = "://" not in database and not Path(database).exists()
    with opened("memory:" if missing else database) as store:
        yield store


def write_down(
    settings: Settings, partition: str, objects: Iterable[HandledObject], reason: str
) -> None:
    """Record what was done by hand, with actor and reason."""
    with opened(settings.database, writes=True) as store:
        fact = Handled(objects=tuple(objects), reason=reason)
        store.append(partition, [signed(fact, clock().now())])


@contextmanager
def recorder(settings: Settings) -> Iterator[Record]:
    """Records what is done by hand; opened before anything is done, so that nothing is missed."""
    store = open_store(settings.database, writes=True)
    try:
        yield lambda fact: _append(store, fact)
    finally:
        store.close()


def _append(store: Store, fact: Handled) -> None:
    store.append(PARTITION, [signed(fact, clock().now())])
