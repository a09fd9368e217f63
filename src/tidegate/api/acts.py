"""The acts that every kind takes, by path: each is prepared, which says what it reaches."""

from collections.abc import Callable, Collection

from msgspec import field
from msgspec.structs import replace

from tidegate.access.four_eyes import GivenApproval
from tidegate.access.roles import Reached, Right
from tidegate.api.problem import bad_request
from tidegate.api.route import ActRoute, PreparedAct, RouteAct, RouteBody
from tidegate.app.access.callers import given_approval, targets_of
from tidegate.app.asks import AskReport, OperatorRequest, prepare
from tidegate.app.brakes.brake_list import brake_items
from tidegate.app.brakes.change import (
    BrakeReport,
    ExemptionReport,
    LiftReport,
    exemption,
    lift_facts,
    lift_report,
)
from tidegate.app.brakes.claims import ClaimRelease, claims_of, free_fact
from tidegate.app.brakes.preparation import prepare_brake
from tidegate.app.brakes.reach import BrakeReach
from tidegate.app.brakes.release import BrakeRelease, lift_release, release
from tidegate.app.brakes.request import (
    BrakeRequest,
    BrakeWord,
    CheckedBrake,
    FreezeException,
    FreezeTimes,
)
from tidegate.app.brakes.scope import BrakeScope
from tidegate.app.brakes.sight import (
    check_claim_seen,
    check_new,
    check_seen,
    check_unused,
    claimants,
)
from tidegate.app.partitions.decision import Decision
from tidegate.app.partitions.journals import Journals
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.facts import Verb
from tidegate.model.time import Instant, format_instant, parse_ahead


class AnswerBody(RouteBody, frozen=True):
    """What an answer is for."""

    groups: tuple[str, ...] = ()
    # Approval gates.
    gates: tuple[str, ...] = ()
    # At a gate: which version, if several wait.
    version: str = ""


class ApproveBody(AnswerBody, frozen=True):
    """An approval."""

    # For every revision to come, not only this one.
    standing: bool = False
    # Of an answer at a gate: 2h, 3d, or a time.
    expires: str = ""


class RetryBody(RouteBody, frozen=True):
    """What is tried again."""

    # Only the targets that failed or gave no answer.
    failed: bool = False
    # Only these groups; none: all of them.
    groups: tuple[str, ...] = ()


class BrakeBody(RouteBody, frozen=True):
    """A brake: what it covers, and until when."""

    scope: BrakeScope
    # The person who answers for it; without one, the caller.
    owner: str = ""
    expires: str = ""
    # Whether one of the same name may be replaced.
    replace: bool = False


class FreezeBody(BrakeBody, frozen=True):
    """A freeze: also when."""

    times: FreezeTimes = field(default_factory=FreezeTimes)


class BlockBody(BrakeBody, frozen=True):
    """A block: also which revision; * and ? match any text. Without one, its name."""

    revision: str = ""


class ExemptBody(RouteBody, frozen=True):
    """Targets that a freeze does not cover, for a time."""

    scope: BrakeScope
    until: str
    owner: str = ""
    # Only revisions like this.
    revision: str | None = None


class LiftBody(RouteBody, frozen=True):
    """What is lifted beside the one that is named."""

    # More of them: in one write, on what follows if all are lifted.
    also: tuple[str, ...] = ()


class FreeBody(RouteBody, frozen=True):
    """Places of a budget or mutex that are given back."""

    # Only the place that this target has.
    target: str = ""
    # Even if a rollout still uses one.
    force: bool = False


def approve(act: RouteAct[ApproveBody]) -> PreparedAct:
    """Approve groups, or answer at an approval gate, for the current revision."""
    body = act.body
    return _asked(
        act,
        replace(
            _answer(Verb.APPROVE, body),
            standing=body.standing,
            expires_at=_ahead("expires", body.expires, act.journals.now),
        ),
    )


def reject(act: RouteAct[AnswerBody]) -> PreparedAct:
    """Reject the current revision: one rejection at a gate stops it, regardless of approvals."""
    return _asked(act, _answer(Verb.REJECT, act.body))


def revoke(act: RouteAct[AnswerBody]) -> PreparedAct:
    """Withdraw the caller's approvals: nothing new starts, targets in progress finish."""
    return _asked(act, _answer(Verb.REVOKE, act.body))


def pause(act: RouteAct[RouteBody]) -> PreparedAct:
    """Start no more targets of a rollout until it is resumed; targets in progress finish."""
    return _asked(act, OperatorRequest(verb=Verb.PAUSE, reason=act.body.reason))


def resume(act: RouteAct[RouteBody]) -> PreparedAct:
    """Continue a paused rollout."""
    return _asked(act, OperatorRequest(verb=Verb.RESUME, reason=act.body.reason))


def abort(act: RouteAct[RouteBody]) -> PreparedAct:
    """End a rollout; with `onFailure: rollback`, changed targets return."""
    return _asked(act, OperatorRequest(verb=Verb.ABORT, reason=act.body.reason))


