"""What commands that act by hand share: the brakes that bind them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidegate.cli.live import opened
from tidegate.cli.worker.options import brake_book, gatherer
from tidegate.gates.brakes import Brakes
from tidegate.model.time import Instant
from tidegate.settings.settings import Settings
from tidegate.store.port import Store


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
