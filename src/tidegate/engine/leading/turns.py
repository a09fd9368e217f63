"""Turns: how many rounds are under way at once, and how long a failed one waits for its next."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """At most so many at once."""

    def __init__(self, at_once: int) -> None:
        self._slots = asyncio.Semaphore(at_once)
        # How many wait for their turn, and how many have it.
        self.waiting = self.under_way = 0

    @asynccontextmanager
    async def one(self) -> AsyncIterator[bool]:
        """Wait until fewer are under way than may be; whether there was a wait."""
        waits = self._slots.locked()
        self.waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self.waiting -= 1
        self.under_way += 1
        try:
            yield waits
        finally:
            self.under_way -= 1
            self._slots.release()


class Backoff:
    """Twice as long each time, up to a limit, and never two workers in step."""

    def __init__(self, first_s: float, max_s: float, seed: str) -> None:
        self._first_s, self._max_s = first_s, max_s
        self._jitter = random.Random(seed)

    def wait_s(self, failures: int) -> float:
        """How long to wait after so many failures in a row."""
        doubled = self._first_s * float(2 ** min(failures - 1, 16))
        return min(self._max_s, doubled) * self._jitter.uniform(0.5, 1.0)


async def rest(wake: asyncio.Event, longest_s: float, settle_s: float) -> None:
    """Until something happens, and what happens with it has settled; or for so long at most."""
    try:
        async with asyncio.timeout(max(0.0, longest_s)):
            await wake.wait()
    except TimeoutError:
        pass
    else:
        if settle_s:
            await asyncio.sleep(settle_s)
    wake.clear()
