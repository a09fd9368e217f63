"""Upgrades in virtual time: the real engine, a simulated OpenShift Cluster Manager an environment.

Everything is in this process, the journal included; a fortnight takes seconds. Every round is
reported to a callback.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from tidegate.documents.brake_doc import IN_DOCUMENT
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.brakes.source import Written
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.partition import PartitionState
from tidegate.engine.worker import Report, Worker
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.journal.chain import JournalNote
from tidegate.kinds.upgrades.app.read.journal import UpgradeJournal
from tidegate.kinds.upgrades.app.read.organisations import AskAlerts, publishing, read_organisations
from tidegate.kinds.upgrades.app.read.world import FleetReading, WorldReading
from tidegate.kinds.upgrades.app.surveys import SurveyChannel, SurveyPace, SurveyReport, Surveys
from tidegate.kinds.upgrades.core.journal.facts import Imported
from tidegate.kinds.upgrades.core.journal.state import UpgradeState, soak_doc
from tidegate.kinds.upgrades.core.service import OcmEnvironment, Registration, UpgradeService
from tidegate.kinds.upgrades.core.world import HealthCheck, UpgradeWorld
from tidegate.kinds.upgrades.health_port import Alerts
from tidegate.kinds.upgrades.kind import UpgradeKind
from tidegate.kinds.upgrades.ocm.port import ManagedClusters
from tidegate.kinds.upgrades.ocm.simulated import world_doc as cluster_manager_doc
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw
from tidegate.kinds.upgrades.ocm.simulated.port import SimulatedClusters
from tidegate.kinds.upgrades.ocm.simulated.start import found
from tidegate.kinds.upgrades.ocm.simulated.state import OcmState
from tidegate.kinds.upgrades.ocm.simulated.world_doc import narrowed
from tidegate.kinds.upgrades.rules import UpgradeRules
from tidegate.kinds.upgrades.wire.state import read_ledger
from tidegate.machine.clock import Clock
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.simulation.virtual_loop import VirtualLoop, run_virtually
from tidegate.store.client.memory import MemoryStore
from tidegate.store.port import Store

T = TypeVar("T")

# How often is looked; between looks nothing is decided, so it takes as long as there are looks.
LOOK = Duration(3600 * SECOND)
REST_S = 30.0
TIMEOUT_S = 300.0
# A worker has its lease for so many looks, and renews it with each.
LEASE_LOOKS = 3


class _Standing:
    """Brakes that stand in the document of a world, and stay as they are."""

    def __init__(self, world: cluster_manager_doc.OcmWorld) -> None:
        brakes = Written("world", world.brakes, lift=IN_DOCUMENT)
        self._written = (brakes,) if world.brakes else ()

    def read(self) -> tuple[Written, ...]:
        """All of them."""
        return self._written


def registered(world: cluster_manager_doc.OcmWorld) -> tuple[Registration, ...]:
    """Every organisation of a world, without those that it says are not served."""
    return tuple(
        Registration(
            id=each.id,
            name=each.name or each.id,
            environment=each.env,
            health_checks=tuple(msgspec.convert(each.health_checks, list[HealthCheck])),
            disabled=tuple(each.disabled),
            quarantine_after=each.quarantine_after,
            addons=each.addons,
        )
        for each in world.orgs
        if each.registered
    )


def surveys_of(
    ways: Mapping[str, ManagedClusters],
    served: Sequence[Registration],
    clock: Clock,
    look_s: float,
    asked: AskAlerts | None,
    timeout_s: float = TIMEOUT_S,
    unlabelled_s: float = 0.0,
) -> Surveys:
    """Surveys of environments, by their names, for all organisations that are served there."""
    channels = tuple(
        SurveyChannel(name, way, mine)
        for name, way in ways.items()
        if (mine := tuple(each for each in served if each.environment == name))
    )
    pace = SurveyPace(
        every_s=look_s,
        timeout_s=timeout_s,
        rest_s=min(REST_S, look_s),
        unlabelled_s=unlabelled_s,
    )
    return Surveys(channels, clock, pace, dict.fromkeys(ways, asked) if asked else {})


def states_of(world: cluster_manager_doc.OcmWorld) -> dict[str, OcmState]:
    """An OpenShift Cluster Manager for each environment of a world."""
    names = dict.fromkeys(each.env for each in world.orgs)
    return {name: found(narrowed(world, name)) for name in names}


class Rehearsal:
    """Simulated OpenShift Cluster Managers, a journal, and workers."""

    # How often clusters without labels are read; 0: never.
    unlabelled_s: float = 0.0

    def __init__(
        self,
        world: cluster_manager_doc.OcmWorld,
        served: Sequence[Registration] = (),
        *,
        luck: FaultDraw | None = None,
        store: Store | None = None,
        look: Duration = LOOK,
        hear: Report | None = None,
    ) -> None:
        # What time it is between two plays.
        self.at = world.now
        self._loop: VirtualLoop | None = None
        self.served = tuple(served) or registered(world)
        self.states = states_of(world)
        self.luck = luck
        self.store = store if store is not None else MemoryStore()
        self._sources = (_Standing(world),)
        self._import_soak(world)
        self._look_s = look / SECOND
        self.hear = hear
        # Called with every survey; None: nothing is.
        self.watch: Callable[[SurveyReport], None] | None = None
        self._alerts = standing_alerts(world)
        # The source of alerts; None: there is none.
        self.ask: AskAlerts | None = self._ask_alerts

    def _import_soak(self, world: cluster_manager_doc.OcmWorld) -> None:
        """Begin with the soak that a world says, where the journal does not know better."""
        known = self.store.heads()
        for each in self.served:
            key = f"{each.environment}/{each.id}"
            if each.partition in known or key not in world.soaked:
                continue
            soak = soak_doc(read_ledger(world.soaked[key]))
            fact = Imported(soak=soak, origin="the world that is simulated")
            self.store.append(each.partition, [JournalNote(world.now, "rehearsal", fact)])

    def now(self) -> Instant:
        """What time it is here."""
        return self.at if self._loop is None else self._loop.now()

    def way(self, environment: str) -> SimulatedClusters:
        """A way into one of them."""
        return SimulatedClusters(self.states[environment], self, self.luck)

    def worker(
        self,
        holder: str = "rehearsal",
        act: tuple[str, ...] = ("*",),
        store: Store | None = None,
        manager: ManagedClusters | None = None,
        alerts: AskAlerts | None = None,
    ) -> Worker:
        """One more worker; it sees the journal and the clusters through these, if any are given."""
        given = store if store is not None else self.store
        ways = {name: manager or self.way(name) for name in self.states}
        ask = alerts or self.ask
        surveys = surveys_of(
            ways, self.served, self, self._look_s, ask, unlabelled_s=self.unlabelled_s
        )
        if self.watch is not None:
            surveys.on_survey = self.watch
        return Worker(
            given,
            (UpgradeKind(surveys),),
            self,
            Executor(Limits(), Breaker()),
            WorkerSettings(
                holder=holder,
                act=act,
                lease_term=Duration(round(LEASE_LOOKS * self._look_s) * SECOND),
                listen_s=self._look_s,
                resync_s=self._look_s,
                discover_s=self._look_s,
            ),
            self.hear,
            BrakeBook(given, self._sources),
        )

    async def _ask_alerts(self, org: str) -> Alerts:
        return self._alerts.get(org, {})

    def live(self, hours: float, *workers: Worker) -> None:
        """Let time pass with these workers at work; one, if none is named."""

        async def run() -> None:
            some = workers or (self.worker(),)
            tasks = [asyncio.create_task(each.run()) for each in some]
            await asyncio.wait(tasks, timeout=hours * 3600, return_when=asyncio.FIRST_EXCEPTION)
            for each in some:
                each.stop()
            await asyncio.gather(*tasks)

        self.play(run)

    def play(self, story: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a story in this rehearsal's time."""

        async def main(loop: VirtualLoop) -> T:
            self._loop = loop
            try:
                return await story()
            finally:
                self.at, self._loop = loop.now(), None

        return run_virtually(main, self.at)

    def known(self, partition: str) -> UpgradeState:
        """What the journal knows of an organisation."""
        return PartitionState(self.store, partition, UpgradeRules()).state

    def fleet(self) -> FleetReading:
        """Every organisation that is served, read now without faults, with its journal."""
        found = self.play(self._read)
        journal = UpgradeJournal(self.store, BrakeBook(self.store, self._sources))
        return FleetReading(
            tuple(
                WorldReading(
                    world=msgspec.structs.replace(
                        journal.completed(each.partition, world), read_at=self.at
                    ),
                    service=UpgradeService(
                        (OcmEnvironment(name=each.environment, url=""),), (each,)
                    ),
                    where="simulated",
                    read_at=self.at,
                )
                for each, world in found
            )
        )

    async def _read(self) -> list[tuple[Registration, UpgradeWorld]]:
        ways = {name: SimulatedClusters(state, self) for name, state in self.states.items()}
        found: list[tuple[Registration, UpgradeWorld]] = []
        for name, way in ways.items():
            mine = [each for each in self.served if each.environment == name]
            others = publishing(ways)
            read = await read_organisations(way, mine, self.now(), others, self._ask_alerts)
            found += zip(mine, read.worlds, strict=True)
        return found


def standing_alerts(world: cluster_manager_doc.OcmWorld) -> dict[str, dict[str, tuple[str, ...]]]:
    """The alerts that clusters have from beginning to end, by organisation and external id."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for each in world.clusters:
        if each.alerts:
            names = tuple(str(one) for one in each.alerts)
            found.setdefault(each.org, {})[each.external_id or f"{each.name}-uuid"] = names
    return found
