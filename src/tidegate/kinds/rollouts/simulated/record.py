"""A simulated rollout as data: every step, what started and what changed."""

from typing import Any

from tidegate.kinds.rollouts.core.explain.table import state_word
from tidegate.kinds.rollouts.simulated.run import SimulatedStep
from tidegate.kinds.rollouts.wire.scenario_doc import Scenario
from tidegate.model.plan import ChangeKind
from tidegate.model.time import format_instant


def record(scenario: Scenario, steps: list[SimulatedStep], seed: int) -> dict[str, Any]:
    """The whole run as one document."""
    last = steps[-1]
    return {
        "name": scenario.name,
        "seed": seed,
        "start": format_instant(scenario.start),
        "end": format_instant(last.at),
        "summary": last.plan.summary.value,
        "steps": [_step(step) for step in steps],
    }


def _step(step: SimulatedStep) -> dict[str, Any]:
    plan, world = step.plan, step.world
    acts: dict[str, list[str]] = {"start": [], "rollback": [], "removed": []}
    fields = {
        ChangeKind.APPLY: "start",
        ChangeKind.RETURN: "rollback",
        ChangeKind.REMOVE: "removed",
    }
    for action in plan.actions:
        acts[fields[action.change.kind]].append(action.target)
    return {
        "at": format_instant(step.at),
        "happened": [{"what": one.verb.value, "names": list(one.names)} for one in step.happened],
        **acts,
        "summary": plan.summary.value,
        "breached": plan.breached,
        "events": [event.value for event in plan.events],
        "groups": [
            {
                "name": world.groups[report.group].name,
                "status": report.status.value,
                "waiting": report.tally.waiting,
                "inFlight": report.tally.in_flight,
                "soaking": report.tally.soaking,
                "done": report.tally.done,
                "failed": report.tally.failed,
            }
            for report in plan.groups
        ],
        "targets": {
            target.name: state_word(world, plan, i) for i, target in enumerate(world.targets)
        },
    }
