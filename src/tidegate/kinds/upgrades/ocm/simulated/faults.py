"""What goes wrong with calls to a simulated OpenShift Cluster Manager, drawn from a seed."""

import enum
import random
from collections import Counter
from collections.abc import Mapping

import msgspec


class OcmFault(enum.Enum):
    """What can go wrong with one call."""

    TOO_MANY = "429"  # nothing is done; asked to come back after a while
    ERROR = "500"  # nothing is done
    CUT = "cut"  # nothing is done, and the connection is cut
    LOST = "lost"  # it is done, and the connection is cut before the answer


class OcmFaults(msgspec.Struct, frozen=True):
    """How much goes wrong: of a thousand calls."""

    permille: Mapping[OcmFault, int] = {}
    # How long every answer takes.
    latency_s: float = 0.0
    # The Retry-After of a 429.
    retry_after_s: int = 1
    # Calls of one second; those beyond are too many. 0: any number.
    rate_max: int = 0


class FaultDraw:
    """Which call meets what."""

    def __init__(self, troubles: OcmFaults, seed: int = 0) -> None:
        self.troubles = troubles
        self.met: Counter[str] = Counter()
        self._random = random.Random(f"ocm/{seed}")
        self._second, self._calls = -1, 0

    def draw(self, now_s: float) -> OcmFault | None:
        """The fault a call meets, at a moment of ours; None: it is well."""
        found = self._beyond(now_s) or self._drawn()
        if found is not None:
            self.met[found.value] += 1
        return found

    def _drawn(self) -> OcmFault | None:
        at = self._random.randrange(1000)
        for fault, share in self.troubles.permille.items():
            if at < share:
                return fault
            at -= share
        return None

    def _beyond(self, now_s: float) -> OcmFault | None:
        if int(now_s) != self._second:
            self._second, self._calls = int(now_s), 0
        self._calls += 1
        most = self.troubles.rate_max
        return OcmFault.TOO_MANY if most and self._calls > most else None
