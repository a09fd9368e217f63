"""An event loop in virtual time: when nothing is ready, time jumps to the next timer.

The engine runs on it unchanged, hours in milliseconds. There is one thread: what `to_thread` would
hand to another runs here, in its turn, so that a run depends on its seed and on nothing else.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor
from contextvars import Context
from typing import Any, NoReturn, TypeVar, TypeVarTuple

from tidegate.model.time import SECOND, Duration, Instant

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# How far a clock is off that is right.
RIGHT = Duration(0)

# Moments nearer than this are one. A loop counts in floats, which tell microseconds apart for a
# century; nanoseconds for half a year, and then a timer that is due would never end.
RESOLUTION_S = 1e-6
# The shortest time a timer takes: more than the loop's resolution, or it would take none.
TIMER_S = 2 * RESOLUTION_S
# Asked before a call that goes to a thread: how many seconds pass until it is really made.
Pace = Callable[[], float]


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose time is only what its timers make of it."""

    def __init__(self, start: Instant, pace: Pace | None = None) -> None:
        self._start = start
        self._passed_ns = 0
        self._blocked_s = 0.0
        self.pace = pace
        super().__init__(_Nobody(self))
        self._clock_resolution = RESOLUTION_S

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._passed_ns / SECOND

    def now(self) -> Instant:
        """The true time, as a correct clock shows it."""
        return Instant(self._start + self._passed_ns)

    def move_on(self, seconds: float) -> None:
        """Let time pass in which nothing happens."""
        self._passed_ns += max(1, round(seconds * SECOND))

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """A timer takes a minimum of time, so that setting one repeatedly makes progress."""
        return super().call_at(max(when, self.time() + TIMER_S), callback, *args, context=context)

    def block(self, seconds: float) -> None:
        """Inside a call that went to a thread: its answer comes so much later."""
        self._blocked_s += seconds

    def run_in_executor(
        self,
        executor: Executor | None,  # noqa: ARG002  there are no threads
        func: Callable[[*Ts], T],
        *args: *Ts,
    ) -> asyncio.Future[T]:
        """Make the call in its turn. As with a thread, giving up waiting does not undo it."""
        answer: asyncio.Future[T] = self.create_future()

        def call() -> None:
            self._blocked_s = 0.0
            error: BaseException | None = None
            value: Any = None
            try:
                value = func(*args)
            except BaseException as raised:  # noqa: BLE001  a thread hands everything over, too
                error = raised
            if self._blocked_s:
                self.call_later(self._blocked_s, _deliver, answer, value, error)
            else:
                self.call_soon(_deliver, answer, value, error)

        delay_s = self.pace() if self.pace is not None else 0.0
        if delay_s:
            self.call_later(delay_s, call)
        else:
            self.call_soon(call)
        return answer


def _deliver(answer: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if answer.done():
        return  # the caller has given up
    if error is None:
        answer.set_result(value)
    else:
        answer.set_exception(error)


class VirtualClock:
    """A clock on a virtual loop: right, or off by as much as it was set or jumped."""

    def __init__(self, loop: VirtualLoop, off: Duration = RIGHT) -> None:
        self._loop = loop
        self.off = off

    def now(self) -> Instant:
        """What the clock shows."""
        return Instant(self._loop.now() + self.off)

    def jump(self, by: Duration) -> None:
        """Forwards, or backwards."""
        self.off = Duration(self.off + by)


def run_virtually(
    main: Callable[[VirtualLoop], Coroutine[Any, Any, T]], start: Instant, pace: Pace | None = None
) -> T:
    """Run to its end in virtual time what is made for a loop."""
    loop = VirtualLoop(start, pace)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(main(loop))


class _Nobody(selectors.BaseSelector):
    """Nothing arrives from outside: to wait is to move time on."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """No file is ready, and the time has passed."""
        if timeout is None:
            _raise_stuck()
        if timeout > 0:
            self._loop.move_on(timeout)
        return []

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """The loop's own pipe; nothing is ever written to it."""
        number = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        key = selectors.SelectorKey(fileobj, number, events, data)
        self._keys[fileobj] = key
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """Listen no more."""
        return self._keys.pop(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """The registered files."""
        return self._keys


def _raise_stuck() -> NoReturn:
    raise RuntimeError("nothing is ready and no timer is set: this would wait for ever")
