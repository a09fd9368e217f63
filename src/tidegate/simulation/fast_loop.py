"""An event loop whose seconds are shorter than ours, and a clock that agrees with it.

A worker runs on it unchanged: what it does every hour, it does every second at a speed of 3600.
Unlike the virtual loop it waits for real: files, threads and processes work, and take as long as
they take. So nothing is skipped; a machine that is too slow falls behind its own clock.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from tidegate.machine.clock import Clock
from tidegate.model.time import Duration, Instant

T = TypeVar("T")

# Faster than this, a worker does nothing but look.
SPEED_MAX = 100_000


class SimulatedClock:
    """A clock that starts at a moment and runs so many times as fast as another."""

    def __init__(self, clock: Clock, start: Instant, speed: int = 1) -> None:
        self._clock = clock
        self._began = clock.now()
        self._start = start
        self.speed = speed

    def now(self) -> Instant:
        """The time in the simulation."""
        return Instant(self._start + (self._clock.now() - self._began) * self.speed)

    def skip(self, duration: Duration) -> None:
        """Let time pass at once."""
        self._start = Instant(self._start + duration)


class FastLoop(asyncio.SelectorEventLoop):
    """A loop in which so many seconds pass in one of ours."""

    def __init__(self, speed: int) -> None:
        self._speed = speed
        super().__init__(_ShortWaits(selectors.DefaultSelector(), speed))

    def time(self) -> float:
        """Seconds of the simulation."""
        return super().time() * self._speed


def run_fast(main: Callable[[], Coroutine[Any, Any, T]], speed: int) -> T:
    """Run to its end at a speed."""
    with asyncio.Runner(loop_factory=lambda: FastLoop(speed)) as runner:
        return runner.run(main())


class _ShortWaits(selectors.BaseSelector):
    """A selector that waits a fraction of what it is asked to."""

    def __init__(self, inner: selectors.BaseSelector, speed: int) -> None:
        self._inner = inner
        self._speed = speed

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Files that are ready, or none after a while."""
        return self._inner.select(timeout / self._speed if timeout else timeout)

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Listen to a file."""
        return self._inner.register(fileobj, events, data)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Listen to other events of a file."""
        return self._inner.modify(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """Listen no more."""
        return self._inner.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """The registered files."""
        found = self._inner.get_map()
        assert found is not None, "it is open"
        return found

    def close(self) -> None:
        """Let go of what the system keeps for it."""
        self._inner.close()
