"""Deciding again what was decided before, with today's rules: equal, or the first difference."""

from collections.abc import Iterable, Iterator

from tidegate.journal.chain import JournalEntry
from tidegate.journal.facts import Folded
from tidegate.journal.replay import DecisionDifference, Replayed
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.explain.tree import find_target, target_tree
from tidegate.kinds.rollouts.core.journal.facts import Decided, TargetStanding
from tidegate.kinds.rollouts.core.journal.record import digest, stands_of
from tidegate.kinds.rollouts.core.journal.state import RolloutState, fold, world_of
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import Change, ChangeKind


def replay(
    entries: Iterable[JournalEntry], state: RolloutState | None = None
) -> Iterator[Replayed]:
    """Take every recorded decision again, in order."""
    known = state is not None
    state = state if state is not None else RolloutState()
    for entry in entries:
        fact = entry.fact()
        if entry.seq > 1 and not known and not isinstance(fact, Folded):
            continue  # what came before was dropped: there is no state to decide on yet
        known = True
        if not isinstance(fact, Decided):
            state = fold(state, entry.at, fact, entry.actor)
            continue
        world = world_of(state, state.brakes)
        before = dict(state.stands)
        state = fold(state, entry.at, fact, entry.actor)
        if world is None:
            continue
        plan = decide(world, fact.now)
        difference = _difference(before, state, world, plan, fact)
        yield Replayed(entry.seq, len(world.targets), difference)


def _difference(
    before: dict[str, TargetStanding],
    state: RolloutState,
    world: RolloutWorld,
    plan: RolloutPlan,
    fact: Decided,
) -> DecisionDifference | None:
    stands = list(stands_of(world, plan))
    changes = {(action.target, action.change) for action in plan.actions}
    if digest(stands, fact.tasks) == fact.digest and changes == {
        (task.target, task.change) for task in fact.tasks
    }:
        return None
    for stand in stands:
        known = state.stands.get(stand.target) or before.get(stand.target)
        if known is None or known.verdicts != stand.verdicts:
            then = tuple(_line(mark) for mark in known.verdicts) if known else ("not known",)
            position = find_target(world, stand.target)
            tree = target_tree(world, plan, position, fact.now) if position is not None else []
            return DecisionDifference(stand.target, then, tuple(tree))
    return _odd_task(fact, changes)


def _odd_task(fact: Decided, changes: set[tuple[str, Change]]) -> DecisionDifference:
    """The verdicts are equal, but something else is done: name the first such task."""
    then = {(task.target, task.change) for task in fact.tasks}
    odd = sorted({str(target) for target, _ in then ^ changes})
    name = odd[0] if odd else "the rollout"
    was = any(target == name for target, _ in then)
    word = {True: f"{ChangeKind.APPLY.value} or return", False: "nothing"}
    return DecisionDifference(name, (word[was],), (word[not was],))


def _line(mark: tuple[str, str, str, object]) -> str:
    gate, outcome, reason, _ = mark
    return f"{outcome} {gate} {reason}"
