"""From a round to the lines about it: one for every target whose decision changed.

A target that is not acted on has its gate, the reason not to act, the sentence and the moment.
"""

from collections.abc import Iterator
from typing import Any

from tidegate.explain.sentence import sentence
from tidegate.explain.table import first_shut
from tidegate.journal.facts import Mode
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.explain.table import headline
from tidegate.kinds.rollouts.core.journal.facts import Decided
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import Change, ChangeKind, Event
from tidegate.model.verdict import Verdict
from tidegate.telemetry.log import Record
from tidegate.telemetry.verdict_keys import why_not

_EVENTS = {
    Event.RESTARTED: "the rollout starts anew",
    Event.RETRIED: "what failed is tried again",
    Event.ABORTED: "the rollout failed and goes back",
    Event.SUPERSEDED: "a newer revision takes its place",
    Event.COMPLETED: "everybody has it",
}


def decision_records(
    rollout: str, decided: Decided, world: RolloutWorld, plan: RolloutPlan
) -> Iterator[Record]:
    """The lines of one round: what became true of the rollout, then target by target."""
    for event in decided.events:
        msg = f"{_EVENTS[event]}: {headline(world, plan)}"
        yield "info", msg, {"rollout": rollout, "what": event.value, "at": decided.now}
    names = [target.name for target in world.targets + world.departed]
    shut: dict[str, Verdict | None] = {}
    for option in plan.options:
        verdict, name = first_shut(option.verdicts), names[option.target]
        # Whoever is on the way back is not told once more that the way on is shut.
        if name not in shut or (verdict is not None and option.change.kind is ChangeKind.RETURN):
            shut[name] = verdict
    changes = {task.target: task.change for task in decided.tasks}
    for stand in decided.changed:
        keys: dict[str, Any] = {"rollout": rollout, "target": stand.target, "what": "decision"}
        keys["at"] = decided.now
        change = changes.get(stand.target)
        held = shut.get(stand.target)
        if change is not None:
            yield "info", _does(decided.mode, change), keys | {"action": change.kind.value}
        elif held is not None:
            yield "info", sentence(held), keys | why_not(held)


def _does(mode: Mode, change: Change) -> str:
    would = "would " if mode is Mode.OBSERVE else ""
    to = f" {change.revision}" if change.revision is not None else ""
    return f"{would}{change.kind.value}{to}"
