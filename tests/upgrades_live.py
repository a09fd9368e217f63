"""Organisations managed in virtual time: real workers, a simulated OpenShift Cluster Manager."""

from pathlib import Path
from typing import Any

import yaml

from tidegate.engine.round import RoundResult
from tidegate.engine.vitals import Led
from tidegate.kinds.upgrades.app.surveys import SurveyReport
from tidegate.kinds.upgrades.core.service import Registration
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw
from tidegate.kinds.upgrades.ocm.simulated.port import SimulatedClusters
from tidegate.kinds.upgrades.ocm.simulated.state import OcmState, OcmWrite
from tidegate.kinds.upgrades.ocm.simulated.world_doc import read_world
from tidegate.kinds.upgrades.simulated.rehearsal import Rehearsal
from tidegate.model.time import SECOND, Duration
from tidegate.store.client.memory import MemoryStore
from tidegate.store.port import Store

EXAMPLE = Path(__file__).parent.parent / "examples" / "ocm.yaml"
PROD = "prod"
LOOK = Duration(600 * SECOND)


def example() -> dict[str, Any]:
    """The small fleet that is shipped."""
    document: dict[str, Any] = yaml.load(EXAMPLE.read_bytes(), yaml.CSafeLoader)
    return document


class Scene(Rehearsal):
    """A rehearsal of one environment, with every target registered alike; all reports are kept."""

    def __init__(
        self,
        document: dict[str, Any],
        *,
        luck: FaultDraw | None = None,
        store: Store | None = None,
        look: Duration = LOOK,
        **registered: Any,
    ) -> None:
        self.told: list[tuple[str, RoundResult | Led | Exception]] = []
        self.registrations = tuple(
            Registration(id=each["id"], name=each["name"], environment=PROD, **registered)
            for each in document["orgs"]
        )
        super().__init__(
            read_world(document),
            self.registrations,
            luck=luck,
            store=store if store is not None else MemoryStore(),
            look=look,
            hear=lambda partition, outcome: self.told.append((partition, outcome)),
        )
        self.watched: list[SurveyReport] = []
        self.watch, self.ask = self.watched.append, None

    @property
    def state(self) -> OcmState:
        """All that its OpenShift Cluster Manager knows."""
        return self.states[PROD]

    @state.setter
    def state(self, state: OcmState) -> None:
        self.states[PROD] = state

    def manager(self) -> SimulatedClusters:
        """A way in."""
        return super().way(PROD)

    def way(self, environment: str) -> SimulatedClusters:
        """The same for workers."""
        return self.manager()

    @property
    def writes(self) -> list[OcmWrite]:
        """What was asked of the OpenShift Cluster Manager."""
        return list(self.state.writes)

    def versions(self) -> dict[str, str]:
        """Which version each cluster runs by now."""

        async def read() -> dict[str, str]:
            manager = SimulatedClusters(self.state, self)
            orgs = [each.id for each in self.registrations]
            every = [each.id for each in (await manager.subscriptions((), orgs)).items]
            clusters = (await manager.clusters(every)).items
            return {each.name: each.version.raw_id for each in clusters}

        return self.play(read)
