"""A scene is made from a seed: whose clusters, what goes wrong, who does what, and when."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.sim.loop.lives import CURRENT, Life, MortalStore
from tests.sim.upgrades.brakes import Board
from tests.sim.upgrades.fleets import GATES, START, Fleet
from tests.sim.upgrades.ground import Ground
from tests.sim.upgrades.mortal import MortalClusters, Weather
from tests.sim.upgrades.people import People
from tests.sim.upgrades.record import Record
from tests.sim.upgrades.witness import Witness
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.worker import Worker, WorkerSettings
from tidegate.kinds.upgrades.app.surveys import SurveyChannel, SurveyPace, Surveys
from tidegate.kinds.upgrades.kind import UpgradeKind
from tidegate.kinds.upgrades.ocm.simulated.start import found
from tidegate.kinds.upgrades.ocm.simulated.state import (
    OcmState,
)
from tidegate.kinds.upgrades.ocm.simulated.world_doc import read_world
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Duration, Instant, format_instant
from tidegate.simulation.faults import CallFault, Faults, FaultyStore
from tidegate.simulation.virtual_loop import VirtualClock, VirtualLoop
from tidegate.store.port import Store

HOUR = 3600 * SECOND
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


@dataclass
class Scene:
    """Everything of one story, and what may happen in it."""

    seed: int
    loop: VirtualLoop
    store: Store
    days: float
    # Whether anything goes wrong at all.
    calm: bool = False
    rng: random.Random = field(init=False)
    lives: list[Life] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = self.rng = random.Random(f"upgrades/{self.seed}")
        self.calm = self.calm or rng.random() < 0.2
        self.trouble_s = self.days * 86400 * rng.uniform(0.8, 1.0)
        fleet = Fleet(rng, self.days)
        self.served = fleet.registrations()
        self.board = Board(self.store)
        off = 0 if self.calm else rng.choice((0, 0, OFF_MAX_S)) * SECOND
        self.ground = Ground(Record(), self.board, fleet.terms, GATES, 2 * off)
        partitions = {each.partition for some in self.served.values() for each in some}
        self.witness = Witness(self.loop, self.ground, frozenset(partitions))
        self.states: dict[str, OcmState] = {}
        self.weather: dict[str, Weather] = {}
        for env, world in fleet.worlds().items():
            self.states[env] = found(read_world(world))
            self.weather[env] = Weather(rng.randrange(2**32))
            self.witness.watch(env, self.states[env])
        # When the last of those who could be in the way has done something.
        self.settled_at = START
        # From when on it was surely watched all the time.
        self.watched_from = START
        record = self.ground.record
        self.people = People(rng, self.loop, record, self.states, self.board, self.tell)
        self.workers = rng.choice((1, 1, 2, 3))
        self.off_max = off
        self.faults = self._faults()
        self.loop.pace = _pace

    def _faults(self) -> Faults:
        mood = 0 if self.calm else self.rng.choice(MOODS)
        permille = {each: mood for each in STORE_FAULTS if self.rng.random() < 0.6}
        until = Instant(START + round(self.trouble_s) * SECOND)
        return Faults(self.seed, VirtualClock(self.loop), permille, until)

    def now(self) -> Instant:
        """The time on every clock that is right."""
        return self.loop.now()

    def tell(self, what: str) -> None:
        """A line of the story."""
        self.log.append(f"{format_instant(self.now())}  {what}")

    # Workers

    def start_worker(self, *, mortal: bool = True, every_s: float = EVERY_S) -> Life:
        """Start a worker; a mortal one may die at some call."""
        rng, name = self.rng, f"w{len(self.lives)}"
        settings = WorkerSettings(
            holder=name,
            act=("*",),
            lease_term=LEASE_TERM,
            listen_s=300.0,
            resync_s=1800.0,
            discover_s=3600.0,
            follow_s=900.0,
            backoff_max_s=600.0,
        )
        mortal = mortal and not self.calm
        off = Duration(rng.randint(-self.off_max, self.off_max)) if mortal else Duration(0)
        dies_after = rng.randrange(1, 30_000) if mortal and rng.random() < 0.5 else None
        pace = SurveyPace(every_s=every_s, rest_s=120.0)

        def make(life: Life) -> Worker:
            channels = tuple(
                SurveyChannel(env, self._manager(life, env), self.served[env])
                for env in self.states
            )
            surveys = Surveys(channels, life.clock, pace, dict.fromkeys(self.states, self._alerts))
            return Worker(
                MortalStore(life, FaultyStore(self.store, self.faults, self.loop.block)),
                (UpgradeKind(surveys),),
                life.clock,
                Executor(Limits(), Breaker()),
                settings,
                self.witness.reported,
            )

        life = Life(self.loop, self.witness, name, make, off=off, dies_after=dies_after)
        self.tell(f"{name} starts, {off / SECOND:+.1f}s off, dies after {dies_after}")
        self.lives.append(life)
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

    def living(self) -> list[Life]:
        """Workers that still work."""
        return [life for life in self.lives if not life.is_over]

    def restart(self) -> None:
        """What is missing is started again."""
        for _ in range(self.workers - len(self.living())):
            self.start_worker()

    def kill(self) -> None:
        """A worker dies at once, between two calls."""
        if living := self.living():
            life = self.rng.choice(living)
            self.tell(f"{life.name} is killed")
            life.die()

    def stop(self) -> None:
        """A worker is asked to stop."""
        if living := self.living():
            life = self.rng.choice(living)
            self.tell(f"{life.name} is stopped")
            life.worker.stop()

    def freeze(self) -> None:
        """A worker is not scheduled for a while, and does not notice."""
        if living := self.living():
            life = self.rng.choice(living)
            minutes = self.rng.choice((1, 5, 20, 50, 200))
            self.tell(f"{life.name} freezes for {minutes} min")
            life.freeze(minutes * 60)

    def jump(self) -> None:
        """The clock of a worker jumps, within what clocks are off."""
        if self.off_max and (living := self.living()):
            life = self.rng.choice(living)
            off = self.rng.randint(-self.off_max, self.off_max)
            life.clock.jump(Duration(off - life.clock.off))

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

    def happenings(self) -> list[tuple[float, Callable[[], None]]]:
        """What happens when, in order."""
        rng = self.rng
        places = list(range(1, int(self.trouble_s // APART_S)))
        rng.shuffle(places)
        people = self.people.doings()
        some = min(len(places), rng.choice((10, 20, 30, 50)))
        machines = [
            *(self.kill, self.kill, self.stop, self.freeze, self.freeze, self.jump),
            *(self.cloud, self.cloud, self.cloud, self.outage),
        ]
        found = [
            (place * APART_S + rng.uniform(0, 600), at, rng.choice(people))
            for at, place in enumerate(places[:some])
        ]
        if not self.calm:
            count = rng.choice((3, 10, 25))
            found += [
                (rng.uniform(0, self.trouble_s), some + at, rng.choice(machines))
                for at in range(count)
            ]
            half_days = round(self.trouble_s / 43200)
            found += [
                (rng.uniform(0, self.trouble_s), some + count + at, self.restart)
                for at in range(half_days)
            ]
        return [(moment, what) for moment, _, what in sorted(found, key=lambda each: each[:2])]


def _pace() -> float:
    """A frozen life's calls to a thread come later."""
    life = CURRENT.get()
    return life.frozen_s() if life is not None else 0.0
