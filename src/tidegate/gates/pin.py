"""A pin keeps a target where it is.

It neither starts nor returns, and counts neither way: no group waits for it, no percentage is taken
of it, and the rollout can be completed without it.
"""

from collections.abc import Iterable

from tidegate.gates.scope import Brake, brake_verdict, in_force
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, verdict

NOT_PINNED = verdict(BrakeReason.NotPinned)


class Pin(Brake, frozen=True, kw_only=True):
    """Stay where you are."""


def pin_verdicts(pins: Iterable[Pin], now: Instant) -> list[Verdict]:
    """What the pins that cover a target say: one verdict each, or that there is none."""
    reasons = BrakeReason.Pinned, BrakeReason.PinnedUntil
    shut = [brake_verdict(each, "pin", *reasons) for each in pins if in_force(each, now)]
    return shut or [NOT_PINNED]
