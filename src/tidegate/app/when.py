"""The expected dates of a partition of any kind, or of one target of it."""

from msgspec.structs import replace

from tidegate.app.access.sight import ANOTHER, mentions
from tidegate.app.documents import NotedDocument, RolloutDates, TargetDates
from tidegate.app.partitions.decision import Decision, LimitedDecision
from tidegate.app.partitions.journals import Journals
from tidegate.app.workers import trouble_lines
from tidegate.explain.pace import PACE_ENTRIES, DatePace
from tidegate.model.document import Document
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.store.port import last_entries


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
    found = _whole_dates(journals, one, pace, target)
    return limited_dates(one, found) if isinstance(one, LimitedDecision) else found


def _whole_dates(
    journals: Journals, one: Decision, pace: DatePace, target: str | None = None
) -> Document | None:
    if one.worker.left:
        raise UserError((Problem(one.partition, "was removed, so it has no dates"),))
    entries = last_entries(journals.store, one.partition, PACE_ENTRIES)
    return one.rules.dates(one.partition, one.state, one.world, one.now, entries, pace, target)


def limited_dates(one: LimitedDecision, found: Document | None) -> Document | None:
    """The dates of the targets that are seen; UserError if they cannot be taken apart."""
    if isinstance(found, RolloutDates):
        items = (each for each in found.items if each.target in one.seen)
        return replace(found, items=tuple(_veiled(each, one.hidden) for each in items))
    if found is None or one.is_whole:
        return found
    problem = Problem(one.partition, "has dates for all of it only, and you see a part of it")
    raise UserError((problem,))


def _veiled(dates: TargetDates, hidden: frozenset[str]) -> TargetDates:
    held = dates.held_by
    return replace(
        dates,
        depends_on=tuple(each for each in dates.depends_on if not mentions(each, hidden)),
        held_by=ANOTHER if held is not None and mentions(held, hidden) else held,
    )


def expected_in(journals: Journals, one: Decision) -> dict[str, TargetDates]:
    """The dates of the targets of a partition, for an answer that is not about dates alone."""
    return journals.once(one, lambda: _expected(journals, one))


def _expected(journals: Journals, one: Decision) -> dict[str, TargetDates]:
    if one.worker.left:
        return {}
    found = _whole_dates(journals, one, DatePace(brief=True))
    if isinstance(one, LimitedDecision) and isinstance(found, RolloutDates):
        found = limited_dates(one, found)
    return {each.target: each for each in found.items} if isinstance(found, RolloutDates) else {}
