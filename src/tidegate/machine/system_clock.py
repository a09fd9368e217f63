"""The wall clock. No other module reads it; all others receive the time as a value."""

import time

from tidegate.model.time import Instant


class SystemClock:
    """The time of the machine."""

    def now(self) -> Instant:
        """This very moment."""
        return Instant(time.time_ns())