def retry(act: RouteAct[RetryBody]) -> PreparedAct:
    """Retry a rollout, some groups of it, or what failed."""
    body = act.body
    verb = Verb.RETRY_FAILED if body.failed else Verb.RETRY
    return _asked(act, OperatorRequest(verb=verb, groups=body.groups, reason=body.reason))


def hold(act: RouteAct[BrakeBody]) -> PreparedAct:
    """Start nothing in its scope from now on, until it is lifted."""
    return _braked(act, brake_request(act, "hold"))


def freeze(act: RouteAct[FreezeBody]) -> PreparedAct:
    """Start nothing in its scope at these times."""
    return _braked(act, brake_request(act, "freeze", times=act.body.times))


def block(act: RouteAct[BlockBody]) -> PreparedAct:
    """Keep a revision from starting, anywhere or in a scope."""
    return _braked(act, brake_request(act, "block", revision=act.body.revision or act.name))


def pin(act: RouteAct[BrakeBody]) -> PreparedAct:
    """Keep targets on the revision they run."""
    return _braked(act, brake_request(act, "pin"))


def exempt(act: RouteAct[ExemptBody]) -> PreparedAct:
    """Exempt targets from a freeze, for a time."""
    body, journals = act.body, act.every
    until = _ahead("until", body.until, journals.now)
    if until is None:
        raise bad_request("is empty; write until when, like 2h", "until")
    check_seen(act.journals, "freeze", (act.name,))
    exception = FreezeException(
        scope=body.scope,
        owner=body.owner or _name(act),
        reason=body.reason,
        expires=format_instant(until),
        revision=body.revision,
    )
    fact = exemption(journals, act.name, exception)
    reach = release(journals, "freeze", (act.name,), (fact,), act.caller.actor)
    return PreparedAct(
        partition=BRAKES,
        facts=(fact,),
        reach=reach,
        answer=ExemptionReport(freeze=act.name, exception=exception),
        rows=_release_rows(reach),
        reached=None,
    )


def free(act: RouteAct[FreeBody]) -> PreparedAct:
    """Give back places of a budget or mutex whose rollout is gone."""
    body, journals = act.body, act.every
    check_claim_seen(act.journals, act.name, body.target)
    freed = claims_of(journals, act.name, body.target or None)
    check_unused(act.journals, freed, force=body.force)
    return PreparedAct(
        partition=BRAKES,
        facts=(free_fact(freed, body.reason),),
        reach=freed,
        answer=freed,
        rows={each.key: f"{each.rollout} {each.target}" for each in freed.items},
        reached=claimants(journals, freed),
        places=freed.keys,
    )


def lifter(brake: BrakeWord) -> Callable[[RouteAct[LiftBody]], PreparedAct]:
    def lift(act: RouteAct[LiftBody]) -> PreparedAct:
        names, journals = tuple(dict.fromkeys((act.name, *act.body.also))), act.every
        check_seen(act.journals, brake, names)
        reach = lift_release(journals, brake, names, act.caller.actor)
        return PreparedAct(
            partition=BRAKES,
            facts=lift_facts(brake, names, act.body.reason),
            reach=reach,
            answer=lift_report(journals, brake, names, act.body.reason),
            rows=_release_rows(reach),
            reached=_lifted(journals, brake, names),
        )

    lift.__doc__ = f"Lift a {brake}."
    return lift


def _answer(verb: Verb, body: AnswerBody) -> OperatorRequest:
    return OperatorRequest(
        verb=verb,
        groups=body.groups,
        gates=body.gates,
        version=body.version,
        reason=body.reason,
    )


_ANSWERS = (Verb.APPROVE, Verb.REJECT, Verb.REVOKE)


def _asked(act: RouteAct[RouteBody], asked: OperatorRequest) -> PreparedAct:
    prepared = prepare(act.journals, act.name, asked, act.caller.actor)
    # It is done to all that is there, and shown as far as the caller sees it.
    one, whole = (each.read(prepared.partition) for each in (act.journals, act.every))
    assert one is not None, prepared.partition  # it was found a moment ago
    assert whole is not None, prepared.partition
    # A retry of one group opens a rollout again that was aborted, and so reaches all of it.
    groups = asked.groups if asked.verb in _ANSWERS else ()
    return PreparedAct(
        partition=prepared.partition,
        facts=(prepared.fact,),
        reach=prepared.report,
        answer=prepared.report,
        rows=one.rows,
        reached=tuple(targets_of(whole, groups)),
        approval=_approval(whole, asked, prepared.fact.version),
    )


def _approval(one: Decision, asked: OperatorRequest, version: str | None) -> GivenApproval | None:
    """What four eyes are about; None: it is no approval."""
    if asked.verb is not Verb.APPROVE:
        return None
    return given_approval(one, version, asked.gates)


