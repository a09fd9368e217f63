"""A shared budget: at most so many of these targets changed and not yet soaked, over everything.

All together, or for each value of a label: never more than a tenth of any region at once, whatever
rolls out. A percentage is of the targets the budget covers, rounded up exactly: 10 % of 25 is 3.
A failed target stays changed and unsoaked until it is retried or gets a new revision.
"""

import msgspec

from tidegate.gates.claims import ClaimPool
from tidegate.gates.scope import EVERYTHING, Scope
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.limit import Limit
from tidegate.model.verdict import Verdict, verdict


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """How many may be changed and not yet soaked."""

    name: str
    limit: Limit
    scope: Scope = EVERYTHING
    # A label, each value of which has the limit for itself; empty: all together.
    per: str = ""
    # How many targets there are, by the label's value ("" for all together); what is not listed is
    # counted among the targets this rollout knows of.
    sizes: dict[str, int] = {}


def budget_claim(budget: Budget, value: str | None) -> str:
    """What a place of it is called among claims. None: the target lacks the label."""
    return f"budget/{budget.name}/{value or ''}" if budget.per else f"budget/{budget.name}"


def budget_label(budget: Budget, value: str | None) -> str:
    """What people call it."""
    if not budget.per:
        return f"budget {budget.name}"
    which = f"{budget.per} {value}" if value is not None else f"without {budget.per}"
    return f"budget {budget.name} ({which})"


def budget_verdict(label: str, pot: ClaimPool, target: str) -> Verdict:
    """Whether one more may be changed."""
    used, limit = len(pot.holders), pot.limit
    if pot.owns(target):
        return verdict(BrakeReason.SharedBudgetOwn, label)
    if pot.room > 0:
        return verdict(BrakeReason.SharedBudgetFree, label, used, limit)
    if limit == 0:
        return verdict(BrakeReason.SharedBudgetZero, label)
    if not pot.started and all(holder.failed for holder in pot.holders):
        return verdict(BrakeReason.SharedBudgetStuck, label, used, limit, pot.names())
    until = pot.frees_at() if pot.room == 0 else None
    spent = (label, used, limit, len(pot.started), pot.names())
    return verdict(BrakeReason.SharedBudgetSpent, *spent, until=until, estimate=until is not None)
