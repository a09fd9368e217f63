"""A rollout as rows: what every command and the API show of its plan."""

from collections.abc import Collection

from tidegate.explain.table import first_shut
from tidegate.explain.view import GroupRow, Needs, OptionRow, PartitionView, TargetRow
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.explain.table import headline, state_word
from tidegate.kinds.rollouts.core.summary import GroupReport, Summary
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import ChangeKind, Option
from tidegate.model.reason import Gate, Outcome
from tidegate.model.target import State
from tidegate.model.time import Instant
from tidegate.model.verdict import all_pass

_FAILED = (State.FAILED, State.TIMED_OUT)
_WAITING = (State.WAITING, State.HOLDING)
_OVER = (Summary.FAILED, Summary.ABORTED)


def rollout_view(
    partition: str,
    world: RolloutWorld,
    plan: RolloutPlan,
    now: Instant,
    origin: str = "",
    failed: Collection[str] = (),
) -> PartitionView:
    """The rows of a rollout; `failed`: targets that failed with this revision, returned or not."""
    return PartitionView(
        partition=partition,
        summary=plan.summary.value,
        now=now,
        revision=plan.course.revision or "",
        headline=headline(world, plan),
        targets=tuple(_targets(world, plan, failed)),
        unplaced=tuple(_unplaced(world, plan)),
        groups=tuple(_group(world, report) for report in plan.groups),
        needs=needs(partition, plan),
        recheck_at=plan.recheck_at,
        paused=world.rollout.paused,
        origin=origin,
        version=plan.course.version,
        gates=tuple(each.name for each in world.brakes.approvals) if world.brakes else (),
        claims=plan.claims,
        breached=plan.breached,
        more={
            "strategy": world.strategy.type.value,
            "lastGood": world.rollout.last_good or "",
        },
    )


def needs(partition: str, plan: RolloutPlan) -> Needs:
    """Approvals to give, in the order of groups, and a failure to look at."""
    said = {id(option.verdicts): option.verdicts for option in plan.options}
    approvals = dict.fromkeys(
        str(verdict.facts[0])
        for verdicts in said.values()
        for verdict in verdicts
        if verdict.gate is Gate.APPROVAL and verdict.outcome is not Outcome.PASS
    )
    failures = (partition,) if plan.summary in _OVER else ()
    return Needs(approvals=tuple(approvals), failures=failures)


def _targets(world: RolloutWorld, plan: RolloutPlan, failed: Collection[str]) -> list[TargetRow]:
    known: dict[int, OptionRow] = {}
    ways: dict[int, list[OptionRow]] = {}
    for option in plan.options[len(world.targets) :]:
        ways.setdefault(option.target, []).append(_option(option))
    started = set(plan.started)
    rows: list[TargetRow] = []
    for group in world.groups:
        for i in range(group.first, group.last):
            target, option = world.targets[i], plan.options[i]
            row = known.get(id(option.verdicts))
            if row is None:
                row = known[id(option.verdicts)] = _option(option)
            rows.append(
                TargetRow(
                    name=target.name,
                    state=state_word(world, plan, i),
                    group=group.label,
                    revision=target.revision or "",
                    next=plan.course.revision or "",
                    status=target.status.name,
                    since=target.since,
                    starts=i in started,
                    returned=target.name in failed and plan.states[i] not in _FAILED,
                    waits=plan.states[i] in _WAITING,
                    shut=first_shut(option.verdicts),
                    options=(row, *ways.get(i, ())),
                )
            )
    return rows


def _unplaced(world: RolloutWorld, plan: RolloutPlan) -> list[TargetRow]:
    """Targets in no group, and whether they may be removed."""
    first = len(world.targets)
    return [
        TargetRow(
            name=world.departed[option.target - first].name,
            state="in no group",
            shut=first_shut(option.verdicts),
            options=(_option(option),),
        )
        for option in plan.options
        if option.change.kind is ChangeKind.REMOVE
    ]


def _option(option: Option) -> OptionRow:
    change = option.change
    word = "" if change.kind is ChangeKind.APPLY else f"{change.kind.value} "
    return OptionRow(
        change=f"{word}{change.revision or ''}".strip(),
        verdicts=option.verdicts,
        starts=all_pass(option.verdicts),
    )


def _group(world: RolloutWorld, report: GroupReport) -> GroupRow:
    group, tally = world.groups[report.group], report.tally
    return GroupRow(
        name=group.label,
        index=group.index,
        key=group.key,
        size=group.size,
        status=report.status.value,
        waiting=tally.waiting,
        updating=tally.in_flight,
        soaking=tally.soaking,
        done=tally.done,
        failed=tally.failed,
        ignored=tally.ignored,
    )
