"""The expected dates of a partition of any kind, or of one target of it."""

from msgspec.structs import replace

from tidegate.app.documents import NotedDocument, RolloutDates, TargetDates
from tidegate.app.journals import Decision, Journals
from tidegate.app.workers import trouble_lines
from tidegate.explain.pace import DatePace
from tidegate.model.document import Document
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem


def when(journals: Journals, name: str, pace: DatePace = DatePace()) -> Document:  # noqa: B008
    """When a partition, or a target, is expected to start and to be done.

    The document is that of the kind: RolloutDates, ClusterForecast or ClusterForecastList.
    UserError if nothing of this kind waits for a clock.
    """
    one, target, _ = journals.find_target(name)
    found = dates_of(journals, one, pace, target)
    if found is None:
        raise UserError((Problem(one.partition, one.rules.no_dates()),))
    if isinstance(found, NotedDocument):
        return replace(found, notes=(*trouble_lines([one.worker], journals.now), *found.notes))
    return replace(found, worker=one.worker) if isinstance(found, RolloutDates) else found


def dates_of(
    journals: Journals, one: Decision, pace: DatePace, target: str | None = None
) -> Document | None:
    """The one place where dates of a partition come from; None: its kind has none."""
    entries = journals.store.read(one.partition)
    return one.rules.dates(one.partition, one.state, one.world, one.now, entries, pace, target)


def expected_in(journals: Journals, one: Decision) -> dict[str, TargetDates]:
    """The dates of the targets of a partition, for an answer that is not about dates alone."""
    found = dates_of(journals, one, DatePace(brief=True))
    return {each.target: each for each in found.items} if isinstance(found, RolloutDates) else {}
