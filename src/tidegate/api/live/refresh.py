"""Keeps what lists show young, a few milliseconds at a time, while lists are asked for.

Without it the first list of every second would decide all partitions by itself, and every other
question would wait for it: a tenth of a second for a hundred rollouts.
"""

import asyncio

from tidegate.api.live.live_journals import LiveJournals
from tidegate.model.errors import OutsideError, StaleError

# For how long at a time it keeps questions waiting, and how long they have the journals after that.
WORK_S = 0.004
REST_S = 0.004
# How often it looks for what grew old, if nothing was left.
PAUSE_S = 0.1


class Refresh:
    """Refreshes journals for as long as all of them are asked for."""

    def __init__(self, live: LiveJournals) -> None:
        self._live = live
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def begin(self) -> None:
        """A question was answered: go on, or begin, if it was about all partitions."""
        idle = self._task is None or self._task.done()
        if idle and not self._closed and self._live.is_listed:
            self._task = asyncio.create_task(self._run())

    def close(self) -> None:
        """End it."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()

    async def closed(self) -> None:
        """Wait until it has ended: nothing is begun in a pool that is gone."""
        if self._task is not None:
            await asyncio.wait((self._task,))

    async def _run(self) -> None:
        while self._live.is_listed and not self._closed:
            try:
                left = await self._live.turn_seen(self._live.refresh, WORK_S)
            except (OutsideError, StaleError):
                left = False  # the next question says so
            await asyncio.sleep(REST_S if left else PAUSE_S)
