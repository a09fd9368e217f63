"""Brakes set and lifted: one fact each, with actor and reason; workers apply it within a second."""

from collections.abc import Sequence

from tidegate.app.brakes.reach import FreezeSpan, spans_ahead
from tidegate.app.brakes.request import (
    CheckedBrake,
    FreezeException,
    find_brake,
    plain,
    read_brake,
)
from tidegate.app.partitions.journals import Journals
from tidegate.app.workers import PartitionWorker
from tidegate.journal.brake_state import PARTITION, BrakeRecord
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Braked, Lifted
from tidegate.model.document import Document, Part
from tidegate.model.errors import UserError
from tidegate.model.time import Instant, format_instant


class BrakeReport(Document, frozen=True, kw_only=True):
    """A brake that was set."""

    brake: str
    name: str
    owner: str
    reason: str
    # Whether one of the same name was on before.
    replaced: bool
    expires: str | None
    # Whether it covers this moment; a freeze may begin later.
    in_force: bool
    # Of a freeze: the time that is, or comes, next; null: all are past.
    next: FreezeSpan | None = None
    # How many partitions it covers, and those that a worker leads: these workers it binds.
    covers: int = 0
    binds: tuple[PartitionWorker, ...] = ()
    # Workers that lead what it does not cover.
    others: int = 0


class LiftedBrake(Part, frozen=True):
    """A brake that was recorded until now."""

    name: str
    since: str
    by: str
    # Whether it covered the moment at which it was lifted; a freeze may begin later.
    in_force: bool = True


class LiftReport(Document, frozen=True, kw_only=True):
    """Brakes that were lifted."""

    brake: str
    at: str
    reason: str
    items: tuple[LiftedBrake, ...]


class ExemptionReport(Document, frozen=True, kw_only=True):
    """Targets that were exempted from a freeze."""

    freeze: str
    exception: FreezeException


def set_brake(
    journals: Journals, checked: CheckedBrake, actor: str, covered: Sequence[str]
) -> BrakeReport:
    """Record a brake, and say which workers it binds where it covers something."""
    journals.store.append(PARTITION, [JournalNote(journals.now, actor, checked.fact())])
    return brake_report(journals, checked, covered)


def brake_report(journals: Journals, checked: CheckedBrake, covered: Sequence[str]) -> BrakeReport:
    """A brake as it is reported once it is set."""
    request, now = checked.request, journals.now
    spans = spans_ahead(checked.brakes, now)
    first = spans[0] if spans else None
    leaders = journals.leaders()
    binds = tuple(journals.attendance(each).worker for each in covered if each in leaders)
    return BrakeReport(
        brake=request.brake,
        name=request.name,
        owner=request.owner,
        reason=request.reason,
        replaced=checked.replaces is not None,
        expires=checked.document.get("expires"),
        in_force=request.times is None or (first is not None and first.start <= now),
        next=None
        if first is None
        else FreezeSpan(starts_at=format_instant(first.start), ends_at=format_instant(first.end)),
        covers=len(covered),
        binds=binds,
        others=len({*leaders.values()} - {each.leader for each in binds}),
    )


def lift_brakes(
    journals: Journals, brake: str, names: tuple[str, ...], reason: str, actor: str
) -> LiftReport:
    """Lift brakes, all or none; NotFoundError names the nearest to one that is not there."""
    report = lift_report(journals, brake, names, reason)
    facts = lift_facts(brake, names, reason)
    journals.store.append(PARTITION, [JournalNote(journals.now, actor, each) for each in facts])
    return report


def lift_facts(brake: str, names: tuple[str, ...], reason: str) -> tuple[Lifted, ...]:
    """What is recorded when brakes are lifted."""
    return tuple(Lifted(brake=brake, name=name, reason=reason) for name in names)


def lift_report(journals: Journals, brake: str, names: tuple[str, ...], reason: str) -> LiftReport:
    """Brakes as they are reported once they are lifted."""
    found = [find_brake(journals, brake, name) for name in names]
    return LiftReport(
        brake=brake,
        at=format_instant(journals.now),
        reason=reason,
        items=tuple(
            LiftedBrake(
                name=each.name,
                since=format_instant(each.at),
                by=each.by,
                in_force=brake != "freeze" or _covers_now(each, journals.now),
            )
            for each in found
        ),
    )


def _covers_now(freeze: BrakeRecord, now: Instant) -> bool:
    """Whether a freeze is on; one that cannot be read any more is."""
    try:
        spans = spans_ahead(read_brake("freeze", freeze.document, now), now)
    except UserError:
        return True
    return any(span.start <= now for span in spans)


def exemption(journals: Journals, freeze: str, exception: FreezeException) -> Braked:
    """The fact that exempts targets from a freeze; UserError if it cannot be read."""
    known = find_brake(journals, "freeze", freeze)
    before = list(known.document.get("exceptions", []))
    document = {**known.document, "exceptions": [*before, plain(exception)]}
    read_brake("freeze", document, journals.now)
    return Braked(brake="freeze", name=freeze, document=document, reason=exception.reason)


def exempt(
    journals: Journals, freeze: str, exception: FreezeException, actor: str
) -> ExemptionReport:
    """Exempt targets from a freeze, for a time."""
    fact = exemption(journals, freeze, exception)
    journals.store.append(PARTITION, [JournalNote(journals.now, actor, fact)])
    return ExemptionReport(freeze=freeze, exception=exception)
