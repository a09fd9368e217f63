"""Rollouts drawn from a seed: their fleets, what goes wrong, what people do, and when."""

import random
from collections.abc import Callable
from functools import partial

import msgspec

from tests.sim.generator import Dice, make_strategy
from tests.sim.loop.ending import check_partition
from tests.sim.loop.fleet import MortalFleet
from tests.sim.loop.witness import Partition, RolloutWitness
from tests.sim.story.life import Life
from tests.sim.story.scene import Happening, Scene, in_order
from tidegate.engine.execute import Limits
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Asked, Braked, Lifted, Verb
from tidegate.kinds.rollouts.core.journal.facts import RolloutTask
from tidegate.kinds.rollouts.core.strategy import Strategy
from tidegate.kinds.rollouts.kind import RolloutKind
from tidegate.kinds.rollouts.simulated.faulty_fleet import FaultyFleet
from tidegate.kinds.rollouts.simulated.port import SimulatedFleet
from tidegate.kinds.rollouts.wire.scenario_doc import Scenario, SimulatedGroup, TargetBehaviour
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.simulation.faults import SLOW_S, CallFault, Faults
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
POLL_S = 10.0
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

    witness: RolloutWitness

    def _apply(self, partition: str, task: RolloutTask) -> None:
        self.witness.carry_out(partition, task)
        super()._apply(partition, task)


class RolloutScene(Scene):
    """Rollouts on a simulated fleet, and what people do with them."""

    start = START
    freezes_s = (3, 10, 20, 40, 90)
    calls_max = 900
    same_name = 0.3
    poll_s = POLL_S
    # The longest pauses there are: a task is tried again after 5 minutes, a partition after 2.
    polls_max = round(7200 / POLL_S)

    witness: RolloutWitness

    def __init__(self, seed: int, loop: VirtualLoop, store: Store) -> None:
        super().__init__(seed, loop, store, random.Random(seed))
        rng, clock = self.rng, VirtualClock(loop)
        self.fleet = WatchedFleet(clock)
        self.off_max = rng.choice((0, 0, OFF_MAX_S)) * SECOND
        self.witness = RolloutWitness(loop, store, self.fleet, Duration(2 * self.off_max))
        self.fleet.witness = self.witness
        self.trouble_s = rng.uniform(*TROUBLE_S)
        self.faults = self._faults(clock)
        self.groups = {name: self._partition(name) for name in self._names()}
        self.partitions = tuple(self.groups)
        self.workers = rng.choice((1, 1, 2, 3))
        self.acts = tuple(name for name, one in self.witness.partitions.items() if one.acts)
        # Where chains ended when it was last looked.
        self._heads: dict[str, int] = {}

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
            stop_after=Duration(0),
            temper=TargetBehaviour(Duration(SECOND), Duration(rng.choice((1, 5, 25)) * SECOND)),
            success="applied",
            failure_percent=rng.choice((0, 0, 5, 15)),
            silence_percent=rng.choice((0, 0, 0, 5)),
        )
        self.fleet.add(name, scenario, seed)
        self.witness.partitions[name] = Partition(name, acts=rng.random() < 0.92)
        return groups

    def pace(self) -> float:
        """Most calls to a thread are made at once, some a little later."""
        frozen_s = super().pace()
        return frozen_s + self.rng.random() * 0.05 if self.rng.random() < 0.1 else frozen_s

    def kind(self, life: Life) -> RolloutKind:
        """Rollouts on a fleet whose calls fail."""
        fleet = FaultyFleet(self.fleet, self.faults)
        return RolloutKind(MortalFleet(life, fleet, self.witness.called))

    def settings(self, holder: str) -> WorkerSettings:
        """Of a worker in a hurry."""
        return WorkerSettings(
            holder=holder,
            act=self.acts,
            lease_term=LEASE_TERM,
            listen_s=1.0,
            resync_s=LEASE_TERM / SECOND / 3,
            grace_s=30.0,
        )

    def limits(self, mortal: bool) -> Limits:
        """The last worker may remove many targets at once: a person allowed it."""
        return Limits(concurrency_max=4, allow_mass_removal=not mortal)

    # People

    def ask(self, partition: str, verb: Verb, **rest: object) -> None:
        """Somebody asks for something, and is told that it is written down."""
        fact = Asked(verb=verb, **rest)  # type: ignore[arg-type]
        self.tell(f"{partition}: {verb.value} {rest or ''}")
        head = self.store.append(partition, [JournalNote(self.loop.now(), "user:ada", fact)])
        self.witness.acknowledged(None, partition, head)

    def hold(self, partition: str) -> None:
        """Somebody holds everything, whatever rollout it was that alarmed them."""
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

    def happenings(self) -> list[Happening]:
        """Accidents, people, and workers that are started again."""
        rng = self.rng
        found: list[Happening] = []

        def at(what: Callable[[], None]) -> None:
            found.append((rng.uniform(0, self.trouble_s), what))

        for _ in range(rng.choice((0, 1, 3, 6, 10))):
            at(rng.choice(self.accidents()))
        for partition in self.groups:
            for _ in range(rng.choice((0, 1, 2, 4, 7))):
                at(partial(getattr(self, rng.choice(ASKS)), partition))
        for _ in range(round(self.trouble_s / 15)):
            at(self.restart)
        return in_order(found)

    # The end

    def calm_down(self) -> None:
        """Clocks are right, one worker is left, and people approve what is missing."""
        for life in self.living():
            life.die()
        self.workers = 1
        self.start_worker(mortal=False)
        self.lift("all")
        for partition, groups in self.groups.items():
            self.witness.partitions[partition].last_round = None  # of those who are no more
            names = tuple(name or "ungrouped" for name in groups)
            self.ask(partition, Verb.RESUME)
            self.ask(partition, Verb.APPROVE, groups=names)

    def is_at_rest(self) -> bool:
        """Whether the journal has not grown, and no rollout has anything left to do."""
        before, self._heads = self._heads, self.store.heads()
        return before == self._heads and all(map(self._rests, self.groups))

    def _rests(self, partition: str) -> bool:
        here = self.witness.partitions[partition]
        self.witness.catch_up(partition)
        ends = self.fleet.fleets[partition].next_end()
        idle = here.last_round is not None and here.last_round.recheck_at is None
        return idle and ends is None and not here.state.pending

    def check_end(self) -> None:
        """Every rollout by itself."""
        for partition in self.groups:
            check_partition(self, partition)


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
