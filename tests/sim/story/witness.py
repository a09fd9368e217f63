"""A witness watches one story: it counts, remembers what was acknowledged, and collects claims.

A kind's witness adds its laws: each a claim, made when something is asked for or carried out.
"""

from collections import Counter

from tests.sim.story.life import Life
from tidegate.engine.round import RoundResult
from tidegate.model.time import Instant, format_instant
from tidegate.simulation.virtual_loop import VirtualLoop
from tidegate.store.port import Head


class Witness:
    """Watches one story."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.start = loop.now()
        self.steps = self.rounds = self.deaths = self.errors = 0
        # What happened, and how often: stories in which little happens show little.
        self.seen: Counter[str] = Counter()
        # What the store said, and must still say at the end.
        self.acks: list[tuple[str, Head]] = []
        # Claims that were not true.
        self.broken: list[str] = []

    def is_watched(self, partition: str) -> bool:
        """Whether it is a partition of the story: reading it is a step, and no polling."""
        raise NotImplementedError

    def claim(self, holds: bool, what: str) -> None:
        """Something must be true."""
        if not holds:
            self.broken.append(f"{format_instant(self.loop.now())}  {what}")

    def claim_led(self, life: Life, partition: str, within: int, what: str) -> None:
        """A worker that acts has asked whether it still leads; the answer is so old at most."""
        asked_at = life.confirmed_at.get(partition, Instant(0))
        late = self.loop.now() - asked_at > within
        self.claim(not late, f"{life.name}: {what} without asking whether it still leads")

    def acknowledged(self, life: Life | None, partition: str, head: Head) -> None:
        """The store said that a chain ends here; None: to a person."""
        self.acks.append((partition, head))

    def reported(self, partition: str, outcome: object) -> None:
        """A worker says how a round ended, or something else of itself."""
        self.rounds += isinstance(outcome, RoundResult | Exception)
        self.errors += isinstance(outcome, Exception)

    def counted(self) -> Counter[str]:
        """What was seen, and what every witness counts."""
        own = {"steps": self.steps, "rounds": self.rounds, "deaths": self.deaths}
        return self.seen + Counter(own | {"errors": self.errors})
