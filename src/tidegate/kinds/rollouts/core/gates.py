"""The gates of a rollout: each gives one verdict a rollout or a group, true of all its targets."""

from tidegate.kinds.rollouts.core.budget import names_in
from tidegate.kinds.rollouts.core.census import Census
from tidegate.kinds.rollouts.core.course import Course
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.kinds.rollouts.core.strategy import StrategyType
from tidegate.kinds.rollouts.core.world import RolloutPhase, RolloutWorld
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.reason import Outcome
from tidegate.model.target import Group, State
from tidegate.model.verdict import Verdict, verdict

_UNFINISHED = frozenset((State.WAITING, State.HOLDING, State.IN_FLIGHT, State.SOAKING))


def running(course: Course) -> Verdict:
    """Nothing starts while the rollout is paused or once it was aborted."""
    if course.aborted:
        return verdict(ProgressReason.Aborted)
    return verdict(ProgressReason.Paused if course.paused else ProgressReason.Running)


def reading(world: RolloutWorld, phase: RolloutPhase) -> Verdict:
    """Nothing starts where some members of the group may not be visible."""
    for position in phase.groups:
        group = world.groups[position]
        if not group.complete:
            return verdict(ProgressReason.ReadingIncomplete, group.label)
    return verdict(ProgressReason.ReadingComplete)


def approval(world: RolloutWorld, course: Course, group: Group) -> Verdict:
    """Whether the group is approved, for this very revision or for every one."""
    approvals = world.rollout.approvals
    name = group.key
    if group.mandatory:
        return verdict(RolloutReason.ApprovedAsMandatory, name)
    given = group.name in approvals.groups if group.name else approvals.ungrouped
    if not given:
        return verdict(RolloutReason.ApprovalMissing, name)
    if approvals.for_version is None:
        return verdict(RolloutReason.ApprovedStanding, name)
    if approvals.for_version != course.version:
        needed = course.version or "this one"
        return verdict(RolloutReason.ApprovedForOtherRevision, name, approvals.for_version, needed)
    return verdict(RolloutReason.Approved, name, approvals.for_version)


class Order:
    """Nothing starts while an earlier group has a counted target waiting, in flight or soaking.

    Among the groups of ManualPerGroup only approved ones take part: one that is not approved holds
    no target. Phases are asked in their order; the first that is unfinished speaks for all behind
    it.
    """

    def __init__(self, world: RolloutWorld, census: Census) -> None:
        self._world = world
        self._census = census
        self._blocked: Verdict | None = None
        self._passed = 0

    def verdict(self) -> Verdict:
        """What the phases asked so far mean for the next one."""
        if self._blocked is not None:
            return self._blocked
        if not self._passed:
            return verdict(ProgressReason.FirstInOrder)
        return verdict(RolloutReason.EarlierGroupsDone, self._passed)

    def pass_by(self, at: int, phase: RolloutPhase, approved: Verdict | None) -> None:
        """Take a phase into account for those behind it."""
        if self._blocked is not None:
            return
        if approved is not None and approved.outcome is not Outcome.PASS:
            return
        self._passed += 1
        position = phase.groups[0]
        tally, group = self._census.tallies[position], self._world.groups[position]
        if tally.unfinished:
            self._blocked = self._unfinished(at, position)
        elif not group.complete:
            self._blocked = verdict(RolloutReason.EarlierGroupIncomplete, group.label)

    def _unfinished(self, at: int, position: int) -> Verdict:
        tally, group = self._census.tallies[position], self._world.groups[position]
        later = (p for phase in self._world.phases[at + 1 :] for p in phase.groups)
        reopened = any(self._census.tallies[p].touched for p in later)
        reason = (
            RolloutReason.EarlierGroupReopened if reopened else RolloutReason.EarlierGroupUnfinished
        )
        names = names_in(self._world, self._census, [position], _UNFINISHED)
        return verdict(
            reason,
            group.label,
            tally.done,
            tally.counted,
            names,
            until=None if tally.undated else tally.settles_at,
            estimate=not tally.undated and tally.in_flight > 0,
        )


def wants_approval(world: RolloutWorld) -> bool:
    """Whether groups of this strategy wait for an approval."""
    return world.strategy.type is StrategyType.MANUAL_PER_GROUP
