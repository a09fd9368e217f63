"""Policies that were taken over or handed back by hand, as the journal keeps it."""

from tidegate.app.by_hand import record_by_hand
from tidegate.journal.facts import HandledObject
from tidegate.kinds.policies.app.stage_plan import PolicyHandOver
from tidegate.kinds.policies.fleet import WORD
from tidegate.model.time import Instant
from tidegate.store.port import Store


def record_hand_over(
    store: Store, found: PolicyHandOver, reason: str, actor: str, now: Instant
) -> None:
    """Record what was done, by which actor, and why."""
    detail = f"revision {found.revision}" if found.revision else ""
    done = HandledObject(object=f"hub/policy/{found.policy}", outcome=found.outcome, detail=detail)
    record_by_hand(store, f"by-hand/{WORD}", [done], reason, actor, now)
