"""Rollback is data: for every target a failed rollout touched, an option back to the last good one.

It is offered when the failure budget is spent or the rollout was aborted, and the strategy says
`onFailure: rollback`. It has gates of its own: no order, no approval, no soak, but the ceiling on
how many change at once stays. Those still in flight return in the slot they hold.
"""

import msgspec

from tidegate.core.model.plan import Change, ChangeKind, Option
from tidegate.core.model.reasons import Reason
from tidegate.core.model.target import State, Status, Target
from tidegate.core.model.verdict import Verdict, verdict
from tidegate.core.rollout.course import Course
from tidegate.core.rollout.slots import Slots, size_outside
from tidegate.core.rollout.world import RolloutWorld

Verdicts = tuple[Verdict, ...]


class Way(msgspec.Struct, frozen=True):
    """Where a touched target stands on its way back: due to go, or going."""

    due: bool
    # Still on its way out, in a slot it can return in.
    holds_slot: bool = False


_IN_FLIGHT = frozenset((Status.Progressing, Status.Unknown))


def plan_rollback(world: RolloutWorld, course: Course) -> list[Option]:
    """Options back to the last good revision for the targets already touched."""
    last_good = world.rollout.last_good
    change = Change(ChangeKind.RETURN, last_good)
    ways = [_way(target, course, last_good) for target in world.targets]
    if last_good is None or course.revision is None:
        lost = (verdict(Reason.NoLastGood),)
        return [Option(i, change, lost) for i, way in enumerate(ways) if way and way.due]
    mandatory = [group.mandatory for group in world.groups for _ in range(group.size)]
    slots = None if course.paused else _slots(world, ways, mandatory)
    lead = (
        verdict(Reason.RollbackDue, last_good),
        verdict(Reason.Paused if course.paused else Reason.Running),
    )
    returning = (verdict(Reason.Returning, last_good),)
    options: list[Option] = []
    for i, way in enumerate(ways):
        if way is not None:
            slotted = None if mandatory[i] else slots
            verdicts = _due(lead, way, slotted) if way.due else returning
            options.append(Option(i, change, verdicts))
    return options


def _slots(world: RolloutWorld, ways: list[Way | None], mandatory: list[bool]) -> Slots | None:
    """Who is on the way back holds a slot, and so does who is still on the way out."""
    limit = world.strategy.max_concurrency
    if limit is None:
        return None
    mine = [way for way, whole in zip(ways, mandatory, strict=True) if way and not whole]
    back = sum(not way.due for way in mine)
    return Slots(limit.of(size_outside(world)), back, holding=sum(way.holds_slot for way in mine))


def _due(lead: Verdicts, way: Way, slots: Slots | None) -> Verdicts:
    if slots is None:
        return lead
    taken = slots.take(State.HOLDING if way.holds_slot else State.WAITING)
    return (*lead, taken or slots.standing())


def _way(target: Target, course: Course, last_good: str | None) -> Way | None:
    status = target.status
    if status in (Status.ToApply, Status.Skip, Status.NewCluster):
        return None
    revision = target.revision
    if revision is None:
        revision = course.revision if course.vouched else None
    flying = status in _IN_FLIGHT
    if revision is not None and revision == last_good:
        return Way(due=False) if flying else None
    return Way(due=True, holds_slot=flying)
