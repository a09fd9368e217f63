"""A rollout plan in words: one line for it, and what each target is doing."""

from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.target import State, Status, Target

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


def failed_words(plan: RolloutPlan, failed: int) -> str:
    """How many failed; of a rollout that succeeded, that so many were allowed to."""
    within = ", within budget" if plan.summary is Summary.SUCCEEDED else ""
    return f"{failed} failed{within}"


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
        parts.append(failed_words(plan, failed))
    if plan.started:
        parts.append(f"{len(plan.started)} start now")
    if plan.course.revision != world.revision and world.revision is not None:
        parts.append(f"{world.revision} waits its turn")
    return " · ".join(parts)
