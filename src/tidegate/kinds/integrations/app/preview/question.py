"""`preview`: what a change of a bundle does to the fleet, from two revisions of it."""

from tidegate.engine.brakes.book import BrakeBook
from tidegate.kinds.integrations.app.comparison import RevisionComparison
from tidegate.kinds.integrations.app.preview.prospect import Prospect, prospect_of
from tidegate.kinds.integrations.app.preview.schedule import Pace, Scheduler
from tidegate.kinds.integrations.core.waves.outset import moves_of
from tidegate.model.time import SECOND, Instant
from tidegate.store.port import Store


def preview(
    comparison: RevisionComparison, store: Store, book: BrakeBook, at: Instant, pace: Pace
) -> Prospect:
    """What the change does if it is merged at a moment; UserError if nothing is declared."""
    comparison.check_folder()
    moment = Instant(at // SECOND * SECOND)
    moves = moves_of(comparison.base.estate, comparison.head.estate)
    scheduler = Scheduler(store, book, moment, pace)
    schedules = scheduler.of_all(moves, complete=comparison.head.estate.complete)
    return prospect_of(comparison, moves, schedules, moment)
