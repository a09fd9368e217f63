"""What is asked of the brakes: for what purpose, of which revision, when. And what they answer.

Returning to safety must work in a freeze, and needs no approval; a target that joins a completed
rollout needs no approval either, but obeys the calendar. Which brakes bind what is one table:

                hold  freeze  block  pin  approval  health  budget, mutex
    ROLL_OUT     ×      ×       ×     ×      ×        ×           ×
    JOIN         ×      ×       ×     ×                           ×
    REVERT       ×              ×     ×                           ×
    RETURN       ×              ×     ×                           ×
    REMOVE       ×      ×             ×
"""

import enum
from collections.abc import Callable

import msgspec

from tidegate.gates.approval import approval_verdicts
from tidegate.gates.block import block_verdicts
from tidegate.gates.brakes import Brakes, Coverage, Covered
from tidegate.gates.freeze import freeze_moments, freeze_verdicts, freezes_that_spare
from tidegate.gates.health import health_moments, health_verdicts
from tidegate.gates.hold import hold_verdicts, holds_that_spare
from tidegate.gates.pin import pin_verdicts
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.reason import Gate, Outcome
from tidegate.model.time import Duration, Instant
from tidegate.model.verdict import Verdict, verdict

Verdicts = tuple[Verdict, ...]

# A verdict names this many brakes; more would not fit on a line.
NAMES_MAX = 3


