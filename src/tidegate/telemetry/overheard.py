"""A journal whose new entries are overheard: what is logged is exactly what was written down."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from tidegate.journal.chain import Note
from tidegate.journal.fact import Fact
from tidegate.model.errors import StaleError
from tidegate.store.port import Append, Head, Store

# Told a partition and a fact once it is written; from any thread.
Tell = Callable[[str, Fact], None]


class _Overheard:
    """Hands everything on, and tells of facts that were written."""

    def __init__(self, store: Store, tell: Tell) -> None:
        self._store = store
        self._tell = tell

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def append(self, partition: str, notes: Sequence[Note], **how: Any) -> Head:
        """Write facts, then tell of them."""
        head = self._store.append(partition, notes, **how)
        for note in notes:
            self._tell(partition, note.fact)
        return head

    def append_many(self, appends: Sequence[Append]) -> list[Head | StaleError]:
        """Write facts of several partitions, then report those that were written."""
        found = self._store.append_many(appends)
        for one, head in zip(appends, found, strict=True):
            if isinstance(head, Head):
                for note in one.notes:
                    self._tell(one.partition, note.fact)
        return found


def overheard(store: Store, tell: Tell) -> Store:
    """The same store, with an ear at its door."""
    return cast("Store", _Overheard(store, tell))
