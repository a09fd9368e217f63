"""What people and programs report of a pipeline, and what they lift: as facts, with their effect.

A report is recorded in the journal of its pipeline; the worker that leads it decides again at once.
Reporting the same twice says nothing new.
"""

from collections.abc import Iterable, Iterator

import msgspec

from tidegate.app.partitions.decision import Decision
from tidegate.app.partitions.journals import Journals
from tidegate.journal.chain import JournalNote
from tidegate.journal.fact import Fact
from tidegate.kinds.promotions.channel_rules import PipelineState
from tidegate.kinds.promotions.core.channels.history import DeploymentSeen
from tidegate.kinds.promotions.core.channels.journal.facts import (
    DeploymentsSeen,
    EvidenceReported,
    QuarantineLifted,
)
from tidegate.kinds.promotions.core.channels.journal.state import news_of
from tidegate.kinds.promotions.core.channels.model import Quarantine
from tidegate.kinds.promotions.core.channels.pipeline import KIND
from tidegate.kinds.promotions.core.channels.sources import (
    PipelineReading,
    TargetPlace,
    is_version,
)
from tidegate.model.document import Document
from tidegate.model.errors import NotFoundError, UserError
from tidegate.model.problem import Problem, nearest_or_all, shown
from tidegate.model.time import Instant, format_second

WEBHOOK = "webhook"


class DeploymentReport(Document, frozen=True, kw_only=True):
    """A deployment that was reported, and what follows from it."""

    pipeline: str
    target: str
    version: str
    good: bool
    at: str
    # Whether it says anything that was not known.
    is_new: bool
    # Whether its version is quarantined by it.
    quarantines: bool


class EvidenceReport(Document, frozen=True, kw_only=True):
    """A result that was reported of a version."""

    pipeline: str
    version: str
    name: str
    good: bool
    # Names that the pipeline asks for and that were not reported good yet.
    missing: tuple[str, ...]


class QuarantineReport(Document, frozen=True, kw_only=True):
    """A quarantine that is lifted: why there was one, and which subscribers waited for it."""

    pipeline: str
    version: str
    target: str
    at: str
    why: str
    role: str
    waiting: tuple[str, ...]


class ReportedFact(msgspec.Struct, frozen=True):
    """A fact to be recorded, in which journal, and what it leads to."""

    partition: str
    fact: Fact
    report: Document


def pipeline_of(journals: Journals, name: str) -> Decision:
    """A pipeline by its name, with `channels/` or without; NotFoundError names the nearest."""
    wanted = name if name.startswith(f"{KIND}/") else f"{KIND}/{name}"
    names = journals.names(KIND)
    found = journals.read(wanted) if wanted in names else None
    if found is None:
        raise NotFoundError("pipeline", name, nearest_or_all(wanted, names, "none yet"))
    return found


def pipelines_of(journals: Journals) -> list[Decision]:
    """Every pipeline of a journal."""
    found = (journals.read(each) for each in journals.names(KIND))
    return [each for each in found if each is not None]


def report_deployment(
    journals: Journals,
    one: Decision,
    target: str,
    version: str,
    at: Instant | None = None,
    *,
    good: bool,
    why: str = "",
) -> ReportedFact:
    """A target was deployed, as another system says; UserError where that cannot be.

    `at`: when; without it, now.
    """
    state, at = _state(one), journals.now if at is None else at
    if not is_version(version):
        what = f"{shown(version)} is no commit of 40 digits"
        raise UserError((Problem("version", what, "write it in full"),))
    if at > journals.now:
        problem = Problem("at", f"{format_second(at)} is not yet", "write when it was deployed")
        raise UserError((problem,))
    name = _target(one.partition, _reading(state), target)
    seen = DeploymentSeen(target=name, version=version, at=at, good=good, why=why)
    news = news_of(state.known, (seen,))
    report = DeploymentReport(
        pipeline=one.partition,
        target=name,
        version=version,
        good=good,
        at=format_second(at),
        is_new=bool(news),
        quarantines=bool(news) and not good and version not in state.known.quarantined,
    )
    return ReportedFact(one.partition, DeploymentsSeen(deployments=(seen,), source=WEBHOOK), report)


