"""A promotion as rows: what every command and the API show of its plan."""

from tidegate.explain.view import Needs, OptionRow, PartitionView, RequestRow, TargetRow
from tidegate.gates.approval import missing_approvals
from tidegate.git.history import SHORT
from tidegate.kinds.promotions.core.decide import PromotionDecision
from tidegate.kinds.promotions.core.model import COMMIT
from tidegate.kinds.promotions.core.reasons import PromotionReason
from tidegate.kinds.promotions.core.world import PromotionWorld, RequestedVersion
from tidegate.model.plan import Option
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.reason import Outcome, Reason
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, all_pass

# The state of an environment by the first of these reasons that a verdict of it has.
_STATES: dict[Reason, str] = {
    PromotionReason.FollowsBranch: "Ignored",
    ProgressReason.Done: "Done",
    PromotionReason.OfferClosed: "Failed",
    PromotionReason.OfferUndone: "Failed",
    PromotionReason.OfferRefused: "Failed",
    PromotionReason.OfferOpen: "Updating",
    PromotionReason.OfferMerged: "Updating",
    PromotionReason.RunUnchecked: "Updating",
    PromotionReason.NotRunningYet: "Updating",
    ProgressReason.InFlight: "Updating",
    ProgressReason.InFlightSaying: "Updating",
}


def promotion_view(
    partition: str, world: PromotionWorld, decision: PromotionDecision, now: Instant
) -> PartitionView:
    """The rows of a promotion."""
    rows = tuple(_row(world, option) for option in decision.options)
    failed = tuple(each.name for each in rows if each.state == "Failed")
    requests = _requests(world, rows)
    unfit = tuple(
        each.ident for each in requests if each.shut is not None and each.shut.reason in _UNFIT
    )
    return PartitionView(
        partition=partition,
        summary=_summary(world, rows),
        now=now,
        revision=world.version[:SHORT],
        headline=_headline(world, rows),
        targets=rows,
        needs=Needs(
            approvals=missing_approvals(each.verdicts for each in decision.options),
            failures=failed,
            requests=unfit,
        ),
        requests=requests,
        recheck_at=decision.recheck_at,
        paused=world.paused,
        origin=world.promotion.where,
        version=world.version,
        gates=tuple(each.name for each in world.brakes.approvals),
        gate_versions=_gate_versions(decision, rows) if world.requests else None,
        breached=bool(failed),
    )


def _row(world: PromotionWorld, option: Option) -> TargetRow:
    environment = world.targets()[option.target]
    version = option.change.revision or ""
    new = version[:SHORT] if COMMIT.fullmatch(version) else version
    starts = all_pass(option.verdicts)
    # What starts has not begun: a worker that only observes begins nothing.
    state = "Waiting" if starts else state_of(option.verdicts)
    written = dict.fromkeys(each.value[:SHORT] for each in world.commits_in(environment.name))
    offer = world.offers.get(environment.name)
    waits = state in ("Waiting", "Failed")
    return TargetRow(
        name=environment.name,
        state=state,
        revision=environment.follows or ", ".join(written),
        next=new if state in ("Waiting", "Updating", "Failed") else "",
        version=version,
        since=None if offer is None else offer.changed_at or offer.offered_at,
        starts=starts,
        waits=waits,
        shut=_shut(state, option.verdicts),
        options=(OptionRow(f"offer {new}", option.verdicts, starts),),
    )


def _requests(world: PromotionWorld, rows: tuple[TargetRow, ...]) -> tuple[RequestRow, ...]:
    """What people requested, the oldest first."""
    by_name = {each.name: each for each in rows}
    found: dict[str, list[TargetRow]] = {}
    known: dict[str, RequestedVersion] = {}
    for name, request in world.requests.items():
        if name in by_name:
            known[request.ident] = request
            found.setdefault(request.ident, []).append(by_name[name])
    order = sorted(known.values(), key=lambda each: (each.at, each.ident))
    return tuple(_request(each, found[each.ident]) for each in order)


def _request(request: RequestedVersion, rows: list[TargetRow]) -> RequestRow:
    """One request: it is where the environment is that is furthest behind."""
    first = min(rows, key=lambda each: _URGENCY.index(each.state))
    option = first.options[0]
    return RequestRow(
        ident=request.ident,
        change=option.change,
        state=first.state,
        by=request.by,
        at=request.at,
        reason=request.reason,
        targets=tuple(each.name for each in rows),
        verdicts=option.verdicts,
        starts=all(each.starts or each.state == "Done" for each in rows) and first.starts,
        shut=first.shut,
    )


# The states of environments of a request, the one that says most about it first.
_URGENCY = ("Failed", "Waiting", "Updating", "Ignored", "Done")
# A request that is shut here needs a person; those of environments that failed are counted so.
_UNFIT = (
    PromotionReason.VersionUnknown,
    PromotionReason.Backward,
    PromotionReason.NotDescendant,
    PromotionReason.AncestryUnknown,
)


def _gate_versions(
    decision: PromotionDecision, rows: tuple[TargetRow, ...]
) -> dict[str, tuple[str, ...]]:
    """The versions that wait at each gate, where environments are to get different ones."""
    versions: dict[str, set[str]] = {}
    for option, row in zip(decision.options, rows, strict=True):
        for gate in missing_approvals([option.verdicts]) if row.waits else ():
            versions.setdefault(gate, set()).add(option.change.revision or "")
    return {gate: tuple(sorted(some)) for gate, some in versions.items()}


def _shut(state: str, verdicts: tuple[Verdict, ...]) -> Verdict | None:
    """What says why an environment gets nothing; None: it has the version, or gets it."""
    if state == "Ignored":
        return next(each for each in verdicts if each.reason is PromotionReason.FollowsBranch)
    if state == "Done":  # unless it is to stay there
        kept = (each for each in verdicts if each.reason is PromotionReason.VersionKept)
        return next(kept, None)
    return first_shut(verdicts)


def state_of(verdicts: tuple[Verdict, ...]) -> str:
    """The state of an environment that does not move now, in a word."""
    found = {each.reason for each in verdicts}
    return next((word for reason, word in _STATES.items() if reason in found), "Waiting")


def first_shut(verdicts: tuple[Verdict, ...]) -> Verdict | None:
    """The verdict that says most about why an environment waits: a stop before a wait."""
    for outcome in (Outcome.STOP, Outcome.WAIT):
        for each in verdicts:
            if each.outcome is outcome:
                return each
    return None


def _summary(world: PromotionWorld, rows: tuple[TargetRow, ...]) -> str:
    return "Aborted" if world.aborted else summary_of(rows, paused=world.paused)


def summary_of(rows: tuple[TargetRow, ...], *, paused: bool) -> str:
    """What is most urgent among the states of targets, in a word."""
    states = {each.state for each in rows}
    if paused:
        return "Paused"
    for state, word in (("Failed", "Failed"), ("Updating", "Progressing"), ("Waiting", "Waiting")):
        if state in states:
            return word
    return "Succeeded"


def _headline(world: PromotionWorld, rows: tuple[TargetRow, ...]) -> str:
    states = [each.state for each in rows]
    counts = [f"{states.count(word)} {word.lower()}" for word in dict.fromkeys(sorted(states))]
    stopped = ["Aborted"] if world.aborted else ["Paused"] if world.paused else []
    return " · ".join([*stopped, f"{world.promotion.name} {world.version[:SHORT]}", *counts])
