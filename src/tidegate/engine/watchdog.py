"""Says what holds the event loop, from a thread of its own.

Everything that one process serves shares an event loop: where one round holds it, no other goes on
and no probe is answered. The loop is asked for a sign every half second. Where it gives none for
long, the task that runs in it is named; and where a thread holds the whole process, which no thread
can see while it lasts, the step that took the longest meanwhile.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Any, ParamSpec, TypeVar

import msgspec

# How often the loop is asked for a sign, and how late that may come. A decision about 100,000
# targets takes a second in another thread, and the loop turns meanwhile.
ASK_S = 0.5
LATE_S = 5.0
# Steps that are remembered after their end: more than end between two signs.
_ENDED_MAX = 256
P = ParamSpec("P")
T = TypeVar("T")


class LoopHeld(msgspec.Struct, frozen=True):
    """Something holds the event loop, or did."""

    # A partition, or another task by its name; empty: not known.
    holder: str
    held_s: float
    # False: it still does.
    over: bool


class Steps:
    """What other threads work on: a partition each."""

    def __init__(self) -> None:
        self._running: dict[int, tuple[str, float]] = {}
        self._ended: deque[tuple[str, float, float]] = deque(maxlen=_ENDED_MAX)

    def run(self, name: str, work: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
        """Do some work under a name, in whichever thread this is called."""
        key, began = threading.get_ident(), monotonic()
        self._running[key] = (name, began)
        try:
            return work(*args, **more)
        finally:
            del self._running[key]
            self._ended.append((name, began, monotonic()))

    def longest(self, since: float, until: float) -> str:
        """What was worked on for longest in between; empty: nothing was."""
        running = [(name, began, until) for name, began in list(self._running.values())]
        found = [
            (min(ended, until) - max(began, since), name)
            for name, began, ended in (*list(self._ended), *running)
        ]
        shared, name = max(found, default=(0.0, ""))
        return name if shared > 0 else ""


class Watchdog:
    """Watches one event loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        tell: Callable[[LoopHeld], None],
        steps: Steps,
        late_s: float = LATE_S,
    ) -> None:
        self._loop = loop
        self._tell = tell
        self._steps = steps
        self._late_s = late_s
        self._ask_s = min(ASK_S, late_s / 4)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stopped.set()

    def _run(self) -> None:
        # The last sign: this thread may be held, too, while it waits to ask for the next.
        since = monotonic()
        while not self._stopped.is_set() and not self._loop.is_closed():
            answered = threading.Event()
            try:
                self._loop.call_soon_threadsafe(answered.set)
            except RuntimeError:  # it is closed by now
                return
            self._wait(answered, since)
            since = monotonic()
            self._stopped.wait(self._ask_s)

    def _wait(self, answered: threading.Event, since: float) -> None:
        """Until the loop gave a sign."""
        holder, told = "", False
        while not answered.wait(self._ask_s):
            if self._stopped.is_set():
                return
            holder = self._in_the_loop() or holder
            late_s = monotonic() - since
            if late_s > self._late_s and not told:
                told = True
                self._tell(LoopHeld(self._named(holder, since), late_s, over=False))
        late_s = monotonic() - since
        if late_s > self._late_s:
            self._tell(LoopHeld(self._named(holder, since), late_s, over=True))

    def _named(self, holder: str, since: float) -> str:
        return holder or self._steps.longest(since, monotonic())

    def _in_the_loop(self) -> str:
        """The task that runs in the loop at this moment; empty: none does."""
        try:
            task: asyncio.Task[Any] | None = asyncio.current_task(self._loop)
        except RuntimeError:
            return ""
        return "" if task is None else task.get_name()