class Purpose(enum.Enum):
    """What a start is for."""

    ROLL_OUT = "roll out"  # a revision goes forward
    JOIN = "join"  # a target that joined a completed rollout gets the last good revision
    REVERT = "revert"  # the last good revision was declared again
    RETURN = "return"  # back to the last good revision, after a failure
    REMOVE = "remove"  # the target is in no group any more


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One question to the brakes, the same for many targets."""

    purpose: Purpose
    now: Instant
    # None: the revision has no name.
    revision: str | None = None
    # What approvals must be given for; None: not known.
    version: str | None = None
    author: str | None = None
    # What a start takes until it has soaked; None: not known.
    need: Duration | None = None


_Speak = Callable[[Covered, Ask], list[Verdict]]
_SPEAK: dict[Gate, _Speak] = {
    Gate.HOLD: lambda it, ask: hold_verdicts(it.holds, ask.now),
    Gate.FREEZE: lambda it, ask: freeze_verdicts(it.freezes, ask.revision, ask.need, ask.now),
    Gate.BLOCK: lambda it, ask: block_verdicts(it.blocks, ask.revision, ask.now),
    Gate.PIN: lambda it, ask: pin_verdicts(it.pins, ask.now),
    Gate.APPROVAL: lambda it, ask: approval_verdicts(
        it.approvals, ask.version, ask.author, ask.now
    ),
    Gate.HEALTH: lambda it, ask: health_verdicts(it.health, ask.revision, ask.now),
}
_BINDING: dict[Purpose, tuple[Gate, ...]] = {
    Purpose.ROLL_OUT: tuple(_SPEAK),
    Purpose.JOIN: (Gate.HOLD, Gate.FREEZE, Gate.BLOCK, Gate.PIN),
    Purpose.REVERT: (Gate.HOLD, Gate.BLOCK, Gate.PIN),
    Purpose.RETURN: (Gate.HOLD, Gate.BLOCK, Gate.PIN),
    Purpose.REMOVE: (Gate.HOLD, Gate.FREEZE, Gate.PIN),
}
# Purposes that take places of budgets and mutexes: whatever changes a target.
SHARING = frozenset(Purpose) - {Purpose.REMOVE}


def say(brakes: Brakes, coverage: Coverage, ask: Ask) -> Verdicts:
    """What the brakes say of every target this covers.

    A kind of brake that does not exist says nothing; one that does, but does not cover the target,
    says that it passes.
    """
    there = _kinds_of(brakes)
    doubts = _doubts(coverage, ask)
    names = tuple(name for some in doubts.values() for name in some)
    said = [verdict(BrakeReason.CoverUnclear, _first(names))] if names else []
    for gate in _BINDING[ask.purpose]:
        if gate in there:
            mine = _SPEAK[gate](coverage.surely, ask)
            # That nothing covers it is more than we know where something may.
            said += [each for each in mine if not doubts.get(gate) or each.reason not in _NOTHING]
    return tuple(said)


# What is looked at again right before a change is made; the other gates speak of the plan.
_AT_ONCE = frozenset((Gate.HOLD, Gate.FREEZE, Gate.BLOCK, Gate.PIN))


def shut_now(coverage: Coverage, ask: Ask) -> Verdict | None:
    """The first brake that keeps a change from being made at this very moment; None: none does."""
    doubts = _doubts(coverage, ask)
    names = tuple(name for gate in _AT_ONCE for name in doubts.get(gate, ()))
    if names:
        return verdict(BrakeReason.CoverUnclear, _first(tuple(sorted(names))))
    for gate in _BINDING[ask.purpose]:
        if gate in _AT_ONCE:
            for each in _SPEAK[gate](coverage.surely, ask):
                if each.outcome is not Outcome.PASS:
                    return each
    return None


_NOTHING = frozenset(
    (BrakeReason.NoHold, BrakeReason.NotFrozen, BrakeReason.NotBlocked, BrakeReason.NotPinned)
)


def spare(coverage: Coverage, ask: Ask) -> Verdicts:
    """What holds and freezes say of a target that is under way: that they are on, and let it go."""
    it, said = coverage.surely, list[Verdict]()
    said += holds_that_spare(it.holds, ask.now)
    if Gate.FREEZE in _BINDING[ask.purpose]:
        said += freezes_that_spare(it.freezes, ask.now)
    return tuple(said)


def pins_of(coverage: Coverage, now: Instant) -> Verdicts:
    """The pins that keep a target where it is; none if it may move."""
    said = pin_verdicts(coverage.surely.pins, now)
    return tuple(each for each in said if each.outcome is not Outcome.PASS)


def moments(coverage: Coverage, ask: Ask) -> list[Instant]:
    """When brakes say something else though no verdict has it as its `until`."""
    found: list[Instant] = []
    for it in (coverage.surely, coverage.perhaps):
        if Gate.FREEZE in _BINDING[ask.purpose]:
            found += freeze_moments(it.freezes, ask.need, ask.now)
        if Gate.HEALTH in _BINDING[ask.purpose]:
            found += health_moments(it.health, ask.now)
    for gate in _BINDING[ask.purpose]:
        said = _SPEAK[gate](coverage.perhaps, ask)
        found += [each.until for each in said if each.until is not None]
    return found


def _kinds_of(brakes: Brakes) -> frozenset[Gate]:
    """Which gates there are brakes for."""
    found = {
        Gate.HOLD: brakes.holds,
        Gate.FREEZE: brakes.freezes,
        Gate.BLOCK: brakes.blocks,
        Gate.PIN: brakes.pins,
        Gate.APPROVAL: brakes.approvals,
        Gate.HEALTH: brakes.health,
    }
    return frozenset(gate for gate, some in found.items() if some)


def _doubts(coverage: Coverage, ask: Ask) -> dict[Gate, list[str]]:
    """Brakes that would shut, if they cover the target, and may; by their gate."""
    perhaps = coverage.perhaps
    found: dict[Gate, list[str]] = {}
    for gate in _BINDING[ask.purpose]:
        shut = (each for each in _SPEAK[gate](perhaps, ask) if each.outcome is not Outcome.PASS)
        found[gate] = [f"{gate.value} {_name_in(each)}" for each in shut]
    if ask.purpose in SHARING:
        found[Gate.SHARED_BUDGET] = [f"budget {budget.name}" for budget, _ in perhaps.budgets]
        found[Gate.MUTEX] = [f"mutex {mutex.name}" for mutex in perhaps.mutexes]
    return found


def _first(names: tuple[str, ...]) -> tuple[str, ...]:
    return (*names[:NAMES_MAX], "…") if len(names) > NAMES_MAX else names


def _name_in(one: Verdict) -> str:
    """The brake a verdict speaks of: the fact that is called like its gate."""
    names = [name for name, _ in one.reason.entry.facts]
    return str(one.facts[names.index(one.gate.value)])
