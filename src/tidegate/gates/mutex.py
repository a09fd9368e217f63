"""A mutex has one holder at a time, over all rollouts and kinds of change.

A target that needs one takes it when it starts and has it until its soak is over; one that failed
keeps it, and says so. The verdict names the holder, since when, and what would free it.
"""

import msgspec

from tidegate.gates.claims import ClaimHolder, ClaimPool
from tidegate.gates.scope import Scope
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.verdict import Verdict, verdict


class Mutex(msgspec.Struct, frozen=True, kw_only=True):
    """What only one of those it covers may have at a time."""

    name: str
    scope: Scope


def mutex_claim(mutex: Mutex) -> str:
    """What it is called among claims."""
    return f"mutex/{mutex.name}"


def mutex_verdict(mutex: Mutex, pot: ClaimPool, target: str) -> Verdict:
    """Whether the target may have it."""
    others = [holder for holder in pot.holders if holder.target != target or not pot.owns(target)]
    if others:
        return _held(mutex, _longest(others))
    if pot.owns(target):
        return verdict(BrakeReason.MutexOwn, mutex.name)
    if pot.started:
        return verdict(BrakeReason.MutexGoesToOther, mutex.name, pot.started[0])
    return verdict(BrakeReason.MutexFree, mutex.name)


def _held(mutex: Mutex, holder: ClaimHolder) -> Verdict:
    if holder.failed:
        return verdict(BrakeReason.MutexStuck, mutex.name, holder.target, holder.by)
    until, said = holder.frees_at, (mutex.name, holder.target, holder.by)
    estimate = until is not None
    if holder.since is None:
        return verdict(BrakeReason.MutexHeldUndated, *said, until=until, estimate=estimate)
    return verdict(BrakeReason.MutexHeld, *said, holder.since, until=until, estimate=estimate)


def _longest(holders: list[ClaimHolder]) -> ClaimHolder:
    """Of several, which there should not be, the one that has it longest speaks."""
    return min(holders, key=lambda each: (each.since is None, each.since or 0, each.target))
