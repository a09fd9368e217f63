"""A plan in numbers: its targets by state, and those that wait by reason."""

from collections import Counter

from tidegate.explain.table import first_shut
from tidegate.explain.view import Counts, state_label
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.explain.table import state_word
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.target import State

# Targets in no group any more, which are to be removed.
LEAVING = "leaving"
# What targets are that some gate holds, or that start now.
_HELD = frozenset((State.WAITING, State.JOINED, State.HOLDING))


def count(world: RolloutWorld, plan: RolloutPlan) -> Counts:
    """Every target once by its state; every one that waits once by its reason."""
    states: Counter[str] = Counter()
    held: Counter[int] = Counter()
    verdicts = {id(option.verdicts): option.verdicts for option in plan.options}
    for i in range(len(world.targets)):
        states[state_label(state_word(world, plan, i))] += 1
        if plan.states[i] in _HELD:
            held[id(plan.options[i].verdicts)] += 1
    if world.departed:
        states[LEAVING] = len(world.departed)
    waits: Counter[tuple[str, str]] = Counter()
    starting = 0
    for known, number in held.items():
        shut = first_shut(verdicts[known])
        if shut is None:
            starting += number
        else:
            waits[shut.gate.value, shut.reason.value] += number
    return Counts(plan.summary.value, states, waits, starting)
