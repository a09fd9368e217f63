"""Progress of long work: one line on stderr that is overwritten, where stderr is a terminal."""

import sys
import threading
import time
from types import TracebackType

# Shorter work shows no progress; updates more often than this cannot be read.
QUIET_S, EVERY_S = 0.5, 0.1


class Progress:
    """Counts what is done, and says so now and then."""

    def __init__(self, what: str, total: int | None = None, quiet_s: float = QUIET_S) -> None:
        self._what = what
        # None: not known beforehand.
        self._total = total
        self._done = 0
        self._say_at = time.monotonic() + quiet_s
        self._said = False

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave no half line behind."""
        self.clear()

    def clear(self) -> None:
        """Clear the line, so that other output can be written."""
        if self._said:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._said = False

    def tell(self, count: int) -> None:
        """So much more is done."""
        self._done += count
        now = time.monotonic()
        if now < self._say_at or not sys.stderr.isatty():
            return
        self._say_at, self._said = now + EVERY_S, True
        of = f" of {self._total:,}" if self._total is not None else ""
        print(f"\r\x1b[K{self._what} {self._done:,}{of}", end="", file=sys.stderr, flush=True)


class Waiting:
    """Says on stderr what is waited for, once it takes long enough to wonder."""

    def __init__(self, what: str, quiet_s: float = QUIET_S) -> None:
        self._what = what
        self._timer = threading.Timer(quiet_s, self._say)
        self._said = False

    def _say(self) -> None:
        if sys.stderr.isatty():
            print(f"\r\x1b[K{self._what} …", end="", file=sys.stderr, flush=True)
            self._said = True

    def __enter__(self) -> "Waiting":
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave no half line behind."""
        self._timer.cancel()
        if self._said:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
