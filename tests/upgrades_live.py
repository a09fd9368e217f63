"""Organisations tended in virtual time: real workers, a simulated OpenShift Cluster Manager."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import yaml

from tidegate.adapters.store.memory import MemoryStore
from tidegate.core.journal.upgrade_state import UpgradeState
from tidegate.core.model.time import SECOND, Duration, Instant
from tidegate.core.upgrades.service import Registration
from tidegate.engine.acting import Actor, Limits
from tidegate.engine.brake_book import BrakeBook
from tidegate.engine.breaker import Breaker
from tidegate.engine.kind import Ended
from tidegate.engine.upgrades.acting import Hands
from tidegate.engine.upgrades.ledgers import upgrade_desk
from tidegate.engine.upgrades.rounds import Upgrades
from tidegate.engine.upgrades.sight import Channel, Pace, Sight, Watched
from tidegate.engine.worker import Led, Settings, Worker
from tidegate.ports.cluster_health import Alerts
from tidegate.ports.cluster_manager import ManagedClusters
from tidegate.ports.store import Store
from tidegate.simulation.cluster_manager.faults import Luck
from tidegate.simulation.cluster_manager.founding import found
from tidegate.simulation.cluster_manager.inside import ClustersInside
from tidegate.simulation.cluster_manager.state import State, Write
from tidegate.simulation.port import SimulatedFleet
from tidegate.simulation.virtual_loop import VirtualLoop, run_virtually
from tidegate.wire.cluster_manager_doc import read_world

EXAMPLE = Path(__file__).parent.parent / "examples" / "ocm.yaml"
T = TypeVar("T")
PACE = Pace(every_s=600, rest_s=30)


def example() -> dict[str, Any]:
    """The small fleet that is shipped."""
    document: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text())
    return document


class NoRollouts(SimulatedFleet):
    """A fleet nobody has to poll."""

    async def changes(self) -> AsyncIterator[str]:
        """Nothing, ever."""
        await asyncio.Event().wait()
        yield ""


class Scene:
    """A simulated OpenShift Cluster Manager, a journal, and workers."""

    def __init__(
        self,
        document: dict[str, Any],
        *,
        luck: Luck | None = None,
        store: Store | None = None,
        **registered: Any,
    ) -> None:
        read = read_world(document)
        # What time it is between two plays.
        self.at = read.now
        self._loop: VirtualLoop | None = None
        self.state: State = found(read)
        self.luck = luck
        self.store = store if store is not None else MemoryStore()
        self.told: list[tuple[str, Ended | Led | Exception]] = []
        self.watched: list[Watched] = []
        self.registrations = tuple(
            Registration(id=each["id"], name=each["name"], environment="prod", **registered)
            for each in document["orgs"]
        )

    def now(self) -> Instant:
        """What time it is here."""
        return self.at if self._loop is None else self._loop.now()

    def manager(self) -> ClustersInside:
        """A way in."""
        return ClustersInside(self.state, self, self.luck)

    def worker(
        self,
        holder: str = "w",
        act: tuple[str, ...] = ("*",),
        store: Store | None = None,
        manager: ManagedClusters | None = None,
        alerts: Callable[[str], Coroutine[Any, Any, Alerts]] | None = None,
    ) -> Worker:
        """One more worker; it sees the journal and the clusters through these, if any are given."""
        channel = Channel("prod", manager or self.manager(), self.registrations)
        asked = {} if alerts is None else {"prod": alerts}
        sight = Sight((channel,), self, PACE, asked)
        sight.heard = self.watched.append
        settings = Settings(
            holder=holder,
            act=act,
            lease_term=Duration(1800 * SECOND),
            listen_s=60.0,
            resync_s=600.0,
            discover_s=600.0,
        )
        return Worker(
            store or self.store,
            NoRollouts(self),
            self,
            Actor(Limits(), Breaker()),
            settings,
            lambda partition, outcome: self.told.append((partition, outcome)),
            kinds=(Upgrades(sight, Hands()),),
        )

    def live(self, hours: float, *workers: Worker) -> None:
        """Let time pass with these workers at work; one, if none is named."""

        async def run() -> None:
            some = workers or (self.worker(),)
            tasks = [asyncio.create_task(each.run()) for each in some]
            await asyncio.sleep(hours * 3600)
            for each in some:
                each.stop()
            await asyncio.gather(*tasks)

        self.play(run)

    def play(self, story: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a story in this scene's time."""

        async def main(loop: VirtualLoop) -> T:
            self._loop = loop
            try:
                return await story()
            finally:
                self.at, self._loop = loop.now(), None

        return run_virtually(main, self.at)

    def known(self, partition: str) -> UpgradeState:
        """What the journal knows of an organisation."""
        return upgrade_desk(self.store, partition, BrakeBook(self.store)).state

    @property
    def writes(self) -> list[Write]:
        """What was asked of the OpenShift Cluster Manager."""
        return list(self.state.writes)

    def versions(self) -> dict[str, str]:
        """Which version each cluster runs by now."""

        async def read() -> dict[str, str]:
            manager = ClustersInside(self.state, self)
            orgs = [each.id for each in self.registrations]
            every = [each.id for each in (await manager.subscriptions((), orgs)).items]
            clusters = (await manager.clusters(every)).items
            return {each.name: each.version.raw_id for each in clusters}

        return self.play(read)
