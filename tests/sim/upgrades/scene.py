"""Organisations drawn from a seed: their clusters, what goes wrong, what people do, and when."""

import random
from collections import Counter

from tests.sim.story.life import Life
from tests.sim.story.scene import Happening, Scene, in_order
from tests.sim.upgrades import ending
from tests.sim.upgrades.brakes import Board
from tests.sim.upgrades.fleets import GATES, START, Fleet
from tests.sim.upgrades.ground import Ground
from tests.sim.upgrades.mortal import MortalClusters, Weather
from tests.sim.upgrades.people import People
from tests.sim.upgrades.record import Record
from tests.sim.upgrades.witness import UpgradeWitness
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.kinds.upgrades.app.surveys import SurveyChannel, SurveyPace, Surveys
from tidegate.kinds.upgrades.kind import UpgradeKind
from tidegate.kinds.upgrades.ocm.simulated.start import found
from tidegate.kinds.upgrades.ocm.simulated.state import (
    OcmState,
)
from tidegate.kinds.upgrades.ocm.simulated.world_doc import read_world
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.simulation.faults import CallFault, Faults
from tidegate.simulation.virtual_loop import VirtualClock, VirtualLoop
from tidegate.store.port import Store

# Looked at this often: twice in the two hours in which time counts as watched.
EVERY_S = 3000.0
# Once all is quiet: less than the two hours in which time counts as watched, and an upgrade can be
# asked for.
QUIET_EVERY_S = 6500.0
LEASE_TERM = Duration(3600 * SECOND)
# Clocks of one service are this far apart at most.
OFF_MAX_S = 8
# People do something at most this often, so that nothing comes and goes between two looks.
APART_S = 7800
# How many of a thousand calls of the journal meet each fault.
MOODS = (0, 2, 6)
STORE_FAULTS = (
    CallFault.GONE_BEFORE,
    CallFault.GONE_AFTER,
    CallFault.OVERTAKEN,
    CallFault.SLOW,
    CallFault.FULL,
)


