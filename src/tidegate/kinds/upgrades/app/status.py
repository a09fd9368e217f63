"""Organisations in `status`: how many clusters move, wait and failed, and have label errors."""

from collections import Counter

from tidegate.engine.brake_book import BrakeBook
from tidegate.kinds.upgrades.app.read.journal import UpgradeJournal
from tidegate.kinds.upgrades.core.explain.summary import ClusterSummary, cluster_summaries
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.model.document import Document
from tidegate.model.reason import Gate
from tidegate.model.time import Instant
from tidegate.store.port import Store

_BRAKES = frozenset((Gate.HOLD, Gate.FREEZE, Gate.PIN))
MOVING, WAITING, DONE, FAILED = "moving", "waiting", "done", "failed"


class UpgradeStatus(Document, frozen=True, kw_only=True):
    """How many organisations there are, and how many of their clusters are in which state."""

    organisations: int
    moving: int
    waiting: int
    done: int
    failed: int
    # Of all these, how many a hold, a freeze or a pin keeps from starting.
    held: int
    # Clusters with labels that cannot be read.
    label_errors: int


def upgrade_status(store: Store, now: Instant) -> UpgradeStatus:
    """Every organisation as of its last recorded survey."""
    journal = UpgradeJournal(store, BrakeBook(store))
    counts: Counter[str] = Counter()
    organisations = held = wrong = 0
    for partition in journal.partitions():
        world = journal.world(partition, now)
        if world is None:
            continue
        organisations += 1
        for summary in cluster_summaries(decide(world, now)):
            counts[_state(summary)] += 1
            held += summary.shut is not None and summary.shut.gate in _BRAKES
            wrong += bool(summary.member.label_errors)
    return UpgradeStatus(
        organisations=organisations,
        moving=counts[MOVING],
        waiting=counts[WAITING],
        done=counts[DONE],
        failed=counts[FAILED],
        held=held,
        label_errors=wrong,
    )


def _state(summary: ClusterSummary) -> str:
    progress = summary.member.progress
    if progress.failed:
        return FAILED
    if progress.occupies or summary.starts:
        return MOVING
    return WAITING if summary.next or summary.member.excluded is not None else DONE
