"""A rollout plan as tables of text: the groups, and one row a target."""

from tidegate.explain.sentence import sentence
from tidegate.explain.table import Row, first_shut
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import ChangeKind
from tidegate.model.target import State, Status, Target
from tidegate.model.time import Instant, format_age

_HUMAN = {
    State.WAITING: "Waiting",
    State.HOLDING: "Updating",  # to another revision
    State.IN_FLIGHT: "Updating",
    State.SOAKING: "Soaking",
    State.DONE: "Done",
    State.FAILED: "Failed",
    State.TIMED_OUT: "No answer",
    State.JOINED: "Joined later",
}

GROUP_HEAD: Row = (
    "GROUP", "INDEX", "STATUS", "WAITING", "UPDATING", "SOAKING", "DONE", "FAILED", "IGNORED",
)  # fmt: skip
TARGET_HEAD: Row = ("GROUP", "TARGET", "STATE", "SINCE", "UNTIL", "WHY")


def human_state(target: Target, state: State) -> str:
    """What a target is doing, in the words people use."""
    if target.ignored or target.status is Status.Skip:
        return "Ignored"
    if state is State.DONE and target.status is Status.NewCluster:
        return "Joined later"
    return _HUMAN[state]


def state_word(world: RolloutWorld, plan: RolloutPlan, position: int) -> str:
    """What one target of a plan is doing, in the words people use."""
    if position in plan.pinned:
        return "Pinned"
    return human_state(world.targets[position], plan.states[position])


def headline(world: RolloutWorld, plan: RolloutPlan) -> str:
    """The rollout on one line."""
    tallies = [report.tally for report in plan.groups]
    done, failed = sum(t.done for t in tallies), sum(t.failed for t in tallies)
    counted = sum(t.counted for t in tallies)
    parts = [plan.summary.value, world.strategy.type.value]
    if plan.course.revision is not None:
        parts.append(f"revision {plan.course.revision}")
    parts.append(f"{done} of {counted} done")
    if failed:
        parts.append(f"{failed} failed")
    if plan.started:
        parts.append(f"{len(plan.started)} start now")
    if plan.course.revision != world.revision and world.revision is not None:
        parts.append(f"{world.revision} waits its turn")
    return " · ".join(parts)


def group_rows(world: RolloutWorld, plan: RolloutPlan) -> list[Row]:
    """One row a group."""
    rows: list[Row] = []
    for report in plan.groups:
        group, tally = world.groups[report.group], report.tally
        counts = (tally.waiting, tally.in_flight, tally.soaking, tally.done)
        numbers = (*counts, tally.failed, tally.ignored)
        rows.append(
            (group.label, str(group.index), report.status.value, *(str(n) for n in numbers))
        )
    return rows


def target_rows(world: RolloutWorld, plan: RolloutPlan, now: Instant) -> list[Row]:
    """One row a target: the first gate that is shut says why, in full."""
    starting = set(plan.started)
    back = {o.target: o for o in plan.options if o.change.kind is ChangeKind.RETURN}
    rows: list[Row] = []
    for group in world.groups:
        for i in range(group.first, group.last):
            target, option = world.targets[i], plan.options[i]
            shut = first_shut(option.verdicts)
            why = "starts now" if i in starting else sentence(shut) if shut else ""
            if i in back:
                gate = first_shut(back[i].verdicts)
                goes = f"returns to {back[i].change.revision} now"
                why = f"{why}; {sentence(gate) if gate else goes}"
            since = format_age(now - target.since) if target.since is not None else ""
            until = format_age(shut.until - now) if shut and shut.until is not None else ""
            state = state_word(world, plan, i)
            rows.append((group.label, target.name, state, since, until, why))
    return rows