class UpgradeScene(Scene):
    """Organisations whose clusters are upgraded, and what their people do."""

    start = START
    freezes_s = (60, 300, 1200, 3000, 12_000)
    calls_max = 30_000
    poll_s = 13 * 3600.0
    # Long enough for the slowest chain of sectors with a day a week to start on.
    polls_max = 300

    witness: UpgradeWitness

    def __init__(self, seed: int, days: float, calm: bool, loop: VirtualLoop, store: Store) -> None:
        super().__init__(seed, loop, store, random.Random(f"upgrades/{seed}"))
        rng = self.rng
        self.calm = calm or rng.random() < 0.2
        self.trouble_s = days * 86400 * rng.uniform(0.8, 1.0)
        fleet = Fleet(rng, days)
        self.served = fleet.registrations()
        self.board = Board(store)
        self.off_max = 0 if self.calm else rng.choice((0, 0, OFF_MAX_S)) * SECOND
        self.ground = Ground(Record(), self.board, fleet.terms, GATES, 2 * self.off_max)
        every = {each.partition for some in self.served.values() for each in some}
        self.partitions = sorted(every)
        self.witness = UpgradeWitness(loop, self.ground, frozenset(every))
        self.states: dict[str, OcmState] = {}
        self.weather: dict[str, Weather] = {}
        for env, world in fleet.worlds().items():
            self.states[env] = found(read_world(world))
            self.weather[env] = Weather(rng.randrange(2**32))
            self.witness.watch(env, self.states[env])
        # When the last of those who could be in the way has done something.
        self.settled_at = START
        # From when on somebody surely looked all the time.
        self.watched_from = START
        # How often OpenShift Cluster Managers are read.
        self.every_s = EVERY_S
        record = self.ground.record
        self.people = People(rng, loop, record, self.states, self.board, self.tell)
        self.workers = rng.choice((1, 1, 2, 3))
        self.faults = self._faults()

    def _faults(self) -> Faults:
        mood = 0 if self.calm else self.rng.choice(MOODS)
        permille = {each: mood for each in STORE_FAULTS if self.rng.random() < 0.6}
        until = Instant(START + round(self.trouble_s) * SECOND)
        return Faults(self.seed, VirtualClock(self.loop), permille, until)

    # Workers

    def settings(self, holder: str) -> WorkerSettings:
        """Of a worker that has days."""
        return WorkerSettings(
            holder=holder,
            act=("*",),
            lease_term=LEASE_TERM,
            listen_s=300.0,
            resync_s=1800.0,
            discover_s=3600.0,
            follow_s=900.0,
            backoff_max_s=600.0,
        )

    def kind(self, life: Life) -> UpgradeKind:
        """Upgrades by OpenShift Cluster Managers whose calls fail."""
        channels = tuple(
            SurveyChannel(env, self._manager(life, env), self.served[env]) for env in self.states
        )
        pace = SurveyPace(every_s=self.every_s, rest_s=120.0)
        alerts = dict.fromkeys(self.states, self._alerts)
        return UpgradeKind(Surveys(channels, life.clock, pace, alerts))

    def start_worker(self, *, holder: str = "", mortal: bool = True) -> Life:
        """With every worker, clocks that are off add up more."""
        life = super().start_worker(holder=holder, mortal=mortal)
        clusters = len(self.ground.record.clusters)
        self.ground.slack = self.ground.off * clusters * len(self.lives)
        return life

    def _manager(self, life: Life, env: str) -> MortalClusters:
        # The clock of an OpenShift Cluster Manager is right, whatever a worker's shows.
        clock = VirtualClock(self.loop)
        return MortalClusters(life, self.states[env], clock, self.weather[env], self.witness.called)

    async def _alerts(self, org: str) -> dict[str, tuple[str, ...]]:
        """What a Prometheus says of an organisation's clusters; now and then nothing."""
        env = self.ground.record.env_of(org)
        if self.weather[env].draw(self.loop.time()) is not None:
            raise OutsideError("simulated: no answer")
        members = self.ground.record.members(org)
        return {each.uuid: each.alerts.now for each in members if each.alerts.now}

    # OpenShift Cluster Managers

    def cloud(self) -> None:
        """Calls begin to fail, or to take long; or all is well again."""
        env = self.rng.choice(sorted(self.weather))
        self.weather[env].turn(self.rng)
        self.tell(f"{env}: {self.weather[env].troubles}")

    def outage(self) -> None:
        """Nothing answers for a while."""
        env = self.rng.choice(sorted(self.weather))
        hours = self.rng.choice((0.2, 1, 3, 30))
        self.tell(f"{env}: is down for {hours} h")
        self.weather[env].down_until_s = (self.now() / SECOND) + hours * 3600

    def happenings(self) -> list[Happening]:
        """People, one at a time; and accidents, and workers that are started again."""
        rng = self.rng
        places = list(range(1, int(self.trouble_s // APART_S)))
        rng.shuffle(places)
        people = self.people.doings()
        some = min(len(places), rng.choice((10, 20, 30, 50)))
        machines = [*self.accidents(), *(self.cloud, self.cloud, self.cloud, self.outage)]
        found: list[Happening] = [
            (place * APART_S + rng.uniform(0, 600), rng.choice(people)) for place in places[:some]
        ]
        if not self.calm:
            found += [
                (rng.uniform(0, self.trouble_s), rng.choice(machines))
                for _ in range(rng.choice((3, 10, 25)))
            ]
            half_days = round(self.trouble_s / 43200)
            found += [(rng.uniform(0, self.trouble_s), self.restart) for _ in range(half_days)]
        return in_order(found)

    # The end

    def calm_down(self) -> None:
        """The faults are over, and people lift and delete what is in the way."""
        for weather in self.weather.values():
            weather.clear()
        self.people.settle()
        self.settled_at = self.now()
        if self.calm:
            return
        for life in self.living():
            life.die()
        self.every_s = QUIET_EVERY_S
        self.start_worker(mortal=False)
        # A dead worker leads until its lease is over.
        self.watched_from = Instant(self.now() + 2 * LEASE_TERM)

    def is_at_rest(self) -> bool:
        """Whether nothing was asked for in a long time, and nothing will be."""
        self.people.tidy()
        return ending.is_at_rest(self)

    def check_end(self) -> None:
        """Every cluster that can be upgraded is, and the journals say the same."""
        ending.check_end(self)

    def troubles(self) -> dict[str, int]:
        """Of the journal, and of OpenShift Cluster Managers."""
        met = Counter(super().troubles())
        for weather in self.weather.values():
            met.update({str(name): count for name, count in weather.met.items()})
        return dict(met)
