"""The witness sees what the fleet is told and what the journal says, and holds both to the rules.

It folds the journal by itself, and looks at the clusters themselves: not at what they report, and
not at what any worker believes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from tests.sim.invariants import takes_part
from tests.sim.story.life import Life
from tests.sim.story.witness import Witness
from tidegate.engine.round import RoundResult
from tidegate.journal.facts import Asked, Mode, Verb
from tidegate.kinds.rollouts.core.course import CourseMode
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.journal.facts import Decided, RolloutTask
from tidegate.kinds.rollouts.core.journal.state import RolloutState, fold, world_of
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.kinds.rollouts.fleet import Observation
from tidegate.kinds.rollouts.simulated.fleet import FleetCluster
from tidegate.kinds.rollouts.simulated.port import SimulatedFleet
from tidegate.model.plan import ChangeKind, Event
from tidegate.model.target import State, Status
from tidegate.model.time import Duration, Instant
from tidegate.simulation.virtual_loop import VirtualLoop
from tidegate.store.port import Head, Store

NEVER = Instant(0)
HOLDS_A_SLOT = (State.IN_FLIGHT, State.HOLDING)


class Decision(msgspec.Struct, frozen=True):
    """One recorded plan, as it is decided again from the journal alone."""

    seq: int
    fact: Decided
    world: RolloutWorld
    plan: RolloutPlan
    # When it was written down, by a clock that is right.
    at: Instant


@dataclass
class Partition:
    """What the witness knows of one rollout."""

    name: str
    acts: bool
    state: RolloutState = field(default_factory=RolloutState)
    seq: int = 0
    decisions: list[Decision] = field(default_factory=list)
    by_key: dict[str, Decision] = field(default_factory=dict)
    # Since when somebody wants nothing to move; None: nobody does.
    paused_at: Instant | None = None
    aborted_at: Instant | None = None
    # What was begun since the last retry: nobody begins a revision twice.
    begun: set[tuple[str, str | None]] = field(default_factory=set)
    # Reports from before a retry do not count.
    retried_at: Instant = NEVER
    last_round: RoundResult | None = None


class RolloutWitness(Witness):
    """Watches rollouts, and the clusters they are for."""

    def __init__(
        self, loop: VirtualLoop, store: Store, fleet: SimulatedFleet, off_max: Duration
    ) -> None:
        super().__init__(loop)
        self.store = store
        self.fleet = fleet
        # No clock is further off; soaks and deadlines are judged by clocks.
        self.off_max = off_max
        self.partitions: dict[str, Partition] = {}
        self.carried: list[tuple[Instant, str, RolloutTask]] = []
        # Since when somebody holds everything; None: nobody does.
        self.held_at: Instant | None = None
        # How late the answer of a store may be: that long a worker acts on what it was told.
        self.answers_within = Duration(0)

    def reported(self, partition: str, outcome: object) -> None:
        """A worker says how a round ended: the last one is remembered."""
        super().reported(partition, outcome)
        if isinstance(outcome, RoundResult) and partition in self.partitions:
            self.partitions[partition].last_round = outcome

    def is_watched(self, partition: str) -> bool:
        """Whether it is a rollout of the story."""
        return partition in self.partitions

    def acknowledged(self, life: Life | None, partition: str, head: Head) -> None:
        """The store said that a chain ends here; None: to a person."""
        super().acknowledged(life, partition, head)
        here = self.partitions[partition]
        known = len(here.decisions)
        self.catch_up(partition)
        if life is not None and known < len(here.decisions):
            self._check_budget(here, life.seen.get(partition), here.decisions[-1])

    def called(self, life: Life, partition: str, task: RolloutTask) -> None:
        """A life is about to have a task carried out: it must have asked, and nobody said no."""
        self.catch_up(partition)
        here = self.partitions[partition]
        who = f"{life.name}: {task.key}"
        self.claim(here.acts, f"{who}: acted on what is only observed")
        self.claim_led(life, partition, self.answers_within, f"{task.key}: acted")
        # Between the question and the act lies only the time the store takes to answer.
        read_at = life.read_at.get(partition, Instant(0))
        known_at = min(read_at, self.loop.now() - self.answers_within)
        paused = here.paused_at is not None and here.paused_at < known_at
        self.claim(not paused, f"{who}: acted although it is paused")
        held = self.held_at is not None and self.held_at < self.loop.now() - self.answers_within
        self.claim(not held, f"{who}: acted although everything is held")
        if task.change.kind is ChangeKind.APPLY:
            aborted = here.aborted_at is not None and here.aborted_at < known_at
            self.claim(not aborted, f"{who}: started although it is aborted")

    def catch_up(self, partition: str) -> None:
        """Fold what was written since the witness last looked."""
        here = self.partitions[partition]
        for entry in self.store.read(partition, after=here.seq):
            fact = entry.fact()
            if isinstance(fact, Decided):
                self._decided(here, entry.seq, fact)
            elif isinstance(fact, Asked):
                self._asked(here, fact)
            here.state = fold(here.state, entry.at, fact, entry.actor)
            here.seq = entry.seq

    def _asked(self, here: Partition, fact: Asked) -> None:
        now = self.loop.now()
        match fact.verb:
            case Verb.PAUSE:
                here.paused_at = here.paused_at or now
            case Verb.RESUME:
                here.paused_at = None
            case Verb.ABORT:
                here.aborted_at = here.aborted_at or now
            case _:
                pass

    def _decided(self, here: Partition, seq: int, fact: Decided) -> None:
        world = world_of(here.state, here.state.brakes)
        if world is None or not (fact.tasks or fact.events):
            return
        decision = Decision(seq, fact, world, decide(world, fact.now), self.loop.now())
        if fact.mode is not Mode.ACT:
            return
        if not fact.rollout.aborted:
            here.aborted_at = None
        if {Event.RESTARTED, Event.RETRIED} & set(fact.events):
            here.retried_at = self.loop.now()
            here.begun.clear()
        if Event.SUPERSEDED in fact.events:
            here.begun.clear()
        here.decisions.append(decision)
        for task in fact.tasks:
            self.claim(task.key not in here.by_key, f"{task.key} was given out twice")
            here.by_key[task.key] = decision
        self._check_order(here, decision)

    def carry_out(self, partition: str, task: RolloutTask) -> None:
        """The fleet is about to carry a task out for the first time."""
        self.catch_up(partition)
        here, now = self.partitions[partition], self.loop.now()
        self.carried.append((now, partition, task))
        self.seen["carried out"] += 1
        decision = here.by_key.get(task.key)
        if decision is None:
            self.claim(False, f"{task.key}: carried out without a recorded plan")
            return
        kind, mark = task.change.kind, (task.target, task.change.revision)
        if kind is ChangeKind.APPLY:
            self.claim(mark not in here.begun, f"{task.key}: begins {mark[1]} a second time")
            here.begun.add(mark)
        here.begun -= {each for each in here.begun if each[0] == mark[0] and each[1] != mark[1]}
        if kind is not ChangeKind.REMOVE:
            self._check_ceiling(here, decision, task)

    # The truth about clusters

    def is_changing(self, one: FleetCluster, world: RolloutWorld) -> bool:
        """Whether a cluster is in a change and may answer in time, whatever clock is asked."""
        deadline = world.strategy.deadline
        if one.status is not Status.Progressing or one.since is None:
            return False
        return deadline is None or self.loop.now() < one.since + deadline - self.off_max

    def is_soaking(self, one: FleetCluster, world: RolloutWorld, retried_at: Instant) -> bool:
        """Whether a cluster has the change and is not yet trusted with it."""
        if one.status is not Status.Succeeded or one.since is None or one.since <= retried_at:
            return False
        return self.loop.now() < one.since + world.strategy.soak - self.off_max

    def _check_order(self, here: Partition, decision: Decision) -> None:
        """Nothing is decided to start while somebody of an earlier group is truly not done."""
        world, plan = decision.world, decision.plan
        if plan.course.mode is not CourseMode.FORWARD or plan.course.is_retried:
            return
        for at, phase in enumerate(world.phases):
            if not set(plan.started).intersection(phase.order):
                continue
            for earlier in world.phases[:at]:
                if takes_part(world, plan, earlier):
                    left = [i for i in earlier.order if not world.targets[i].ignored]
                    names = [world.targets[i].name for i in left]
                    waiting = [name for name in names if self._is_unfinished(here, name, decision)]
                    self.claim(
                        not waiting,
                        f"{here.name}#{decision.seq}: a later group starts before {waiting}",
                    )

    def _is_unfinished(self, here: Partition, name: str, decision: Decision) -> bool:
        clusters = self.fleet.fleets[here.name].clusters
        one = clusters.get(name)
        if one is None or one.group < 0:
            return False
        if one.revision != decision.plan.course.revision:
            return True
        if decision.world.strategy.deadline is None and one.status is Status.Progressing:
            return True
        return self.is_changing(one, decision.world) or self.is_soaking(
            one, decision.world, here.retried_at
        )

    def _check_ceiling(self, here: Partition, decision: Decision, task: RolloutTask) -> None:
        """In flight and soaking, as the fleet sees it, with whoever begins now."""
        limit = decision.world.strategy.max_concurrency
        clusters = self.fleet.fleets[here.name].clusters
        if limit is None or decision.plan.course.mode is CourseMode.SETTLED:
            return
        held = decision.plan.states[_position(decision.world, task.target)] in HOLDS_A_SLOT
        if self.is_changing(clusters[task.target], decision.world) or held:
            return  # it is, or is said to be, in the middle of a change: nobody is added
        soaks = task.change.kind is ChangeKind.APPLY
        for ceiling, names in self._scopes(here, decision, task):
            if task.target not in names:
                continue
            moving = {
                name
                for name in names
                if (one := clusters.get(name)) is not None
                and one.group >= 0
                and (
                    self.is_changing(one, decision.world)
                    or (
                        soaks
                        and one.revision == task.change.revision
                        and decision.plan.course.mode is CourseMode.FORWARD
                        and self.is_soaking(one, decision.world, here.retried_at)
                    )
                )
            }
            moving.add(task.target)
            what = f"{task.key}: {sorted(moving)} change at once, {ceiling} may"
            self.claim(len(moving) <= ceiling, what)

    def _scopes(
        self, here: Partition, decision: Decision, task: RolloutTask
    ) -> Iterator[tuple[int, set[str]]]:
        """Whom one ceiling bounds, and the highest it has been since the task was decided."""
        world, limit = decision.world, decision.world.strategy.max_concurrency
        assert limit is not None
        back = task.change.kind is ChangeKind.RETURN
        whole = back or not world.strategy.per_group
        since = [each for each in here.decisions if each.seq >= decision.seq]
        whole = whole or any(each.plan.course.mode is not CourseMode.FORWARD for each in since)
        whole = whole or any(
            task.change.kind is ChangeKind.RETURN for each in since for task in each.fact.tasks
        )
        groups = [at for at, group in enumerate(world.groups) if not group.mandatory]
        for members in [groups] if whole else [[at] for at in groups]:
            names = {
                target.name
                for at in members
                for target in world.targets[world.groups[at].first : world.groups[at].last]
                if not target.ignored
            }
            labels = {world.groups[at].label for at in members}
            sizes = [
                sum(
                    group.size
                    for group in each.world.groups
                    if not group.mandatory and group.label in labels
                )
                for each in since
            ]
            yield max(limit.of(size) for size in sizes), names

    def _check_budget(self, here: Partition, seen: Observation | None, decision: Decision) -> None:
        """Over the failures that its own reading shows, nobody starts anything."""
        world, plan = decision.world, decision.plan
        limit = world.strategy.max_failures
        if seen is None or limit is None or plan.course.mode is not CourseMode.FORWARD:
            return
        if plan.course.is_retried or not plan.started:
            return
        failures = {
            one.name
            for one in seen.reports
            if one.status is Status.Failed
            and one.revision == plan.course.revision
            and one.since is not None
            and one.since > here.retried_at
        }
        for failed, counted, mandatory in _failures(world, failures):
            allowed = 0 if mandatory else min(limit.of(counted), counted)
            what = f"{here.name}#{decision.seq}: starts with {failed} failures of {allowed} allowed"
            self.claim(failed <= allowed, what)


def _position(world: RolloutWorld, name: str) -> int:
    return next(i for i, target in enumerate(world.targets) if target.name == name)


def _failures(world: RolloutWorld, failed: set[str]) -> Iterator[tuple[int, int, bool]]:
    """Failures and counted targets of every scope of the budget."""
    rows = [
        (
            sum(one.name in failed and not one.ignored for one in members),
            sum(not one.ignored for one in members),
            group.mandatory,
        )
        for group in world.groups
        for members in [world.targets[group.first : group.last]]
    ]
    yield from (row for row in rows if row[2] or world.strategy.per_group)
    if not world.strategy.per_group:
        yield sum(row[0] for row in rows), sum(row[1] for row in rows), False
