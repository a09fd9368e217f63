"""What is asked and reported of pipelines, in a journal or at a service: the same documents."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from tidegate.app.partitions.journals import Journals
from tidegate.cli.answers.place import AnswerPlace, service_client
from tidegate.cli.live import actor, journals, opened
from tidegate.kinds.promotions.app.pipelines.reports import (
    DeploymentReport,
    EvidenceReport,
    QuarantineReport,
    ReportedFact,
    lift_quarantine,
    pipeline_of,
    record_report,
    report_deployment,
    report_evidence,
)
from tidegate.kinds.promotions.app.pipelines.suspects import SuspectList, suspect_list
from tidegate.model.time import Instant, format_instant

if TYPE_CHECKING:
    from tidegate.api.client.service import ServiceClient

D = TypeVar("D", DeploymentReport, EvidenceReport, QuarantineReport)
# A report is about what happened elsewhere: no plan is named.
_ANY = "*"


class ReadyQuarantine(msgspec.Struct, frozen=True):
    """A quarantine to be lifted: what follows, and how that is recorded."""

    report: QuarantineReport
    record: Callable[[], QuarantineReport]
    # Whether the role that the pipeline asks for is held against the person who lifts it.
    checked: bool


class PipelineAnswers(Protocol):
    """Questions about pipelines, and reports of them."""

    def suspects(self, version: str, pipeline: str | None) -> SuspectList:
        """As `suspect_list`."""
        ...

    def prepare_lift(self, pipeline: str, version: str, reason: str) -> ReadyQuarantine:
        """As `lift_quarantine`, then `record_report`."""
        ...

    def deployed(
        self, pipeline: str, target: str, version: str, at: Instant | None, *, good: bool, why: str
    ) -> DeploymentReport:
        """As `report_deployment`, then `record_report`."""
        ...

    def evidence(
        self, pipeline: str, version: str, name: str, *, good: bool, reason: str
    ) -> EvidenceReport:
        """As `report_evidence`, then `record_report`."""
        ...


@contextmanager
def pipeline_answers(place: AnswerPlace, *, writes: bool = False) -> Iterator[PipelineAnswers]:
    """Those of a service, if one is set or logged in to; else those of a journal."""
    client = service_client(place)
    if client is not None:
        yield ServicePipelines(client)
        return
    with opened(place.database, writes=writes) as store:
        yield JournalPipelines(journals(store))


class JournalPipelines:
    """Pipelines in a journal that this machine can open."""

    def __init__(self, known: Journals) -> None:
        self._known = known

    def suspects(self, version: str, pipeline: str | None) -> SuspectList:
        """Commits and authors since the last good version."""
        return suspect_list(self._known, version, pipeline)

    def prepare_lift(self, pipeline: str, version: str, reason: str) -> ReadyQuarantine:
        """What follows if a version may go on, and how that is recorded."""
        ready = lift_quarantine(pipeline_of(self._known, pipeline), version, reason)
        report = _of(ready, QuarantineReport)
        return ReadyQuarantine(report, lambda: self._record(ready, QuarantineReport), checked=False)

    def deployed(
        self, pipeline: str, target: str, version: str, at: Instant | None, *, good: bool, why: str
    ) -> DeploymentReport:
        """Record a deployment."""
        one = pipeline_of(self._known, pipeline)
        ready = report_deployment(self._known, one, target, version, at, good=good, why=why)
        return self._record(ready, DeploymentReport)

    def evidence(
        self, pipeline: str, version: str, name: str, *, good: bool, reason: str
    ) -> EvidenceReport:
        """Record a result of a version."""
        one = pipeline_of(self._known, pipeline)
        ready = report_evidence(one, version, name, good=good, reason=reason)
        return self._record(ready, EvidenceReport)

    def _record(self, ready: ReportedFact, kind: type[D]) -> D:
        record_report(self._known, ready, actor())
        return _of(ready, kind)


class ServicePipelines:
    """Pipelines of a service, by its API."""

    def __init__(self, client: "ServiceClient") -> None:
        self._client = client

    def suspects(self, version: str, pipeline: str | None) -> SuspectList:
        """Commits and authors since the last good version."""
        return self._client.get(f"/suspects/{version}", {"pipeline": pipeline}, SuspectList)

    def prepare_lift(self, pipeline: str, version: str, reason: str) -> ReadyQuarantine:
        """What follows if a version may go on, and how that is recorded."""
        path, body = f"/lift-quarantine/{pipeline}", {"version": version, "reason": reason}
        seen = self._client.dry_run(path, body, QuarantineReport)
        return ReadyQuarantine(
            seen.document,
            lambda: self._client.act(path, body, seen.tag, QuarantineReport),
            checked=True,
        )

    def deployed(
        self, pipeline: str, target: str, version: str, at: Instant | None, *, good: bool, why: str
    ) -> DeploymentReport:
        """Report a deployment."""
        body = {
            "target": target,
            "version": version,
            "good": good,
            "at": "" if at is None else format_instant(at),
            "reason": why,
        }
        return self._client.act(f"/deployed/{pipeline}", body, _ANY, DeploymentReport)

    def evidence(
        self, pipeline: str, version: str, name: str, *, good: bool, reason: str
    ) -> EvidenceReport:
        """Report a result of a version."""
        body = {"version": version, "evidence": name, "good": good, "reason": reason}
        return self._client.act(f"/evidence/{pipeline}", body, _ANY, EvidenceReport)


def _of(ready: ReportedFact, kind: type[D]) -> D:
    report = ready.report
    assert isinstance(report, kind), report
    return report
