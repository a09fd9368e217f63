"""Decisions held against what the fleet truly does, not against what the decision saw of it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.sim.drawing import describe
from tests.sim.fleet import Cluster, Fleet
from tests.sim.invariants import takes_part
from tidegate.kinds.rollouts.core.course import CourseMode
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.kinds.rollouts.core.strategy import Rollout
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import RolloutPhase, RolloutWorld
from tidegate.model.plan import ChangeKind, Event
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.reason import Outcome, Reason
from tidegate.model.target import Group, State, Status
from tidegate.model.time import Instant


@dataclass
class Deed:
    """One plan about to be carried out, with the truth of the moment before."""

    fleet: Fleet
    world: RolloutWorld
    plan: RolloutPlan
    now: Instant
    # Who has begun the revision under way before; what begins now is added.
    begun: set[str]
    busy: set[str] = field(init=False)
    unfinished: list[set[str]] = field(init=False)
    failed: int = field(init=False)

    def __post_init__(self) -> None:
        self.busy = {name for name in self.fleet.clusters if self.is_changing(name)}
        self.unfinished = [self._unfinished(phase) for phase in self.world.phases]
        self.failed = sum(map(self._has_failed, self.counted(self.world.groups)))

    def names(self, *kinds: ChangeKind) -> list[str]:
        """Those to whom something is done."""
        return [one.target for one in self.plan.actions if one.change.kind in kinds]

    def is_changing(self, name: str) -> bool:
        """Whether a cluster is in a change and may still answer in time."""
        one, deadline = self.fleet.clusters[name], self.world.strategy.deadline
        if not one.is_busy or one.begun_at is None:
            return False
        if one.status is Status.Unknown or deadline is None:
            return True
        return self.now < one.begun_at + deadline

    def is_soaking(self, name: str) -> bool:
        """Whether a cluster has the change and is not yet trusted with it."""
        one, soak = self.fleet.clusters[name], self.world.strategy.soak
        if self.plan.course.mode is not CourseMode.FORWARD or not self._runs_it(one) or not soak:
            return False
        if one.status is not Status.Succeeded or one.ended_at is None:
            return False
        return one.undated or self.now < one.ended_at + soak

    def _runs_it(self, one: Cluster) -> bool:
        return one.runs == self.plan.course.revision and one.status is not Status.ToApply

    def _has_failed(self, name: str) -> bool:
        one = self.fleet.clusters[name]
        if not self._runs_it(one):
            return False
        return one.status is Status.Failed or (one.is_busy and not self.is_changing(name))

    def counted(self, groups: tuple[Group, ...]) -> list[str]:
        """The clusters of some groups that count for limits and order."""
        return [
            target.name
            for group in groups
            for target in self.world.targets[group.first : group.last]
            if not target.ignored
        ]

    def _unfinished(self, phase: RolloutPhase) -> set[str]:
        groups = tuple(self.world.groups[p] for p in phase.groups)
        return {name for name in self.counted(groups) if not self._is_finished(name)}

    def _is_finished(self, name: str) -> bool:
        one = self.fleet.clusters[name]
        if not self._runs_it(one):
            return False
        return self._has_failed(name) or not (self.is_changing(name) or self.is_soaking(name))


def check_step(deed: Deed, memory: Rollout) -> None:
    """Hold one carried-out plan against the truth; the fleet has obeyed it already."""
    _no_more_than_the_ceiling(deed)
    _nobody_before_an_earlier_group(deed)
    _failures_counted_once(deed)
    _nobody_begins_twice(deed)
    _completed_is_the_last_good(deed, memory)


def _no_more_than_the_ceiling(deed: Deed) -> None:
    limit, plan = deed.world.strategy.max_concurrency, deed.plan
    if limit is None or plan.course.mode is CourseMode.SETTLED:
        return
    outside = tuple(group for group in deed.world.groups if not group.mandatory)
    by_group = deed.world.strategy.per_group and plan.course.mode is CourseMode.FORWARD
    back = bool(deed.names(ChangeKind.RETURN))  # on the way back there is no soak
    for scope in [(group,) for group in outside] if by_group and not back else [outside]:
        bound = set(deed.counted(scope))
        acted = set(deed.names(ChangeKind.APPLY, ChangeKind.RETURN)) & bound
        if acted <= deed.busy:
            continue  # what began now was in the middle of a change before: none was added
        changing = {n for n in bound if deed.is_changing(n) or (deed.is_soaking(n) and not back)}
        ceiling = limit.of(sum(group.size for group in scope))
        assert len(changing) <= ceiling, f"{sorted(changing)} change at once"


def _nobody_before_an_earlier_group(deed: Deed) -> None:
    if deed.plan.course.mode is not CourseMode.FORWARD or deed.plan.course.is_retried:
        return
    for at, phase in enumerate(deed.world.phases):
        if not set(deed.plan.started).intersection(phase.order):
            continue
        for earlier, left in zip(deed.world.phases[:at], deed.unfinished, strict=False):
            if takes_part(deed.world, deed.plan, earlier):
                assert not left, f"a later group starts while {sorted(left)} are not done"


def _failures_counted_once(deed: Deed) -> None:
    if deed.plan.course.is_retried:
        return
    told = sum(report.tally.failed for report in deed.plan.groups)
    assert told == deed.failed, f"{told} failures told, {deed.failed} true"


def _nobody_begins_twice(deed: Deed) -> None:
    started = deed.names(ChangeKind.APPLY)
    twice = deed.begun.intersection(started)
    assert not twice, f"{sorted(twice)} begin a second time"
    deed.begun.update(started)
    deed.begun.difference_update(deed.names(ChangeKind.RETURN, ChangeKind.REMOVE))


def _completed_is_the_last_good(deed: Deed, memory: Rollout) -> None:
    events = deed.plan.events
    if Event.COMPLETED not in events:
        return
    superseded = Event.SUPERSEDED in events and events.index(Event.COMPLETED) == 0
    was = deed.world.rollout.revision if superseded else deed.plan.course.revision
    assert memory.last_good == was, f"{was} is completed, and {memory.last_good} the last good"
    assert superseded or memory.completed


def check_end(
    fleet: Fleet, world: RolloutWorld, now: Instant, plan: RolloutPlan, memory: Rollout
) -> None:
    """Nothing more will happen: every target has arrived, or truly says why not."""
    assert not plan.actions, "there is still something to do"
    assert plan.recheck_at is None, "time would still change something"
    away = [i for i in range(len(world.targets)) if plan.states[i] is not State.DONE]
    for i in away:
        for each in plan.options[i].verdicts:
            if each.outcome is not Outcome.PASS:
                holds = _TRUE_OF[each.reason](Ending(fleet, world, plan, memory, i))
                name = world.targets[i].name
                assert holds, (
                    f"{name}: {each.reason.value} is not true\n{describe(world, now, plan)}"
                )
    if not away and world.targets and world.complete and not memory.aborted:
        assert plan.summary is Summary.SUCCEEDED, f"all are done, and it is {plan.summary.value}"
        runs = {fleet.clusters[target.name].runs for target in world.targets}
        assert runs == {plan.course.revision}, f"done, and running {runs}"


@dataclass
class Ending:
    """One target that has not arrived, at the end of a story."""

    fleet: Fleet
    world: RolloutWorld
    plan: RolloutPlan
    memory: Rollout
    i: int

    @property
    def cluster(self) -> Cluster:
        """The cluster it truly is."""
        return self.fleet.clusters[self.world.targets[self.i].name]

    @property
    def phase(self) -> RolloutPhase:
        """Those it goes with."""
        return next(phase for phase in self.world.phases if self.i in phase.order)

    def is_stuck(self) -> bool:
        """Whether it is in a change that will never end, with no deadline to end it."""
        return self.cluster.is_busy and self.cluster.ends_at is None

    def someone_is_stuck(self) -> bool:
        """Whether a target is in a change that never ends, or soaks with no date."""
        return any(
            one.ends_at is None and (one.is_busy or one.undated)
            for one in self.fleet.clusters.values()
        )

    def an_earlier_one_waits(self) -> bool:
        """Whether a target of an earlier phase is not done."""
        at = self.world.phases.index(self.phase)
        return any(
            self.plan.states[j] not in (State.DONE, State.FAILED, State.TIMED_OUT)
            for phase in self.world.phases[:at]
            for j in phase.order
        )

    def one_before_it_waits(self) -> bool:
        """Whether a target ranked before it waits."""
        order = list(self.phase.order)
        return any(
            self.plan.states[j] in (State.WAITING, State.HOLDING)
            for j in order[: order.index(self.i)]
        )


def _is_unapproved(end: Ending) -> bool:
    return not takes_part(end.world, end.plan, end.phase)


def _has_no_slots(end: Ending) -> bool:
    limit = end.world.strategy.max_concurrency
    return limit is not None and limit.amount == 0


# What must be true of the fleet for a reason to be the last word on a target. A reason that is not
# here must not be: it is about a moment, and the moments are over.
_TRUE_OF: dict[Reason, Callable[[Ending], bool]] = {
    ProgressReason.InFlight: Ending.is_stuck,
    RolloutReason.UnknownStatus: Ending.is_stuck,
    RolloutReason.SoakingUndated: lambda end: end.cluster.undated,
    ProgressReason.Failed: lambda end: end.cluster.status is Status.Failed,
    RolloutReason.TimedOut: Ending.is_stuck,
    ProgressReason.Paused: lambda end: end.memory.paused,
    ProgressReason.Aborted: lambda end: end.memory.aborted,
    ProgressReason.ReadingIncomplete: lambda end: not end.world.complete,
    RolloutReason.EarlierGroupIncomplete: lambda end: not end.world.complete,
    RolloutReason.OverBudget: lambda end: end.plan.breached,
    RolloutReason.MandatoryTargetFailed: lambda end: end.plan.breached,
    RolloutReason.EarlierGroupUnfinished: Ending.an_earlier_one_waits,
    RolloutReason.EarlierGroupReopened: Ending.an_earlier_one_waits,
    RolloutReason.ApprovalMissing: _is_unapproved,
    RolloutReason.ApprovedForOtherRevision: _is_unapproved,
    RolloutReason.NoSlotFree: Ending.someone_is_stuck,
    RolloutReason.BehindInRank: Ending.one_before_it_waits,
    RolloutReason.ConcurrencyZero: _has_no_slots,
}
