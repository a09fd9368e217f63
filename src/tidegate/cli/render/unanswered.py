"""Which outside systems have not answered, and for how long: what a wait is for.

An answer that says no is an answer. A system that failed to give one is counted from the first
request on, however often it is asked again.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tidegate.cli.render.progress import Progress

# A shorter wait needs no explanation.
QUIET_S = 1.5
# So many names fit in a line of 80 columns.
NAMES_SHOWN = 3


class Unanswered:
    """Requests under way, by the name of the system that was asked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked: Counter[str] = Counter()
        # Since when a system owes an answer.
        self._since: dict[str, float] = {}
        # The longest that each let us wait.
        self._longest_s: dict[str, float] = {}

    @contextmanager
    def asking(self, name: str) -> Iterator[None]:
        """A request under way; an exception is no answer."""
        self._asked[name] += 1
        self._since.setdefault(name, self._clock())
        answered = False
        try:
            yield
            answered = True
        finally:
            waited_s = self._clock() - self._since[name]
            self._longest_s[name] = max(waited_s, self._longest_s.get(name, 0.0))
            self._asked[name] -= 1
            if answered:
                # Other requests to it may be under way: it is alive as of now.
                self._since[name] = self._clock()
                if not self._asked[name]:
                    del self._since[name]

    def words(self) -> str:
        """`no answer for 4 s: a, b`; empty while nothing takes long."""
        now = self._clock()
        # A copy: requests begin and end while another thread reads.
        since = {name: at for name, at in list(self._since.items()) if self._asked[name]}
        late = {name: now - at for name, at in since.items() if now - at >= QUIET_S}
        return f"no answer for {max(late.values()):.0f} s: {_names(sorted(late))}" if late else ""

    def summary(self) -> str:
        """`waited 22 s for a, b`, after the end; empty if nothing took long."""
        late = {name: s for name, s in self._longest_s.items() if s >= QUIET_S}
        return f"waited {max(late.values()):.0f} s for {_names(sorted(late))}" if late else ""

    def tell_end(self) -> None:
        """Print the summary where no terminal showed the wait."""
        if not sys.stderr.isatty() and (line := self.summary()):
            print(line, file=sys.stderr, flush=True)
        self._longest_s.clear()


@contextmanager
def told(unanswered: Unanswered, what: str, total: int | None = None) -> Iterator[Progress]:
    """Progress that names what has not answered; without a terminal, one line at the end."""
    try:
        with Progress(what, total, also=unanswered.words) as bar:
            yield bar
    finally:
        unanswered.tell_end()


def _names(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN
    rest = f" and {more:,} more" if more > 0 else ""
    return ", ".join(names[:NAMES_SHOWN]) + rest
