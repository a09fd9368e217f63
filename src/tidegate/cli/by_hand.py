"""What commands that act by hand share: the brakes that bind them, and their record."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tidegate.cli.live import opened, signed
from tidegate.cli.worker_options import brake_book, gatherer
from tidegate.gates.brakes import Brakes
from tidegate.journal.facts import Handled, HandledObject
from tidegate.model.time import Instant
from tidegate.settings.settings import Settings
from tidegate.store.port import Store
from tidegate.wiring import clock


def brakes_now(settings: Settings, now: Instant) -> Brakes:
    """Every brake in the settings and in the journal."""
    with any_store(settings.database) as store:
        return brake_book(settings, store, gatherer(settings)).read(now)


@contextmanager
def any_store(database: str) -> Iterator[Store]:
    """The journal; an empty one where there is none yet."""
    missing = "://" not in database and not Path(database).exists()
    with opened("memory:" if missing else database) as store:
        yield store


def record_by_hand(
    settings: Settings, partition: str, objects: Iterable[HandledObject], reason: str
) -> None:
    """Record in the journal what was done by hand, by which user, and why."""
    with opened(settings.database, writes=True) as store:
        fact = Handled(objects=tuple(objects), reason=reason)
        store.append(partition, [signed(fact, clock().now())])
