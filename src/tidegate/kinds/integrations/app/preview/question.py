"""`preview`: what a change of a bundle does to the fleet, from two revisions of it."""

from tidegate.engine.brakes.book import BrakeBook
from tidegate.kinds.integrations.app.check.comparison import RevisionComparison
from tidegate.kinds.integrations.app.preview.document import preview_document
from tidegate.kinds.integrations.app.preview.prospect import prospect_of
from tidegate.kinds.integrations.app.preview.report import Preview
from tidegate.kinds.integrations.app.preview.schedule import Scheduler
from tidegate.kinds.integrations.core.waves.outset import moves_of
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.port import Store


def preview(
    comparison: RevisionComparison,
    store: Store,
    book: BrakeBook,
    at: Instant,
    apply_time: Duration | None = None,
) -> Preview:
    """What the change does if it is merged at a moment; UserError if nothing is declared.

    `apply_time`: how long a change takes; None: as long as the journal shows.
    """
    comparison.check_folder()
    moment = Instant(at // SECOND * SECOND)
    moves = moves_of(comparison.base.estate, comparison.head.estate)
    scheduler = Scheduler(store, book, moment, apply_time)
    schedules = scheduler.of_all(moves, complete=comparison.head.estate.complete)
    return preview_document(prospect_of(comparison, moves, schedules, moment))
