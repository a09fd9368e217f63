"""Whether a journal has upgrades at all: asked before anything that reads clusters is imported."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tidegate.cli.live import opened
from tidegate.kinds.upgrades.core.service import ORGANISATION
from tidegate.model.errors import UserError
from tidegate.settings.setting_table import TABLE
from tidegate.settings.settings import Settings
from tidegate.store.archive_port import Archive


@contextmanager
def store_of(settings: Settings) -> Iterator[Archive | None]:
    """The journal of the settings; None: there is none at the default place."""
    with ExitStack() as stack:
        store = None
        try:
            store = stack.enter_context(opened(settings.database))
        except UserError:
            if settings.database != TABLE["database"].default:
                raise
        yield store


def is_recorded(settings: Settings) -> bool:
    """Whether the journal has any organisation whose clusters upgrade."""
    with store_of(settings) as store:
        names = store.partitions() if store is not None else []
        return any(each.startswith(ORGANISATION) for each in names)
