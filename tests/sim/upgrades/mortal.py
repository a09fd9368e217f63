"""An OpenShift Cluster Manager as one life of a worker sees it: every request is a point to die."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from tests.sim.loop.lives import Life
from tidegate.ports.clock import Clock
from tidegate.simulation.cluster_manager.faults import Luck
from tidegate.simulation.cluster_manager.inside import ClustersInside
from tidegate.simulation.cluster_manager.state import State


class MortalClusters(ClustersInside):
    """Passes requests on; a frozen life's come later, a dead one's not at all."""

    def __init__(
        self,
        life: Life,
        state: State,
        clock: Clock,
        luck: Luck | None = None,
        asked: Callable[[Life, str, str], None] | None = None,
    ) -> None:
        super().__init__(state, clock, luck)
        self._life = life
        # Told of every request before it is made; None: nobody is.
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
