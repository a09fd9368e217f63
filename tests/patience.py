"""What a test waits for, on a machine that may be busy: for minutes, and then it says for what.

A limit that must not expire is long, or in time that does not pass while there is something to do:
`patiently` runs a story over real sockets in such time. No test depends on how fast a machine is.
"""

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor
from pathlib import Path
from threading import Event, Thread
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# Longer than anything takes that will still happen, with all cores busy.
PATIENCE_S = 180.0
# How long a condition is not looked at again.
LOOK_S = 0.02
# What one end of a socket of this machine sent is at the other end after so long.
ARRIVES_S = 0.02
# While another thread works, which may wait for this one, time passes so much more slowly.
SLOWER = 40


def until(condition: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait for something that must become true."""
    end = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end, f"not within {patience_s:.0f} s: {what}"
        time.sleep(LOOK_S)


def ended(thread: Thread, patience_s: float = PATIENCE_S) -> None:
    """Wait for a thread that must end."""
    thread.join(patience_s)
    assert not thread.is_alive(), f"still running after {patience_s:.0f} s: {thread.name}"


def happened(event: Event, what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait for an event that must happen."""
    assert event.wait(patience_s), f"not within {patience_s:.0f} s: {what}"


def is_gone(process: int) -> bool:
    """Whether a process has ended, even if no one has waited for it yet."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in "ZX"


def patiently(story: Coroutine[Any, Any, T]) -> T:
    """What a story returns that is played in time which passes only when nothing else can happen.

    Both ends of its sockets are in this process. Where all wait, time jumps to the next timer; so a
    limit expires if and only if what it is for does not happen, and an hour takes no time.
    """
    with asyncio.Runner(loop_factory=PatientLoop) as runner:
        return runner.run(story)


class PatientLoop(asyncio.SelectorEventLoop):
    """A loop over real sockets, in time that passes when nothing is on its way."""

    def __init__(self) -> None:
        self._now_s = time.monotonic()
        # Calls in other threads that are not answered.
        self.calls = 0
        super().__init__(_PatientSelector(self))

    def time(self) -> float:
        """Seconds of the story."""
        return self._now_s

    def move_on(self, seconds: float) -> None:
        """Let time pass in which nothing happened."""
        self._now_s += seconds

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Count the calls that have not been answered."""
        answer = super().run_in_executor(executor, func, *args)
        self.calls += 1

        def answered(_: object) -> None:
            self.calls -= 1

        answer.add_done_callback(answered)
        return answer


class _PatientSelector(selectors.BaseSelector):
    """Real sockets; to wait for a timer is to move time on."""

    def __init__(self, loop: PatientLoop) -> None:
        self._loop = loop
        self._real = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready, now or soon; else the time has passed."""
        if timeout is None or timeout <= 0:
            return self._real.select(timeout)
        found = self._real.select(timeout * SLOWER if self._loop.calls else ARRIVES_S)
        if not found:
            self._loop.move_on(timeout)
        return found

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """As ever."""
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """As ever."""
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """As ever."""
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """As ever."""
        return self._real.get_map()

    def close(self) -> None:
        """As ever."""
        self._real.close()
