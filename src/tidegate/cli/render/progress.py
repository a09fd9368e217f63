"""Progress of long work: one line on stderr that is overwritten, where stderr is a terminal."""

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

# Shorter work shows no progress; updates more often than this cannot be read.
QUIET_S, EVERY_S = 0.5, 0.1
# What is only waited for is counted in seconds.
TICK_S = 1.0


class Progress:
    """Counts what is done, and says so now and then."""

    def __init__(
        self,
        what: str,
        total: int | None = None,
        quiet_s: float = QUIET_S,
        also: Callable[[], str] | None = None,
    ) -> None:
        self._what = what
        # What is waited for, asked every second, too; None: progress is told often enough.
        self._also = also
        self._ended = threading.Event()
        self._line = threading.RLock()
        # None: not known beforehand.
        self._total = total
        self._done = 0
        self._say_at = time.monotonic() + quiet_s
        self._said = False

    def __enter__(self) -> "Progress":
        if self._also is not None and sys.stderr.isatty():
            threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave no half line behind."""
        with self._line:
            self._ended.set()
            self.clear()

    def clear(self) -> None:
        """Clear the line, so that other output can be written."""
        if self._said:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._said = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No line meanwhile: other output is written."""
        with self._line:
            self.clear()
            yield

    def _tick(self) -> None:
        while not self._ended.wait(TICK_S):
            with self._line:
                if not self._ended.is_set():
                    self._wait()

    def _wait(self) -> None:
        """Show what is waited for, or no longer."""
        waited = self._also() if self._also is not None else ""
        if waited:
            self._show(waited)
        elif self._total is None:
            self.clear()

    def tell(self, count: int) -> None:
        """So much more is done."""
        self._done += count
        now = time.monotonic()
        if now < self._say_at or not sys.stderr.isatty():
            return
        self._say_at = now + EVERY_S
        with self._line:
            self._show(self._also() if self._also is not None else "")

    def _show(self, waited: str) -> None:
        of = f" of {self._total:,}" if self._total is not None else ""
        count = f" {self._done:,}{of}" if self._done or of or not waited else ""
        line = f"{self._what}{count}{', ' if waited else ''}{waited}"
        width = shutil.get_terminal_size().columns
        # A line that wraps cannot be overwritten.
        shown = line if len(line) < width else f"{line[: width - 2]}…"
        print(f"\r\x1b[K{shown}", end="", file=sys.stderr, flush=True)
        self._said = True


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
