"""Changes of a promotion that have no outcome yet: which are due, overdue or unwanted.

A change that failed is offered again under its key, after a pause that doubles.
"""

from tidegate.journal.retry import retry_at
from tidegate.kinds.promotions.core.journal.facts import PromotionTask
from tidegate.kinds.promotions.core.journal.known import PendingOffer, PromotionState
from tidegate.model.time import SECOND, Duration, Instant

# A change that failed is tried again after this long, then twice as long, up to the limit.
RETRY_FIRST = Duration(10 * SECOND)
RETRY_MAX = Duration(600 * SECOND)
# A change that was not tried for this long is decided again, on a newer reading.
UNTRIED_MAX = Duration(300 * SECOND)


def due_tasks(state: PromotionState, now: Instant) -> list[PromotionTask]:
    """Changes without an outcome whose time to be tried has come, in the order of their keys."""
    pending = (state.pending[key] for key in sorted(state.pending))
    return [one.task for one in pending if _retry_at(one) <= now]


def next_retry(state: PromotionState) -> Instant | None:
    """The first moment at which a pending change is to be tried."""
    return min(map(_retry_at, state.pending.values()), default=None)


def overdue_tasks(state: PromotionState, now: Instant) -> list[PromotionTask]:
    """Changes that were never tried, from too long ago to be carried out."""
    return [
        one.task for one in state.pending.values() if one.tries == 0 and now - one.at > UNTRIED_MAX
    ]


def unwanted(state: PromotionState, task: PromotionTask) -> str:
    """Why a change is no longer wanted; empty: it is."""
    if task.key not in state.pending:
        return "another decision took its place"
    change, newest = task.change, state.read.version if state.read is not None else ""
    for name in change.environments:
        request = state.requests.get(name)
        if (request.ident if request is not None else "") != change.request:
            ended = request is None
            return "its request has ended" if ended else f"another version is requested for {name}"
    if not change.request and newest != change.version:
        return "there is a newer version"
    # As in a decision: a newer version ends an abort.
    if state.aborted == change.version == newest:
        return "the promotion was aborted"
    return "the promotion is paused" if state.paused else ""


def _retry_at(one: PendingOffer) -> Instant:
    return retry_at(one.at, one.tried_at, one.tries, RETRY_FIRST, RETRY_MAX)
