"""The journal as rounds write it: appends of many partitions share a transaction and a sync.

While one transaction is under way the next appends collect; they are written together as soon as it
is done. So a commit is paid for once by all partitions that write at the same moment, and none
waits longer than for the commit before its own.
"""

import asyncio
from collections.abc import Sequence

from tidegate.engine.batch import Batcher
from tidegate.model.errors import StaleError
from tidegate.store.port import Append, Head, Store


class Journal:
    """Appends of all partitions of a worker."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._append = Batcher(self._append_many)

    async def append(self, one: Append) -> Head:
        """Write facts behind a chain's end, all or none; StaleError as `Store.append` has it."""
        return await self._append(one)

    async def _append_many(self, some: list[Append]) -> Sequence[Head | StaleError]:
        return await asyncio.to_thread(self.store.append_many, some)