def report_evidence(
    one: Decision, version: str, name: str, *, good: bool, reason: str = ""
) -> ReportedFact:
    """A result of a version, under a name that the pipeline asks for."""
    state = _state(one)
    asked = _reading(state).pipeline.evidence.named
    if name not in asked:
        raise NotFoundError("evidence", name, nearest_or_all(name, list(asked)))
    whole = whole_version(one, version)
    fact = EvidenceReported(version=whole, name=name, good=good, reason=reason)
    reported = state.known.named.get(whole, {})
    done = {each for each in asked if each in reported and reported[each].good}
    done = done | {name} if good else done - {name}
    report = EvidenceReport(
        pipeline=one.partition,
        version=whole,
        name=name,
        good=good,
        missing=tuple(each for each in asked if each not in done),
    )
    return ReportedFact(one.partition, fact, report)


def lift_quarantine(one: Decision, version: str, reason: str) -> ReportedFact:
    """Let a version go on that failed; NotFoundError if it is not quarantined."""
    state = _state(one)
    failed = quarantined_in(one, version)
    waiting = (row.name for row in one.view.targets if row.waits)
    next_ = {row.name: row.next for row in one.view.targets}
    report = QuarantineReport(
        pipeline=one.partition,
        version=failed.version,
        target=failed.target,
        at=format_second(failed.at),
        why=failed.why,
        role=_reading(state).pipeline.quarantine_role,
        waiting=tuple(name for name in waiting if next_[name] == failed.version[:7]),
    )
    fact = QuarantineLifted(version=failed.version, reason=reason)
    return ReportedFact(one.partition, fact, report)


def quarantined_in(one: Decision, version: str) -> Quarantine:
    """The quarantine of a version, which may be abbreviated; NotFoundError if there is none."""
    known = _state(one).known.quarantined
    for each in known:
        if each.startswith(version) and len(version) >= _LEAST:
            return known[each]
    names = [each[:_LEAST] for each in known]
    raise NotFoundError(
        "quarantined version", version, nearest_or_all(version, names), one.partition
    )


def whole_version(one: Decision, version: str) -> str:
    """A version in full; one that is abbreviated must be known to the pipeline."""
    if is_version(version):
        return version
    known = sorted(set(_versions(_state(one))))
    found = [each for each in known if len(version) >= _LEAST and each.startswith(version)]
    if len(found) == 1:
        return found[0]
    names = [each[:_LEAST] for each in known]
    raise NotFoundError("version", version, nearest_or_all(version, names), one.partition)


def record_report(journals: Journals, reported: ReportedFact, actor: str) -> Document:
    """Record a report; the worker that leads the pipeline notices within a second."""
    note = JournalNote(journals.now, actor, reported.fact)
    journals.store.append(reported.partition, [note])
    return reported.report


# Digits that name a version at least.
_LEAST = 7


def _state(one: Decision) -> PipelineState:
    assert isinstance(one.state, PipelineState)
    return one.state


def _reading(state: PipelineState) -> PipelineReading:
    assert state.known.reading is not None, "a decision has one"
    return state.known.reading


def _places(reading: PipelineReading) -> Iterable[TargetPlace]:
    yield from (each.place for each in reading.publishers)
    yield from (each.place for each in reading.subscribers)


def _target(partition: str, reading: PipelineReading, wanted: str) -> str:
    """A target by its name, or by its id in the existing manager's state."""
    names: dict[str, str] = {}
    for place in _places(reading):
        for each in (place.name, place.uid(), place.uid(fips=True)):
            names[each] = place.name
    if wanted not in names:
        known = sorted(set(names.values()))
        raise NotFoundError("target", wanted, nearest_or_all(wanted, known), partition)
    return names[wanted]


def _versions(state: PipelineState) -> Iterator[str]:
    reading = _reading(state)
    yield from (each.version for each in reading.publishers if each.version is not None)
    yield from (each.ref for each in reading.subscribers)
    yield from state.known.quarantined
