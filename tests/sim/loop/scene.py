"""A scene is made from a seed: who is rolled out to, what goes wrong, who does what, and when."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from tests.sim.generator import Dice, make_strategy
from tests.sim.loop.lives import CURRENT, Life, MortalFleet, MortalStore
from tests.sim.loop.witness import Partition, Witness
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.worker import Worker, WorkerSettings
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Asked, Braked, Lifted, Verb
from tidegate.kinds.rollouts.core.journal.facts import RolloutTask
from tidegate.kinds.rollouts.core.strategy import Strategy
from tidegate.kinds.rollouts.kind import RolloutKind
from tidegate.kinds.rollouts.simulated.faulty_fleet import FaultyFleet
from tidegate.kinds.rollouts.simulated.port import SimulatedFleet
from tidegate.kinds.rollouts.wire.scenario_doc import Scenario, SimulatedGroup, Temper
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.simulation.faults import SLOW_S, CallFault, Faults, FaultyStore
from tidegate.simulation.virtual_loop import VirtualClock, VirtualLoop
from tidegate.store.port import Store

START = Instant(1_750_000_000 * SECOND)
GROUPS = ("dev", "stage", "prod", "")
# Strategies are made for minutes; here a minute takes six seconds, or most time would be waiting.
HASTE = 10
# How many of a thousand calls meet each fault: none, some, or so many that little gets through.
MOODS = (0, 4, 12, 35)
TROUBLE_S = (60, 400)
# Clocks of one fleet are this far apart at most.
OFF_MAX_S = 8
LEASE_TERM = Duration(15 * SECOND)


HOLD = {"name": "alarm", "scope": {"everything": True}, "owner": "sre", "reason": "an alarm"}


OF_ACTING_ALONE = {
    *(
        CallFault.LOST_ANSWER,
        CallFault.NO_ANSWER,
        CallFault.TWICE,
        CallFault.CONFLICT,
        CallFault.OUTAGE,
    ),
}


class WatchedFleet(SimulatedFleet):
    """A simulated fleet that tells the witness what it carries out."""

    witness: Witness

    def _apply(self, partition: str, task: RolloutTask) -> None:
        self.witness.carry_out(partition, task)
        super()._apply(partition, task)


@dataclass
class Scene:
    """Everything of one story, and what may happen in it."""

    seed: int
    loop: VirtualLoop
    store: Store
    rng: random.Random = field(init=False)
    lives: list[Life] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = self.rng = random.Random(self.seed)
        clock = VirtualClock(self.loop)
        self.fleet = WatchedFleet(clock)
        off_max = rng.choice((0, 0, OFF_MAX_S)) * SECOND
        self.witness = Witness(self.loop, self.store, self.fleet, Duration(2 * off_max))
        self.witness.start = self.loop.now()
        self.fleet.witness = self.witness
        self.off_max = off_max
        self.trouble_s = rng.uniform(*TROUBLE_S)
        self.faults = self._faults(clock)
        self.groups = {name: self._partition(name) for name in self._names()}
        self.workers = rng.choice((1, 1, 2, 3))
        self.acts = tuple(name for name, one in self.witness.partitions.items() if one.acts)
        self.loop.pace = self._pace

    def _names(self) -> list[str]:
        return [f"simulated/r{i}" for i in range(self.rng.choice((1, 2, 3, 5)))]

    def _faults(self, clock: VirtualClock) -> Faults:
        rng = self.rng
        mood = rng.choice(MOODS)
        some = [fault for fault in CallFault if rng.random() < 0.6]
        permille = dict.fromkeys(some, mood)
        for fault in permille.keys() & OF_ACTING_ALONE:  # there are far fewer acts than readings
            permille[fault] *= 4
        if CallFault.FULL in permille:
            permille[CallFault.FULL] = mood // 8
        if permille.get(CallFault.SLOW):
            self.witness.answers_within = Duration(2 * round(SLOW_S[1] * SECOND))
        until = Instant(START + round(self.trouble_s * SECOND))
        return Faults(self.seed, clock, permille, until)

    def _partition(self, name: str) -> list[str]:
        """Make the clusters of one rollout; the names of its groups."""
        rng = self.rng
        seed = rng.randrange(2**32)
        groups = list(GROUPS[: rng.randint(1, len(GROUPS))])
        members: list[list[str]] = [[] for _ in groups]
        for i in range(rng.choice((1, 2, 3, 4, 5, 6, 8, 10))):
            rng.choice(members).append(f"c{i}")
        scenario = Scenario(
            name,
            self.loop.now(),
            "v1",
            rng.choice((None, "v0", "v0", "v0")),
            tuple(SimulatedGroup(*each) for each in zip(groups, map(tuple, members), strict=True)),
            hasty(make_strategy(Dice(seed))),
            Temper(Duration(SECOND), Duration(rng.choice((1, 5, 25)) * SECOND)),
            {},
            "applied",
            rng.choice((0, 0, 5, 15)),
            rng.choice((0, 0, 0, 5)),
            (),
            Duration(0),
        )
        self.fleet.add(name, scenario, seed)
        self.witness.partitions[name] = Partition(name, acts=rng.random() < 0.92)
        return groups

    def _pace(self) -> float:
        """Most calls to a thread are made at once, some a little later, a frozen one's much."""
        life = CURRENT.get()
        frozen_s = life.frozen_s() if life is not None else 0.0
        if self.rng.random() < 0.1:
            return frozen_s + self.rng.random() * 0.05
        return frozen_s

    def tell(self, what: str) -> None:
        """A line of the story."""
        self.log.append(f"+{(self.loop.now() - START) / SECOND:.3f}s  {what}")

    # Workers

    def start_worker(self, *, holder: str = "", mortal: bool = True) -> Life:
        """Start a worker; a mortal one may die at some call."""
        rng = self.rng
        name = holder or f"w{len(self.lives)}"
        settings = WorkerSettings(
            holder=name, act=self.acts, lease_term=LEASE_TERM, listen_s=1.0, grace_s=30.0
        )
        off = Duration(rng.randint(-self.off_max, self.off_max)) if mortal else Duration(0)
        dies_after = rng.randrange(1, 900) if mortal and rng.random() < 0.5 else None
        limits = Limits(concurrency_max=4, allow_mass_removal=not mortal)

        def make(life: Life) -> Worker:
            store = FaultyStore(self.store, self.faults, self.loop.block)
            fleet = FaultyFleet(self.fleet, self.faults)
            return Worker(
                MortalStore(life, store),
                (RolloutKind(MortalFleet(life, fleet, self.witness.called)),),
                life.clock,
                Executor(limits, Breaker()),
                settings,
                self.witness.reported,
            )

        life = Life(self.loop, self.witness, name, make, off=off, dies_after=dies_after)
        self.tell(f"{name} starts, {off / SECOND:+.1f}s off, dies after {dies_after}")
        self.lives.append(life)
        return life

    def living(self) -> list[Life]:
        """Workers that still work."""
        return [life for life in self.lives if not life.is_over]

    def restart(self) -> None:
        """What is missing is started again, under its old name or a new one."""
        for _ in range(self.workers - len(self.living())):
            dead = [life.name for life in self.lives if life.dead]
            taken = {life.name for life in self.living()}
            old = [name for name in dead if name not in taken]
            reuse = old[-1] if old and self.rng.random() < 0.3 else ""
            self.start_worker(holder=reuse)

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
            life, seconds = self.rng.choice(living), self.rng.choice((3, 10, 20, 40, 90))
            self.tell(f"{life.name} freezes for {seconds}s")
            life.freeze(seconds)

    def jump(self) -> None:
        """The clock of a worker jumps, within what clocks are off."""
        if self.off_max and (living := self.living()):
            life = self.rng.choice(living)
            off = self.rng.randint(-self.off_max, self.off_max)
            self.tell(f"{life.name}: clock jumps by {(off - life.clock.off) / SECOND:+.1f}s")
            life.clock.jump(Duration(off - life.clock.off))

    # People

    def ask(self, partition: str, verb: Verb, **rest: object) -> None:
        """A person asks for something, and is answered once it is written down."""
        fact = Asked(verb=verb, **rest)  # type: ignore[arg-type]
        self.tell(f"{partition}: {verb.value} {rest or ''}")
        head = self.store.append(partition, [JournalNote(self.loop.now(), "user:ada", fact)])
        self.witness.acknowledged(None, partition, head)

    def hold(self, partition: str) -> None:
        """A person holds everything, whatever rollout it was that alarmed them."""
        self.tell(f"{partition}: everything is held")
        fact = Braked(brake="hold", name="alarm", document=HOLD)
        self.store.append(BRAKES, [JournalNote(self.loop.now(), "user:ada", fact)])
        self.witness.held_at = self.witness.held_at or self.loop.now()

    def lift(self, partition: str) -> None:
        """Nothing is held any more."""
        self.tell(f"{partition}: nothing is held")
        fact = Lifted(brake="hold", name="alarm")
        self.store.append(BRAKES, [JournalNote(self.loop.now(), "user:ada", fact)])
        self.witness.held_at = None

    def approve(self, partition: str) -> None:
        """Some groups are let in."""
        groups = tuple(name or "ungrouped" for name in self.groups[partition])
        chosen = tuple(name for name in groups if self.rng.random() < 0.6)
        version = self.fleet._revisions[partition] if self.rng.random() < 0.6 else None
        self.ask(partition, Verb.APPROVE, groups=chosen, version=version)

    def revoke(self, partition: str) -> None:
        """A group is let in no more."""
        name = self.rng.choice(self.groups[partition]) or "ungrouped"
        self.ask(partition, Verb.REVOKE, groups=(name,))

    def pause(self, partition: str) -> None:
        """Nothing more is to start."""
        self.ask(partition, Verb.PAUSE)

    def resume(self, partition: str) -> None:
        """It may go on."""
        self.ask(partition, Verb.RESUME)

    def abort(self, partition: str) -> None:
        """It ends here."""
        self.ask(partition, Verb.ABORT)

    def retry(self, partition: str) -> None:
        """Once more."""
        self.ask(partition, self.rng.choice((Verb.RETRY, Verb.RETRY_FAILED, Verb.RETRY_FAILED)))

    def declare(self, partition: str) -> None:
        """Another revision: a new one, or the one before."""
        revision = f"v{self.rng.randint(1, 4)}"
        self.tell(f"{partition}: {revision} is declared")
        self.fleet.declare(partition, revision)

    def join(self, partition: str) -> None:
        """A cluster appears."""
        clusters = self.fleet.fleets[partition]
        name = f"n{len(clusters.clusters)}-{self.rng.randrange(10**6)}"
        self.tell(f"{partition}: {name} joins")
        clusters.join(name, self.rng.randrange(len(self.groups[partition])))

    def leave(self, partition: str) -> None:
        """A cluster is in no group any more."""
        clusters = self.fleet.fleets[partition]
        here = [one.name for one in clusters.clusters.values() if one.group >= 0]
        if len(here) > 1:
            name = self.rng.choice(here)
            self.tell(f"{partition}: {name} leaves")
            clusters.leave(name)

    def happenings(self) -> list[tuple[float, Callable[[], None]]]:
        """What happens when, in order."""
        rng = self.rng
        found: list[tuple[float, int, Callable[[], None]]] = []

        def at(what: Callable[[], None]) -> None:
            found.append((rng.uniform(0, self.trouble_s), len(found), what))

        for _ in range(rng.choice((0, 1, 3, 6, 10))):
            at(rng.choice((self.kill, self.kill, self.stop, self.freeze, self.freeze, self.jump)))
        for partition in self.groups:
            for _ in range(rng.choice((0, 1, 2, 4, 7))):
                ask = rng.choice(ASKS)
                at(lambda ask=ask, name=partition: getattr(self, ask)(name))  # type: ignore[misc]
        for _ in range(round(self.trouble_s / 15)):
            at(self.restart)
        return [(moment, what) for moment, _, what in sorted(found, key=lambda each: each[:2])]


ASKS = (
    *("approve", "approve", "revoke", "pause", "resume", "resume", "abort", "retry", "retry"),
    *("declare", "declare", "declare", "join", "join", "leave", "hold", "lift", "lift"),
)


def hasty(strategy: Strategy) -> Strategy:
    """The same strategy for people in a hurry."""
    deadline = strategy.deadline
    return msgspec.structs.replace(
        strategy,
        soak=Duration(strategy.soak // HASTE),
        deadline=None if deadline is None else Duration(deadline // HASTE),
    )
