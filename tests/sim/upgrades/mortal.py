"""An OpenShift Cluster Manager as one life of a worker sees it: every request is a point to die."""

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tests.sim.story.life import Life
from tidegate.kinds.upgrades.ocm.port import OcmList
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw, OcmFault, OcmFaults
from tidegate.kinds.upgrades.ocm.simulated.port import SimulatedClusters
from tidegate.kinds.upgrades.ocm.simulated.state import (
    ALL_CLUSTERS,
    LABELS,
    SUBSCRIPTIONS,
    OcmState,
)
from tidegate.machine.clock import Clock

T = TypeVar("T")

# How many of a thousand calls meet each fault: none, some, or so many that little gets through.
MOODS = (0, 2, 8, 40)
# How long an answer takes.
LATENCIES_S = (0.0, 0.0, 0.5, 4.0)
# Lists that change while their pages are read.
LONG = (LABELS, SUBSCRIPTIONS, ALL_CLUSTERS)


class Weather(FaultDraw):
    """What goes wrong with the calls of an environment, for a while; seldom nothing answers."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(OcmFaults(), seed)
        self.down_until_s = 0.0
        # How many of a thousand lists are not whole.
        self.gaps = 0
        self.random = random.Random(f"weather/{seed}")

    def turn(self, rng: random.Random) -> None:
        """The weather changes."""
        mood = rng.choice(MOODS)
        permille = {each: mood for each in OcmFault if rng.random() < 0.7}
        self.troubles = OcmFaults(permille, rng.choice(LATENCIES_S))
        self.gaps = rng.choice((0, 0, 5, 30)) if mood else 0

    def clear(self) -> None:
        """All is well."""
        self.troubles, self.gaps, self.down_until_s = OcmFaults(), 0, 0.0

    def draw(self, now_s: float) -> OcmFault | None:
        """The fault a call meets."""
        if now_s < self.down_until_s:
            self.met["down"] += 1
            return OcmFault.CUT
        return super().draw(now_s)

    def loses(self) -> bool:
        """Whether a list is not whole."""
        return self.gaps > 0 and self.random.randrange(1000) < self.gaps


class MortalClusters(SimulatedClusters):
    """Passes requests on; a frozen life's come later, a dead one's not at all."""

    def __init__(
        self,
        life: Life,
        state: OcmState,
        clock: Clock,
        luck: Weather | None = None,
        asked: Callable[[Life, str, str], None] | None = None,
    ) -> None:
        self._life = life
        self._weather = luck or Weather()
        super().__init__(state, clock, self._weather)
        # Called before every request; None: nothing is.
        self._asked = asked

    async def _ask(
        self, method: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Pass on.

        A process that freezes right before a write, having asked whether it still leads, writes
        when it thaws: no lease can prevent that, so it is not drawn.
        """
        self._life.step()
        if method == "GET" and (wait_s := self._life.frozen_s()):
            await asyncio.sleep(wait_s)
            self._life.call()
        if self._asked is not None:
            self._asked(self._life, method, path)
        answer = await super()._ask(method, path, body, query)
        self._life.call()
        return answer

    async def _list(self, path: str, kind: type[T], search: str = "") -> OcmList[T]:
        """A list; now and then it lacks something, and says so."""
        found = await super()._list(path, kind, search)
        if path not in LONG or not self._weather.loses():
            return found
        draw = self._weather.random.random
        kept = tuple(each for each in found.items if draw() < 0.8)
        return OcmList(kept, found.unreadable, complete=False)
