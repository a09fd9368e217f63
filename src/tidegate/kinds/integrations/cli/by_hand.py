"""The record of what people change on clusters by hand."""

from collections.abc import Iterator
from contextlib import contextmanager

from tidegate.cli.live import signed
from tidegate.journal.facts import Handled
from tidegate.kinds.integrations.app.apply import PARTITION, Record
from tidegate.settings.settings import Settings
from tidegate.store.port import Store
from tidegate.wiring import clock, open_store


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
