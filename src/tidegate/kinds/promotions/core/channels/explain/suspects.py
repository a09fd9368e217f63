"""Which commits may have broken a version: those since the last good one."""

from tidegate.kinds.promotions.core.authors import Author, authors_of
from tidegate.kinds.promotions.core.channels.journal.state import PipelineKnown
from tidegate.kinds.promotions.core.channels.model import Quarantine
from tidegate.kinds.promotions.core.channels.sources import CommitRange, range_key


def good_before(known: PipelineKnown, failed: Quarantine) -> str:
    """The last version known to be good before one that failed; empty: none is."""
    if failed.good:
        return failed.good
    if known.reading is None:
        return ""
    # What its subscribers have came through the same channels.
    held = {each.ref for each in known.reading.subscribers if each.ref != failed.version}
    return held.pop() if len(held) == 1 else ""


def suspects_of(known: PipelineKnown, failed: Quarantine) -> CommitRange | None:
    """The commits between the last good version and the one that failed; None: not known."""
    good = good_before(known, failed)
    if not good or known.reading is None:
        return None
    return known.reading.commits.get(range_key(good, failed.version))


def authors_in(found: CommitRange) -> tuple[Author, ...]:
    """The authors of these commits, each with theirs."""
    return authors_of(found.commits)
