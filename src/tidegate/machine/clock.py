"""Where time comes from: the machine's clock, or a virtual one."""

from typing import Protocol

from tidegate.model.time import Instant


class Clock(Protocol):
    """Says what time it is."""

    def now(self) -> Instant:
        """The moment a round is decided at; asked once a round."""
        ...
