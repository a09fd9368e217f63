"""A hold stops everything it covers now, until it is lifted or expires.

Nothing starts inside one. What is under way goes on, and says that a hold is on.
"""

from collections.abc import Iterable

from tidegate.gates.scope import Brake, brake_verdict, in_force
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, verdict

NO_HOLD = verdict(BrakeReason.NoHold)


class Hold(Brake, frozen=True, kw_only=True):
    """Stop now."""


def hold_verdicts(holds: Iterable[Hold], now: Instant) -> list[Verdict]:
    """What the holds that cover a target say: one verdict each, or that there is none."""
    reasons = BrakeReason.Held, BrakeReason.HeldUntil
    shut = [brake_verdict(each, "hold", *reasons) for each in holds if in_force(each, now)]
    return shut or [NO_HOLD]


def holds_that_spare(holds: Iterable[Hold], now: Instant) -> list[Verdict]:
    """What the same holds say of a target that is under way already."""
    return [
        verdict(BrakeReason.HoldSpares, hold.name, hold.owner, until=hold.expires_at)
        for hold in holds
        if in_force(hold, now)
    ]
