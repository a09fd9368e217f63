"""Rollback is data: for every target a failed rollout touched, an option back to the last good one.

It is offered when the failure budget is spent or the rollout was aborted, and the strategy says
`onFailure: rollback`. It has gates of its own: no order, no approval, no freeze, no soak; but the
ceiling on how many change at once stays, and so do holds, pins, blocks and what rollouts share.
Those still in flight return in the slot they hold; one that gives no answer on its way back frees
its slot at its deadline, so that the others are not left behind.
"""

import enum

import msgspec

from tidegate.kinds.rollouts.core.brakes import Gates, RolloutBrakes
from tidegate.kinds.rollouts.core.course import Course
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.kinds.rollouts.core.slots import Slots, size_outside
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import Change, ChangeKind, Option
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.target import State, Status, Target
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, all_pass, verdict

Verdicts = tuple[Verdict, ...]


class ReturnLeg(enum.Enum):
    """The state of a target on its way back."""

    DUE = "due"  # it has the failed revision
    DUE_IN_FLIGHT = "due in flight"  # it is just getting it, and holds a slot
    GOING = "going"
    ELSEWHERE = "elsewhere"  # being updated to something else; it only holds a slot
    SILENT = "silent"
    BROKEN = "broken"


_DUE = (ReturnLeg.DUE, ReturnLeg.DUE_IN_FLIGHT)


class ReturnPath(msgspec.Struct, frozen=True):
    """A target's way back."""

    leg: ReturnLeg
    until: Instant | None = None


def can_return(world: RolloutWorld, course: Course) -> bool:
    """Whether there is a revision to go back to."""
    last_good = world.rollout.last_good
    return last_good is not None and course.revision != last_good


def plan_rollback(
    world: RolloutWorld, course: Course, states: list[State], braking: RolloutBrakes | None = None
) -> list[Option]:
    """Options back to the last good revision for the targets already touched."""
    last_good = world.rollout.last_good
    change = Change(ChangeKind.RETURN, last_good)
    ways = [
        _way(world, course, target, state)
        for target, state in zip(world.targets, states, strict=True)
    ]
    if last_good is not None and course.revision == last_good:
        return []  # there is nothing to go back to: it is the last good one
    if last_good is None:
        lost = (verdict(RolloutReason.NoLastGood),)
        touched = (i for i, way in enumerate(ways) if way is not None and way.leg in _DUE)
        return [Option(i, change, lost) for i in touched]
    exempt = [group.mandatory for group in world.groups for _ in range(group.size)]
    exempt = [whole or target.ignored for whole, target in zip(exempt, world.targets, strict=True)]
    slots = None if course.paused else _slots(world, ways, exempt)
    lead = (
        verdict(RolloutReason.RollbackDue, last_good),
        verdict(ProgressReason.Paused if course.paused else ProgressReason.Running),
    )
    options: list[Option] = []
    for i, way in enumerate(ways):
        if way is None or way.leg is ReturnLeg.ELSEWHERE:
            continue
        mine = None if exempt[i] else slots
        if way.leg not in _DUE:
            verdicts: Verdicts = (_on_the_way(world, way, last_good),)
        elif braking is None:
            verdicts = _due(lead, way, mine)
        else:
            verdicts = _braked(lead, way, mine, braking.gates_back(i), world.targets[i].name)
        options.append(Option(i, change, verdicts))
    return options


def _way(world: RolloutWorld, course: Course, target: Target, state: State) -> ReturnPath | None:
    """Its state on the way back; None if the failed rollout never touched it, or it is back."""
    status, last_good = target.status, world.rollout.last_good
    if status in (Status.ToApply, Status.Skip, Status.NewCluster):
        return None
    if target.revision == course.revision or (target.revision is None and course.vouched):
        flying = state is State.IN_FLIGHT
        return (
            ReturnPath(ReturnLeg.DUE_IN_FLIGHT, _ends_at(world, target))
            if flying
            else ReturnPath(ReturnLeg.DUE)
        )
    if state is State.HOLDING:
        going = target.revision is not None and target.revision == last_good
        return ReturnPath(
            ReturnLeg.GOING if going else ReturnLeg.ELSEWHERE, _ends_at(world, target)
        )
    if target.revision != last_good or status is Status.Succeeded:
        return None
    return ReturnPath(ReturnLeg.SILENT if status is Status.Progressing else ReturnLeg.BROKEN)


def _ends_at(world: RolloutWorld, target: Target) -> Instant | None:
    """When a target in flight frees its slot, whatever it does."""
    deadline = world.strategy.deadline
    if deadline is None or target.since is None or target.status is Status.Unknown:
        return None
    return Instant(target.since + deadline)


def _slots(world: RolloutWorld, ways: list[ReturnPath | None], exempt: list[bool]) -> Slots | None:
    """Each target being updated has a slot, whichever revision it goes to."""
    limit = world.strategy.max_concurrency
    if limit is None:
        return None
    mine = [way for way, free in zip(ways, exempt, strict=True) if way is not None and not free]
    busy = [way for way in mine if way.leg in (ReturnLeg.GOING, ReturnLeg.ELSEWHERE)]
    held = sum(way.leg is ReturnLeg.DUE_IN_FLIGHT for way in mine)
    moments = [way.until for way in mine if way.until is not None]
    frees_at = min(moments, default=None)
    return Slots(limit.of(size_outside(world)), len(busy), holding=held, frees_at=frees_at)


def _due(lead: Verdicts, way: ReturnPath, slots: Slots | None) -> Verdicts:
    if slots is None:
        return lead
    taken = slots.take(State.HOLDING if way.leg is ReturnLeg.DUE_IN_FLIGHT else State.WAITING)
    return (*lead, taken or slots.standing())


def _braked(
    lead: Verdicts, way: ReturnPath, slots: Slots | None, gates: Gates, name: str
) -> Verdicts:
    """The same under brakes: a held target takes no slot, and no place of a budget or mutex."""
    said = (*lead, *gates.verdicts, *gates.shared(name))
    if not all_pass(said):
        return said if slots is None else (*said, slots.standing())
    verdicts = _due(said, way, slots)
    if all_pass(verdicts):
        gates.take(name)
    return verdicts


def _on_the_way(world: RolloutWorld, way: ReturnPath, last_good: str) -> Verdict:
    if way.leg is ReturnLeg.GOING:
        return verdict(RolloutReason.Returning, last_good, until=way.until)
    if way.leg is ReturnLeg.SILENT and world.strategy.deadline is not None:
        return verdict(RolloutReason.ReturnTimedOut, last_good, world.strategy.deadline)
    return verdict(RolloutReason.ReturnFailed, last_good)
