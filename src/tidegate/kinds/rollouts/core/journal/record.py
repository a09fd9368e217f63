"""From a plan to its record: tasks with keys, verdicts that changed, and a digest.

A key names the decision a task comes from, so that the same task of the same decision has the same
key, whichever worker carries it out and however often it is tried.
"""

from collections.abc import Iterable
from hashlib import blake2b

from tidegate.gates.ask import Purpose
from tidegate.journal.facts import Bound, Mode
from tidegate.journal.keys import task_key
from tidegate.journal.verdict_marks import VerdictMark, marks_of
from tidegate.kinds.rollouts.core.brakes import PURPOSES
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.journal.facts import Decided, RolloutTask, TargetStanding
from tidegate.kinds.rollouts.core.journal.state import RolloutState
from tidegate.kinds.rollouts.core.remember import forgotten, remember
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import Action, ChangeKind
from tidegate.model.time import Instant

Verdicts = tuple[VerdictMark, ...]


def record_plan(
    partition: str,
    seq: int,
    state: RolloutState,
    world: RolloutWorld,
    plan: RolloutPlan,
    now: Instant,
    mode: Mode,
) -> Decided:
    """What is recorded of a plan, as entry number `seq` of its partition."""
    stands = list(stands_of(world, plan))
    changed = tuple(
        stand
        for stand in stands
        if (known := state.stands.get(stand.target)) is None or known.verdicts != stand.verdicts
    )
    tasks = tuple(_task(partition, seq, plan, action) for action in plan.actions)
    acting = mode is Mode.ACT
    return Decided(
        now=now,
        mode=mode,
        summary=plan.summary,
        tasks=tasks,
        changed=changed,
        events=plan.events,
        # What only would have been done has not become true of the rollout.
        rollout=remember(world, plan, f"r{seq}") if acting else world.rollout,
        forgotten=tuple(world.targets[i].name for i in forgotten(world, plan)) if acting else (),
        recheck_at=plan.recheck_at,
        digest=digest(stands, tasks),
    )


def bound(state: RolloutState, world: RolloutWorld) -> Bound | None:
    """The brakes of a decision, where they are not those of the one before; else None."""
    return None if world.brakes == state.brakes else Bound(brakes=world.brakes)


def _task(partition: str, seq: int, plan: RolloutPlan, action: Action) -> RolloutTask:
    purpose = _PURPOSES.get(action.change.kind, PURPOSES[plan.course.mode])
    key = task_key(partition, str(seq), action.target)
    return RolloutTask(key, action.target, action.change, purpose)


_PURPOSES = {ChangeKind.RETURN: Purpose.RETURN, ChangeKind.REMOVE: Purpose.REMOVE}


def stands_of(world: RolloutWorld, plan: RolloutPlan) -> Iterable[TargetStanding]:
    """The verdicts of every target, over all its options."""
    known: dict[int, Verdicts] = {}
    names = [target.name for target in world.targets + world.departed]
    by_target: dict[int, Verdicts] = {}
    for option in plan.options:
        verdicts, i = option.verdicts, option.target
        marks = known.get(id(verdicts))
        if marks is None:
            marks = known[id(verdicts)] = marks_of(verdicts)
        before = by_target.get(i)
        by_target[i] = marks if before is None else before + marks
    return [TargetStanding(names[i], marks) for i, marks in by_target.items()]


def digest(stands: Iterable[TargetStanding], tasks: Iterable[RolloutTask]) -> str:
    """One number for a whole plan: two plans that decide and explain the same have the same."""
    texts: dict[int, str] = {}  # what many share is written out once
    said: list[str] = []
    for stand in stands:
        verdicts = stand.verdicts
        text = texts.get(id(verdicts))
        if text is None:
            text = texts[id(verdicts)] = repr(verdicts)
        said.append(stand.target)
        said.append(text)
    said += [f"{one.target}|{one.change.kind.value}|{one.change.revision}" for one in tasks]
    return blake2b("\n".join(said).encode(), digest_size=16).hexdigest()
