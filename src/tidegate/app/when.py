"""The expected dates of a partition of any kind, or of one target of it."""

from msgspec.structs import replace

from tidegate.app.documents import NotedDocument, RolloutDates
from tidegate.app.journals import Journals
from tidegate.app.workers import trouble_lines
from tidegate.model.document import Document
from tidegate.model.errors import UserError
from tidegate.model.pace import DatePace
from tidegate.model.problem import Problem


def when(journals: Journals, name: str, pace: DatePace = DatePace()) -> Document:  # noqa: B008
    """When a partition, or a target, is expected to start and to be done.

    The document is that of the kind: RolloutDates, ClusterForecast or ClusterForecastList.
    UserError if nothing of this kind waits for a clock.
    """
    one, target, _ = journals.find_target(name)
    entries = journals.store.read(one.partition)
    found = one.rules.dates(one.partition, one.state, one.world, one.now, entries, pace, target)
    if found is None:
        raise UserError((Problem(one.partition, one.rules.no_dates()),))
    if isinstance(found, NotedDocument):
        return replace(found, notes=(*trouble_lines([one.worker], journals.now), *found.notes))
    return replace(found, worker=one.worker) if isinstance(found, RolloutDates) else found