def brake_request(
    act: RouteAct[BrakeBody],
    brake: BrakeWord,
    *,
    times: FreezeTimes | None = None,
    revision: str | None = None,
    version: str | None = None,
) -> BrakeRequest:
    """The brake that a body describes."""
    body = act.body
    check_new(act.journals, brake, act.name)
    return BrakeRequest(
        brake=brake,
        name=act.name,
        scope=body.scope,
        owner=body.owner or _name(act),
        reason=body.reason,
        expires_at=_ahead("expires", body.expires, act.journals.now),
        replace=body.replace,
        times=times,
        revision=revision,
        version=version,
    )


def _braked(act: RouteAct[BrakeBody], request: BrakeRequest) -> PreparedAct:
    journals = act.every
    made = prepare_brake(journals, request, act.caller.actor)
    checked, reach = made.checked, made.reach
    return PreparedAct(
        partition=BRAKES,
        facts=(checked.fact(),),
        reach=reach,
        answer=made.report,
        rows={each.partition: f"{each.targets} targets" for each in reach.rollouts},
        reached=set_on(journals, request, checked, act.journals),
        frees=checked.replaces is not None,
    )


def set_on(
    journals: Journals, request: BrakeRequest, checked: CheckedBrake, seen: Journals
) -> tuple[Reached, ...] | None:
    """What a brake is set on; one that replaces another may let go of everything.

    `seen`: what its caller sees. A name that is hidden there is refused as one that is not there.
    """
    if named_targets(seen, request.scope.targets) is None:
        return None
    return None if checked.replaces is not None else named_targets(journals, request.scope.targets)


def _lifted(
    journals: Journals, brake: BrakeWord, names: Collection[str]
) -> tuple[Reached, ...] | None:
    """What brakes are on; None where one may cover more tomorrow, whatever it covers today."""
    scopes = (each.scope for each in brake_items(journals, brake) if each.name in names)
    named = [each.targets if isinstance(each, BrakeScope) else () for each in scopes]
    found = [named_targets(journals, each) for each in named]
    return tuple(row for each in found for row in each or ()) if found and all(found) else None


def named_targets(journals: Journals, names: Collection[str]) -> tuple[Reached, ...] | None:
    """Every target of these names; None where all that is reached is not known today.

    That is so where none is named, as by a selector, and where one is named that is not there.
    """
    found = (one for one in journals.all() if not one.names.isdisjoint(names))
    every = [row for one in found for row in targets_of(one) if row.target in names]
    known = {row.target for row in every}
    return tuple(every) if names and known.issuperset(names) else None


def _release_rows(reach: BrakeRelease) -> dict[str, str]:
    return {
        each.partition: f"{each.waiting} waiting, {each.leads_to.moved} start or return"
        for each in reach.rollouts
    }


def _ahead(name: str, text: str, now: Instant) -> Instant | None:
    try:
        return parse_ahead(text, now) if text else None
    except ValueError as error:
        raise bad_request(f'"{text}" {error}', name) from None


def _name(act: RouteAct[RouteBody]) -> str:
    return act.caller.actor.partition(":")[2]


ACTS: tuple[ActRoute, ...] = (
    ActRoute("/approve/{name}", approve, (AskReport,), Right.APPROVE),
    ActRoute("/reject/{name}", reject, (AskReport,), Right.APPROVE, stops=True),
    ActRoute("/revoke/{name}", revoke, (AskReport,), Right.APPROVE, stops=True),
    ActRoute("/pause/{name}", pause, (AskReport,), Right.OPERATE, stops=True),
    ActRoute("/resume/{name}", resume, (AskReport,), Right.OPERATE),
    ActRoute("/abort/{name}", abort, (AskReport,), Right.OPERATE),
    ActRoute("/retry/{name}", retry, (AskReport,), Right.OPERATE),
    ActRoute("/hold/{name}", hold, (BrakeReach, BrakeReport), Right.OPERATE, stops=True),
    ActRoute("/freeze/{name}", freeze, (BrakeReach, BrakeReport), Right.OPERATE, stops=True),
    ActRoute("/block/{name}", block, (BrakeReach, BrakeReport), Right.OPERATE, stops=True),
    ActRoute("/pin/{name}", pin, (BrakeReach, BrakeReport), Right.OPERATE, stops=True),
    ActRoute("/exempt/{name}", exempt, (BrakeRelease, ExemptionReport), Right.OPERATE),
    ActRoute("/lift-hold/{name}", lifter("hold"), (BrakeRelease, LiftReport), Right.OPERATE),
    ActRoute("/lift-freeze/{name}", lifter("freeze"), (BrakeRelease, LiftReport), Right.OPERATE),
    ActRoute("/lift-block/{name}", lifter("block"), (BrakeRelease, LiftReport), Right.OPERATE),
    ActRoute("/lift-pin/{name}", lifter("pin"), (BrakeRelease, LiftReport), Right.OPERATE),
    ActRoute("/free/{name}", free, (ClaimRelease,), Right.OPERATE),
)
