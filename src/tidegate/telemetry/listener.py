"""A store with a listener: what is logged is exactly what was recorded."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from tidegate.journal.chain import JournalNote
from tidegate.journal.fact import Fact
from tidegate.model.errors import StaleError
from tidegate.store.port import Append, Head, Store

# Called with a partition and a fact once it is written; from any thread.
Listen = Callable[[str, Fact], None]


class _Listened:
    """Delegates every call, and passes written facts to the listener."""

    def __init__(self, store: Store, listen: Listen) -> None:
        self._store = store
        self._listen = listen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def append(self, partition: str, notes: Sequence[JournalNote], **how: Any) -> Head:
        """Write facts, then pass them to the listener."""
        head = self._store.append(partition, notes, **how)
        for note in notes:
            self._listen(partition, note.fact)
        return head

    def append_many(self, appends: Sequence[Append]) -> list[Head | StaleError]:
        """Write facts of several partitions, then report those that were written."""
        found = self._store.append_many(appends)
        for one, head in zip(appends, found, strict=True):
            if isinstance(head, Head):
                for note in one.notes:
                    self._listen(one.partition, note.fact)
        return found


def with_listener(store: Store, listen: Listen) -> Store:
    """The same store; the listener gets every fact that is written."""
    return cast("Store", _Listened(store, listen))
