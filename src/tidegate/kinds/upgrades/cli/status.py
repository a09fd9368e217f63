"""Organisations in `status`: how many clusters move, wait and failed, and what is to be mended."""

from collections import Counter

from tidegate.engine.brake_book import BrakeBook
from tidegate.kinds.upgrades.cli.look.journal import Journal
from tidegate.kinds.upgrades.core.explain.stand import Stand, stands
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.model.reason import Gate
from tidegate.model.time import Instant
from tidegate.store.port import Store

_BRAKES = frozenset((Gate.HOLD, Gate.FREEZE, Gate.PIN))


def upgrade_counts(store: Store, now: Instant) -> tuple[Counter[str], dict[str, int]]:
    """How clusters stand, in the words of `status`, and what only a person can do."""
    journal = Journal(store, BrakeBook(store))
    counts: Counter[str] = Counter()
    for partition in journal.partitions():
        world = journal.world(partition, now)
        if world is None:
            continue
        counts["rollouts"] += 1
        for stand in stands(decide(world, now)):
            counts[_word(stand)] += 1
            counts["held"] += stand.shut is not None and stand.shut.gate in _BRAKES
            counts["mistakes"] += bool(stand.member.complaints)
    needs = {"failures": counts["failed"], "mistakes in labels": counts.pop("mistakes")}
    return counts, needs


def _word(stand: Stand) -> str:
    standing = stand.member.standing
    if standing.failed:
        return "failed"
    if standing.occupies or stand.starts:
        return "moving"
    return "waiting" if stand.next or stand.member.aside is not None else "done"
