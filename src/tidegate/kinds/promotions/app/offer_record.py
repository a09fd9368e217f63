"""The journal of a promotion, read and written by hand: what is known, and what was offered."""

from msgspec.structs import replace

from tidegate.app.by_hand import record_by_hand
from tidegate.engine.partition import PartitionState
from tidegate.journal.chain import JournalNote
from tidegate.kinds.promotions.app.plan import PlannedPromotion
from tidegate.kinds.promotions.core.decide import KIND
from tidegate.kinds.promotions.core.journal.facts import PromotionRead
from tidegate.kinds.promotions.core.journal.known import PromotionState
from tidegate.kinds.promotions.core.journal.record import read_fact
from tidegate.kinds.promotions.core.journal.requested import still_requested
from tidegate.kinds.promotions.core.model import SCHEMAS
from tidegate.kinds.promotions.rules import PromotionRules
from tidegate.model.time import Instant
from tidegate.propose.change import ProposedChange
from tidegate.store.port import Store


def promotion_state(store: Store, name: str) -> PromotionState:
    """The state of a promotion, as the journal has it."""
    part = PartitionState(store, f"{KIND}/{name}", PromotionRules())
    part.catch_up()
    return part.state


def record_offer(
    store: Store,
    planned: PlannedPromotion,
    done: ProposedChange,
    reason: str,
    actor: str,
    now: Instant,
    *,
    newest: bool,
) -> None:
    """Record an offer by hand: among acts by hand, and in the journal of the promotion.

    `newest`: no other version was named, so that what was read is the newest.
    """
    record_by_hand(store, f"by-hand/{KIND}", planned.handled(done), reason, actor, now)
    name = planned.world.promotion.name
    if name == SCHEMAS:
        return  # part of another promotion, and served by no worker
    read = _read(promotion_state(store, name), planned) if newest else None
    facts = [each for each in (read, planned.offered(done, reason)) if each is not None]
    store.append(f"{KIND}/{name}", [JournalNote(now, actor, fact) for fact in facts])


def _read(state: PromotionState, planned: PlannedPromotion) -> PromotionRead | None:
    """What was read that is not known; of versions that people requested a worker reads."""
    return read_fact(state, replace(planned.reading(), requested=still_requested(state, {})))
