"""Tasks of a rollout that have no outcome yet: which are due, unwanted, overdue or withheld.

A task that failed is tried again under its key, after a pause that doubles; it delays no other.
"""

from collections.abc import Sequence

from tidegate.journal import retry
from tidegate.kinds.rollouts.core.journal.facts import RolloutTask
from tidegate.kinds.rollouts.core.journal.state import PendingTask, RolloutState
from tidegate.model.plan import ChangeKind
from tidegate.model.removal import why_kept
from tidegate.model.time import SECOND, Duration, Instant

# A task that failed is tried again after this long, then twice as long, up to the limit.
RETRY_FIRST = Duration(2 * SECOND)
RETRY_MAX = Duration(300 * SECOND)
# A task that was not tried for this long belongs to another day: it is decided again.
UNTRIED_MAX = Duration(300 * SECOND)


def due_tasks(state: RolloutState, now: Instant) -> list[RolloutTask]:
    """Tasks without an outcome whose time to be tried has come, in the order of their targets."""
    names = sorted(state.pending)
    return [state.pending[name].task for name in names if retry_at(state.pending[name]) <= now]


def retry_at(one: PendingTask) -> Instant:
    """When a pending task is to be tried next."""
    return retry.retry_at(one.at, one.tried_at, one.tries, RETRY_FIRST, RETRY_MAX)


def next_retry(state: RolloutState) -> Instant | None:
    """The first moment at which a pending task is to be tried."""
    return min((retry_at(one) for one in state.pending.values()), default=None)


def overdue_tasks(state: RolloutState, now: Instant) -> list[RolloutTask]:
    """Tasks that were never tried, from too long ago to be carried out unseen."""
    return [
        one.task for one in state.pending.values() if one.tries == 0 and now - one.at > UNTRIED_MAX
    ]


def unwanted(state: RolloutState, task: RolloutTask) -> str:
    """Why a task is no longer wanted; empty: it is."""
    known = state.pending.get(task.target)
    if known is None or known.task.key != task.key:
        return "another decision took its place"
    if task.change.kind is ChangeKind.REMOVE and _is_member(state, task.target):
        return "it is in a group again"
    if task.change.kind is ChangeKind.APPLY and state.rollout.aborted:
        return "the rollout was aborted"
    return "the rollout is paused" if state.rollout.paused else ""


def _is_member(state: RolloutState, target: str) -> bool:
    groups = state.declared.groups if state.declared is not None else ()
    return any(target in group.clusters for group in groups)


def withheld_removals(
    state: RolloutState, tasks: Sequence[RolloutTask], allowed: bool
) -> dict[str, str]:
    """Why removals are put off, by key: too many at once, or from a partial or empty reading."""
    removals = [task for task in tasks if task.change.kind is ChangeKind.REMOVE]
    if not removals:
        return {}
    groups = state.declared.groups if state.declared is not None else ()
    emptied = "" if any(group.clusters for group in groups) else "every group is empty"
    why = why_kept(
        len(removals),
        len(state.reports),
        complete=state.complete,
        emptied=emptied,
        allowed=allowed,
    )
    return {task.key: why for task in removals} if why else {}
