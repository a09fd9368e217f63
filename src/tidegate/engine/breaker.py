"""A circuit breaker for one outside system: after some failures in a row it gets a rest.

Closed: calls pass. Open: none does, until the rest is over; each rest is twice the one before, up
to a limit. Half open: one call decides. The clock is handed in, so that it can be tested.
"""

from tidegate.model.time import SECOND, Duration, Instant

FAILURES_MAX = 5
REST_FIRST = Duration(2 * SECOND)
REST_MAX = Duration(120 * SECOND)


class Breaker:
    """Counts failures in a row, and says when the next call may be made."""

    def __init__(
        self,
        failures_max: int = FAILURES_MAX,
        rest_first: Duration = REST_FIRST,
        rest_max: Duration = REST_MAX,
    ) -> None:
        self._failures_max = failures_max
        self._rest_first = rest_first
        self._rest_max = rest_max
        self._failures = 0
        self._shut_until: Instant | None = None

    def another(self) -> "Breaker":
        """One that is as patient, for another system."""
        return Breaker(self._failures_max, self._rest_first, self._rest_max)

    def shut_until(self, now: Instant) -> Instant | None:
        """Until when no call may be made; None: now it may."""
        if self._shut_until is None or now >= self._shut_until:
            return None
        return self._shut_until

    def failed(self, now: Instant) -> None:
        """A call failed."""
        self._failures += 1
        over = self._failures - self._failures_max
        if over >= 0:
            rest = min(self._rest_max, self._rest_first << min(over, 16))
            self._shut_until = Instant(now + rest)

    def succeeded(self) -> None:
        """A call succeeded: all is forgotten."""
        self._failures = 0
        self._shut_until = None
