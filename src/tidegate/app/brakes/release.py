"""What follows if brakes are lifted or narrowed: decided as if they were, and held against now."""

from collections.abc import Sequence

from tidegate.app.brakes.reach import covered_rows
from tidegate.app.brakes.request import find_brake, read_brake
from tidegate.app.consequence import PartitionRelease, difference
from tidegate.app.partitions.journals import Journals
from tidegate.journal.brake_state import FIELDS
from tidegate.journal.fact import Fact
from tidegate.journal.facts import Lifted
from tidegate.model.document import Document


class BrakeRelease(Document, frozen=True, kw_only=True):
    """What follows if brakes are lifted."""

    brake: str
    names: tuple[str, ...]
    # Those in which something moves.
    rollouts: tuple[PartitionRelease, ...]

    @property
    def moved(self) -> int:
        """How many targets move, at once or in turn; none where nothing starts at once."""
        return sum(max(each.leads_to.moved, each.waiting) for each in self.rollouts)


def lift_release(journals: Journals, brake: str, names: Sequence[str], actor: str) -> BrakeRelease:
    """What follows if brakes are lifted; NotFoundError if one is not there."""
    if brake == "expedite":  # nothing starts because something need not hurry any more
        for each in names:
            find_brake(journals, brake, each)
        return BrakeRelease(brake=brake, names=tuple(names), rollouts=())
    facts = [Lifted(brake=brake, name=each, reason="") for each in names]
    return release(journals, brake, names, facts, actor)


def release(
    journals: Journals, brake: str, names: Sequence[str], facts: Sequence[Fact], actor: str
) -> BrakeRelease:
    """What follows if these facts about brakes that are on are recorded."""
    documents = [find_brake(journals, brake, each).document for each in names]
    several = [read_brake(brake, each, journals.now) for each in documents]
    then = journals.supposing_brakes(facts, actor)
    found: list[PartitionRelease] = []
    for one in journals.all():
        rows = (row for each in several for row in covered_rows(one, FIELDS[brake], each))
        covered = {row.name for row in rows}
        after = then.read(one.partition) if covered else None
        if after is None or not (leads_to := difference(one.view, after.view)).moved:
            continue
        waiting = sum(row.waits and row.name in covered for row in after.view.targets)
        found.append(PartitionRelease(partition=one.partition, waiting=waiting, leads_to=leads_to))
    return BrakeRelease(brake=brake, names=tuple(names), rollouts=tuple(found))
