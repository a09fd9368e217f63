"""Writes lines in a thread of their own, so that a slow terminal or pipe delays no decision.

Work is queued, not text: what a line says is worked out where it is written. The queue is bounded;
when it is full the oldest work is dropped and counted, and the count is reported with the next
line.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable

# Rounds and events that wait to be written; a round of 100,000 changed targets counts as one.
QUEUE_MAX = 10_000
# How long to wait at the end for what is still queued: a pipe without a reader must not block us.
CLOSE_S = 2.0

Work = Callable[[], Iterable[bytes]]
Write = Callable[[bytes], object]


class Lines:
    """A queue of lines to be written, and the thread that writes them."""

    def __init__(self, write: Write, dropped: Callable[[int], bytes]) -> None:
        self._write = write
        self._say_dropped = dropped
        self._queue: deque[Work] = deque()
        self._filled = threading.Condition()
        self._closing = False
        self._untold = 0
        self.dropped = 0
        self._thread = threading.Thread(target=self._run, name="lines", daemon=True)
        self._thread.start()

    def put(self, work: Work) -> None:
        """Queue something to be written; from any thread, and never waiting."""
        with self._filled:
            if len(self._queue) >= QUEUE_MAX:
                self._queue.popleft()
                self.dropped += 1
                self._untold += 1
            self._queue.append(work)
            self._filled.notify()

    def close(self) -> None:
        """Write what is queued, for as long as the stream is read."""
        with self._filled:
            self._closing = True
            self._filled.notify()
        self._thread.join(CLOSE_S)

    def _run(self) -> None:
        while True:
            with self._filled:
                while not self._queue and not self._closing:
                    self._filled.wait()
                if not self._queue:
                    return
                work, untold = self._queue.popleft(), self._untold
                self._untold = 0
            if untold:
                self._write(self._say_dropped(untold))
            for line in work():
                self._write(line)
