"""Looks at a journal on a server: each request waits for one that began after it came.

So an answer has whatever was written before it was asked for, by any replica; and one look is
enough for all requests that come while another is under way.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from time import perf_counter, sleep

# How long after a look the next one begins, and how many times as long as it took: looks of ten
# thousand partitions take longer, and are to leave half of the time to answers. A request waits for
# the rest of the look before, this pause, and its own look.
REST_S = 0.005
REST_TIMES = 1


class Looks:
    """One look at a time, each for all that wait for it."""

    def __init__(self, look: Callable[[], None]) -> None:
        self._look = look
        self._thread = ThreadPoolExecutor(1, "looks")
        self._lock = Lock()
        # The look that has not begun; None: none waits for one.
        self._next: Future[None] | None = None
        self._waits: dict[asyncio.AbstractEventLoop, asyncio.Future[None]] = {}
        self._rest_until = 0.0

    async def fresh(self) -> None:
        """Wait for a look that begins after this call; its error, if it fails."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._next is None:
                self._next, self._waits = self._thread.submit(self._run), {}
            # The thread wakes an event loop once, for all that wait in it.
            if loop not in self._waits:
                self._waits[loop] = asyncio.wrap_future(self._next)
            wanted = self._waits[loop]
        # One that leaves does not end it for the others.
        await asyncio.shield(wanted)

    def _run(self) -> None:
        rest_s = self._rest_until - perf_counter()
        if rest_s > 0:
            sleep(rest_s)
        with self._lock:
            self._next = None
        began = perf_counter()
        try:
            self._look()
        finally:
            ended = perf_counter()
            self._rest_until = ended + max(REST_S, REST_TIMES * (ended - began))

    def close(self) -> None:
        """End the thread; a look under way is finished."""
        self._thread.shutdown()
