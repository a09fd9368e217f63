"""The clock of a simulation: it starts at a moment of its own, and may run faster than ours."""

from tidegate.machine.clock import Clock
from tidegate.model.time import Duration, Instant


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
