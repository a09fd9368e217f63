"""The failure budget: failures are counted over the whole scope before anything starts.

Progressive has one scope, all counted targets; the per-group strategies have one a group; a
mandatory group tolerates none. A breached scope stops every new start of the rollout. A budget
above the size of its scope is capped to it: `maxFailures: 5` in a group of 3 tolerates all 3.
"""

import msgspec

from tidegate.kinds.rollouts.core.census import Census
from tidegate.kinds.rollouts.core.course import Course, CourseMode
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.kinds.rollouts.core.world import RolloutPhase, RolloutWorld
from tidegate.model.target import State
from tidegate.model.verdict import Verdict, verdict

# A verdict names this many targets; more would not fit on a line.
NAMES_MAX = 3
_FAILED = frozenset((State.FAILED, State.TIMED_OUT))


class FailureBudget(msgspec.Struct):
    """The verdict for every phase, and which groups spent too much."""

    # One a phase; None where failures stop nothing.
    verdicts: list[Verdict | None]
    breached: frozenset[int]


def count_failures(world: RolloutWorld, census: Census, course: Course) -> FailureBudget:
    """Hold the failures of every scope against what it may have.

    Only a rollout forward is on trial: a revert must go on although some targets are broken, and
    what breaks after a rollout was completed does not open it again.
    """
    limit = world.strategy.max_failures
    if limit is None or course.mode is not CourseMode.FORWARD:
        return FailureBudget([None] * len(world.phases), frozenset())
    breached: dict[int, Verdict] = {}
    within: list[Verdict | None] = []
    total = sum(tally.counted for tally in census.tallies)
    failed_in_all = sum(tally.failed for tally in census.tallies)
    for phase in world.phases:
        if phase.mandatory or world.strategy.per_group:
            found, passing = _one_group(world, census, phase)
        else:
            groups = [p for p, tally in enumerate(census.tallies) if tally.failed]
            allowed = min(limit.of(total), total)
            over = _over(world, census, groups, failed_in_all, allowed, "the rollout")
            found = dict.fromkeys(groups, over) if failed_in_all > allowed else {}
            passing = verdict(RolloutReason.WithinBudget, failed_in_all, allowed, "the rollout")
        breached = found | breached
        within.append(passing)
    if not breached:
        return FailureBudget(within, frozenset())
    # Whatever was breached first in group order speaks for the whole rollout.
    first = breached[min(breached)]
    return FailureBudget([first] * len(world.phases), frozenset(breached))


def _one_group(
    world: RolloutWorld, census: Census, phase: RolloutPhase
) -> tuple[dict[int, Verdict], Verdict]:
    position = phase.groups[0]
    tally, group = census.tallies[position], world.groups[position]
    limit = world.strategy.max_failures
    mandatory = phase.mandatory or limit is None
    allowed = 0 if mandatory or limit is None else min(limit.of(tally.counted), tally.counted)
    passing = verdict(RolloutReason.WithinBudget, tally.failed, allowed, group.label)
    if tally.failed <= allowed:
        return {}, passing
    over = _over(world, census, [position], tally.failed, allowed, group.label, mandatory)
    return {position: over}, passing


def _over(
    world: RolloutWorld,
    census: Census,
    groups: list[int],
    failed: int,
    allowed: int,
    scope: str,
    mandatory: bool = False,
) -> Verdict:
    reason = RolloutReason.MandatoryTargetFailed if mandatory else RolloutReason.OverBudget
    names = names_in(world, census, groups, _FAILED)
    return verdict(reason, failed, allowed, scope, names)


def names_in(
    world: RolloutWorld, census: Census, groups: list[int], states: frozenset[State]
) -> tuple[str, ...]:
    """The first few counted targets of some groups that are in one of these states."""
    names: list[str] = []
    for position in groups:
        group = world.groups[position]
        for i in range(group.first, group.last):
            if census.states[i] in states and not world.targets[i].ignored:
                names.append(world.targets[i].name)
                if len(names) > NAMES_MAX:
                    return (*names[:NAMES_MAX], "…")
    return tuple(names)
