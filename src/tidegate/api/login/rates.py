"""Keeps one caller from taking the service from all others."""

from tidegate.api.problem import RequestError
from tidegate.machine.clock import Clock
from tidegate.model.time import SECOND, Instant

# How many requests a caller may send at once, and in a second after that.
BURST = 200
RATE = 100
# Beyond so many callers, those that sent nothing lately are forgotten.
CALLERS_MAX = 10_000


class CallerRates:
    """Keeps one caller from taking the service from all others: refuses, where it would wait."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # When all that a caller has sent would be done, at the rate it is allowed.
        self._done_at: dict[str, Instant] = {}

    def take(self, actor: str) -> None:
        """One more request of a caller; RequestError 429 if they are too many."""
        now, each = self._clock.now(), SECOND // RATE
        done = Instant(max(self._done_at.get(actor, now), now) + each)
        if done - now > BURST * each:
            detail = f"more than {RATE} requests a second; wait a second"
            headers = {"Retry-After": "1"}
            raise RequestError(429, "too-many", "Too many requests", detail, headers)
        if len(self._done_at) >= CALLERS_MAX:
            self._done_at = {name: at for name, at in self._done_at.items() if at > now}
        self._done_at[actor] = done
