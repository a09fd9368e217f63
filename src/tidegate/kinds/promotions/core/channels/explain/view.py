"""A pipeline as rows: what every command and the API show of its plan."""

from collections import Counter

from tidegate.explain.view import Needs, OptionRow, PartitionView, TargetRow
from tidegate.gates.approval import missing_approvals
from tidegate.kinds.promotions.core.channels.gates import short
from tidegate.kinds.promotions.core.channels.journal.state import PipelineKnown
from tidegate.kinds.promotions.core.channels.journal.world import trust_gate
from tidegate.kinds.promotions.core.channels.model import ChannelWorld
from tidegate.kinds.promotions.core.channels.plan import PipelinePlan, PipelineWorld
from tidegate.kinds.promotions.core.channels.reasons import ChannelReason
from tidegate.kinds.promotions.core.explain.view import first_shut, summary_of
from tidegate.kinds.promotions.core.requests.reasons import RequestReason
from tidegate.model.plan import Option
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.reason import Reason
from tidegate.model.time import Instant
from tidegate.model.verdict import all_pass

# The state of a subscriber by the first of these reasons that a verdict of it has.
_STATES: dict[Reason, str] = {
    ProgressReason.Done: "Done",
    RequestReason.CulpritFound: "Failed",
    ChannelReason.PromotionQuarantined: "Failed",
    RequestReason.RequestUnchecked: "Updating",
    RequestReason.RequestChecking: "Updating",
    RequestReason.RequestChecked: "Updating",
    RequestReason.RequestLeftToManager: "Updating",
    ProgressReason.InFlightSaying: "Updating",
}


def pipeline_view(
    partition: str, known: PipelineKnown, world: PipelineWorld, plan: PipelinePlan, now: Instant
) -> PartitionView:
    """The rows of a pipeline, one a subscriber."""
    channels = world.channels
    rows = tuple(_row(channels, known, option) for option in plan.options)
    waiting = Counter(o.change.revision for o, r in zip(plan.options, rows, strict=True) if r.waits)
    versions = [each for each, _ in waiting.most_common() if each is not None]
    failed = tuple(each.name for each in rows if each.state == "Failed")
    return PartitionView(
        partition=partition,
        summary=summary_of(rows, paused=channels.paused),
        now=now,
        revision=short(versions[0]) if versions else "",
        headline=_headline(world, rows),
        targets=rows,
        needs=Needs(
            approvals=_approvals(plan),
            failures=failed,
            mistakes=tuple(each.name for each in channels.subscribers if each.troubles),
        ),
        recheck_at=plan.recheck_at,
        paused=channels.paused,
        origin=world.reading.pipeline.where,
        version=versions[0] if versions else None,
        gates=(*(each.name for each in channels.brakes.approvals), *_trust(channels, versions)),
        breached=bool(failed),
        claims=plan.claims,
    )


def state_word(option: Option) -> str:
    """The state of a subscriber, in a word."""
    if all_pass(option.verdicts):  # it starts, and has not begun
        return "Waiting"
    found = {each.reason for each in option.verdicts}
    return next((word for reason, word in _STATES.items() if reason in found), "Waiting")


def _row(world: ChannelWorld, known: PipelineKnown, option: Option) -> TargetRow:
    target = world.subscribers[option.target]
    starts, state = all_pass(option.verdicts), state_word(option)
    version = option.change.revision
    next_ = "" if version is None or state == "Done" else short(version)
    move = known.moves.get(target.name)
    return TargetRow(
        name=target.name,
        state=state,
        revision=short(target.version),
        next=next_,
        since=None if move is None else move.at,
        starts=starts,
        waits=state in ("Waiting", "Failed"),
        shut=None if starts or state == "Done" else first_shut(option.verdicts),
        options=(OptionRow(f"promote {next_ or short(target.version)}", option.verdicts, starts),),
    )


def _headline(world: PipelineWorld, rows: tuple[TargetRow, ...]) -> str:
    states = [each.state for each in rows]
    counts = [f"{states.count(word)} {word.lower()}" for word in dict.fromkeys(sorted(states))]
    requests = world.requests.requests if world.requests is not None else ()
    open_ = [f"{len(requests)} open"] if requests else []
    stopped = ["Paused"] if world.channels.paused else []
    return " · ".join([*stopped, world.reading.pipeline.name, *counts, *open_])


def _approvals(plan: PipelinePlan) -> tuple[str, ...]:
    """Gates that ask for an approval of something that waits for it."""
    waiting = (each for each in plan.options if state_word(each) != "Done")
    return missing_approvals(each.verdicts for each in waiting)


def _trust(world: ChannelWorld, versions: list[str]) -> tuple[str, ...]:
    if world.went_well >= world.trusted_after:
        return ()
    return tuple(trust_gate(each) for each in versions)
