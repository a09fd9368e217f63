"""The record of what people change on clusters by hand."""

from collections.abc import Iterator
from contextlib import contextmanager

from tidegate.app.by_hand import HandledRecord, handled_record
from tidegate.cli.live import actor, opened, tell_new_journal
from tidegate.kinds.integrations.app.apply import PARTITION
from tidegate.settings.settings import Settings
from tidegate.wiring import clock


@contextmanager
def recorder(settings: Settings) -> Iterator[HandledRecord]:
    """Records what is done by hand; opened before anything is done, so that nothing is missed."""
    tell_new_journal(settings.database)
    with opened(settings.database, writes=True, creates=True) as store:
        yield handled_record(store, PARTITION, actor(), clock())
