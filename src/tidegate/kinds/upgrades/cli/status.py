"""Organisations in the words of `tidegate status`."""

from collections import Counter

from tidegate.kinds.upgrades.app.status import upgrade_status
from tidegate.model.time import Instant
from tidegate.store.port import Store


def upgrade_counts(store: Store, now: Instant) -> tuple[Counter[str], dict[str, int]]:
    """How many clusters are in which state, and what only a person can do."""
    found = upgrade_status(store, now)
    counts = Counter(
        rollouts=found.organisations,
        moving=found.moving,
        waiting=found.waiting,
        done=found.done,
        failed=found.failed,
        held=found.held,
    )
    return counts, {"failures": found.failed, "mistakes in labels": found.label_errors}
