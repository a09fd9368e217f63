"""Rollback is data: for every target a failed rollout touched, an option back to the last good one.

It is offered when the failure budget is spent or the rollout was aborted, and the strategy says
`onFailure: rollback`. It has gates of its own: no order, no approval, no soak, but the ceiling on
how many change at once stays. Those still in flight return in the slot they hold; one that gives no
answer on its way back frees its slot at its deadline, so that the others are not left behind.
"""

import enum

import msgspec

from tidegate.core.model.plan import Change, ChangeKind, Option
from tidegate.core.model.reasons import Reason
from tidegate.core.model.target import State, Status, Target
from tidegate.core.model.time import Instant
from tidegate.core.model.verdict import Verdict, verdict
from tidegate.core.rollout.course import Course
from tidegate.core.rollout.slots import Slots, size_outside
from tidegate.core.rollout.world import RolloutWorld

Verdicts = tuple[Verdict, ...]


class Leg(enum.Enum):
    """Where a target stands on its way back."""

    DUE = "due"  # it has the failed revision
    DUE_IN_FLIGHT = "due in flight"  # it is just getting it, and holds a slot
    GOING = "going"
    SILENT = "silent"
    BROKEN = "broken"


class Way(msgspec.Struct, frozen=True):
    """A target's way back."""

    leg: Leg
    until: Instant | None = None


def can_return(world: RolloutWorld) -> bool:
    """Whether there is a revision to go back to."""
    last_good = world.rollout.last_good
    return last_good is not None and last_good != world.revision


def plan_rollback(world: RolloutWorld, course: Course, now: Instant) -> list[Option]:
    """Options back to the last good revision for the targets already touched."""
    last_good = world.rollout.last_good
    change = Change(ChangeKind.RETURN, last_good)
    ways = [_way(world, target, course, now) for target in world.targets]
    if last_good is None or course.revision is None:
        lost = (verdict(Reason.NoLastGood),)
        return [Option(i, change, lost) for i, way in enumerate(ways) if way is not None]
    exempt = [group.mandatory for group in world.groups for _ in range(group.size)]
    exempt = [whole or target.ignored for whole, target in zip(exempt, world.targets, strict=True)]
    slots = None if course.paused else _slots(world, ways, exempt)
    lead = (
        verdict(Reason.RollbackDue, last_good),
        verdict(Reason.Paused if course.paused else Reason.Running),
    )
    options: list[Option] = []
    for i, way in enumerate(ways):
        if way is None:
            continue
        if way.leg in (Leg.DUE, Leg.DUE_IN_FLIGHT):
            verdicts = _due(lead, way, None if exempt[i] else slots)
        else:
            verdicts = (_on_the_way(world, way, last_good),)
        options.append(Option(i, change, verdicts))
    return options


def _way(world: RolloutWorld, target: Target, course: Course, now: Instant) -> Way | None:
    """Where a target stands; None if the failed rollout never touched it, or it is back."""
    status = target.status
    if status in (Status.ToApply, Status.Skip, Status.NewCluster):
        return None
    flying = status in (Status.Progressing, Status.Unknown)
    if target.revision == course.revision or (target.revision is None and course.vouched):
        return Way(Leg.DUE_IN_FLIGHT if flying else Leg.DUE)
    if target.revision != world.rollout.last_good or status is Status.Succeeded:
        return None
    if not flying:
        return Way(Leg.BROKEN)
    deadline = world.strategy.deadline
    if deadline is None or target.since is None or status is Status.Unknown:
        return Way(Leg.GOING)
    end = Instant(target.since + deadline)
    return Way(Leg.GOING, end) if now < end else Way(Leg.SILENT)


def _slots(world: RolloutWorld, ways: list[Way | None], exempt: list[bool]) -> Slots | None:
    """Who is on the way back holds a slot, and so does who is still on the way out."""
    limit = world.strategy.max_concurrency
    if limit is None:
        return None
    mine = [way for way, free in zip(ways, exempt, strict=True) if way is not None and not free]
    going = [way for way in mine if way.leg is Leg.GOING]
    held = sum(way.leg is Leg.DUE_IN_FLIGHT for way in mine)
    moments = [way.until for way in going if way.until is not None]
    frees_at = min(moments, default=None)
    return Slots(limit.of(size_outside(world)), len(going), holding=held, frees_at=frees_at)


def _due(lead: Verdicts, way: Way, slots: Slots | None) -> Verdicts:
    if slots is None:
        return lead
    taken = slots.take(State.HOLDING if way.leg is Leg.DUE_IN_FLIGHT else State.WAITING)
    return (*lead, taken or slots.standing())


def _on_the_way(world: RolloutWorld, way: Way, last_good: str) -> Verdict:
    if way.leg is Leg.GOING:
        return verdict(Reason.Returning, last_good, until=way.until)
    if way.leg is Leg.SILENT and world.strategy.deadline is not None:
        return verdict(Reason.ReturnTimedOut, last_good, world.strategy.deadline)
    return verdict(Reason.ReturnFailed, last_good)
