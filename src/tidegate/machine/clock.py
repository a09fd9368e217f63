"""The port of the clock: the machine's, or a virtual one."""

from typing import Protocol

from tidegate.model.time import Instant


class Clock(Protocol):
    """Returns the current time."""

    def now(self) -> Instant:
        """The current moment; a round reads it once."""
        ...
