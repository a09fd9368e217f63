"""What callers report of pipelines and lift, over HTTP: the webhook of deployments is here.

A report is about what happened elsewhere: its caller sends `If-Match: *`, and an `Idempotency-Key`
so that a repeated delivery is recorded once.
"""

from tidegate.access.roles import Right, Role, refusal
from tidegate.api.change_requests import requested
from tidegate.api.problem import bad_request, forbidden
from tidegate.api.route import ActRoute, PreparedAct, RouteAct, RouteBody
from tidegate.app.access.callers import targets_of
from tidegate.app.change_requests import ChangeRequestReport
from tidegate.app.partitions.decision import Decision
from tidegate.kinds.promotions.app.pipelines.reports import (
    DeploymentReport,
    EvidenceReport,
    QuarantineReport,
    ReportedFact,
    lift_quarantine,
    pipeline_of,
    report_deployment,
    report_evidence,
)
from tidegate.kinds.promotions.app.version_request import WantedVersion, prepare_version
from tidegate.model.time import Instant, parse_instant

# The right that a role has and lesser roles have not.
_HIGHEST = {
    Role.APPROVER: Right.APPROVE,
    Role.OPERATOR: Right.OPERATE,
    Role.ADMIN: Right.ADMINISTER,
}


class DeployedBody(RouteBody, frozen=True, kw_only=True):
    """A deployment: of which target, with which version, and how it went."""

    # SAAS:TEMPLATE:TARGET:CLUSTER:NAMESPACE, or its id in the existing manager's state.
    target: str
    version: str
    good: bool
    # RFC 3339; empty: now.
    at: str = ""
    # What went wrong; a program that reports a success has nothing to add.
    reason: str = ""


class EvidenceBody(RouteBody, frozen=True, kw_only=True):
    """A result of a version, under a name that the pipeline asks for."""

    version: str
    evidence: str
    good: bool
    # What was seen.
    reason: str = ""


class QuarantineBody(RouteBody, frozen=True):
    """A version that failed and may go on."""

    version: str


class PromoteBody(RouteBody, frozen=True, kw_only=True):
    """A version for environments."""

    # The environments; none: every one that the caller sees and that follows no branch.
    to: tuple[str, ...] = ()
    # A commit, a branch or a tag of the artifact; empty: the newest version.
    ref: str = ""
    # Whether an older version, or one on another branch, is allowed.
    allow_backward: bool = False


def promote(act: RouteAct[PromoteBody]) -> PreparedAct:
    """Request a version for environments: the worker offers it where every gate is open."""
    body = act.body
    wanted = WantedVersion(
        to=body.to, ref=body.ref, backward=body.allow_backward, reason=body.reason
    )
    made = prepare_version(act.journals, act.name, wanted, act.caller.actor)
    return requested(act, made.one, made.fact, made.report, made.fact.environments)


def deployed(act: RouteAct[DeployedBody]) -> PreparedAct:
    """Report that a target of a pipeline was deployed, well or not."""
    one, body = _whole(act), act.body
    at = _moment(body.at) if body.at else None
    why = "" if body.good else body.reason
    reported = report_deployment(
        act.journals, one, body.target, body.version, at, good=body.good, why=why
    )
    return _prepared(one, reported)


def evidence(act: RouteAct[EvidenceBody]) -> PreparedAct:
    """Report a result of a version, under a name that a pipeline asks for."""
    one, body = _whole(act), act.body
    return _prepared(
        one,
        report_evidence(one, body.version, body.evidence, good=body.good, reason=body.reason),
    )


def lift_version(act: RouteAct[QuarantineBody]) -> PreparedAct:
    """Lift the quarantine of a version; the pipeline says which role may."""
    one, body = _whole(act), act.body
    reported = lift_quarantine(one, body.version, body.reason)
    assert isinstance(reported.report, QuarantineReport)
    right = _HIGHEST[Role(reported.report.role)]
    if why := refusal(act.caller, right, targets_of(one), "lift-quarantine"):
        raise forbidden(why)
    return _prepared(one, reported)


def _whole(act: RouteAct[RouteBody]) -> Decision:
    """All of a pipeline that the caller sees something of; NotFoundError if it sees nothing."""
    seen = pipeline_of(act.journals, act.name)
    return act.every.read(seen.partition) or seen


def _moment(text: str) -> Instant:
    try:
        return parse_instant(text)
    except ValueError as error:
        raise bad_request(f"at: {error}") from None


def _prepared(one: Decision, reported: ReportedFact) -> PreparedAct:
    return PreparedAct(
        partition=reported.partition,
        facts=(reported.fact,),
        reach=reported.report,
        answer=reported.report,
        rows=one.rows,
        reached=tuple(targets_of(one)),
    )


PROMOTION_ACTS: tuple[ActRoute, ...] = (
    ActRoute("/promote/{name}", promote, (ChangeRequestReport,), Right.OPERATE),
    ActRoute("/deployed/{name}", deployed, (DeploymentReport,), Right.OPERATE),
    ActRoute("/evidence/{name}", evidence, (EvidenceReport,), Right.OPERATE),
    ActRoute("/lift-quarantine/{name}", lift_version, (QuarantineReport,), Right.APPROVE),
)
