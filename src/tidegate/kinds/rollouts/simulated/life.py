"""Scenarios that go on: what happens in each happens again and again, while a worker rolls out.

A scenario for `simulate` is told to its end. Here its clusters live behind a worker; once its
`stopAfter` has passed, its events begin again, so that there is always something to watch.
"""

import asyncio
from collections.abc import Mapping

from tidegate.engine.started import Living
from tidegate.kinds.rollouts.simulated.port import SimulatedFleet
from tidegate.kinds.rollouts.start import SIMULATED, started
from tidegate.kinds.rollouts.wire.scenario_doc import Scenario, ScenarioEvent, ScenarioVerb
from tidegate.machine.clock import Clock
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.model.time import SECOND

# What the clusters and the authors of revisions do; the rest is for people at the page.
PLAYED = (ScenarioVerb.REVISION, ScenarioVerb.MEND, ScenarioVerb.JOIN, ScenarioVerb.LEAVE)


def living_scenarios(
    scenarios: Mapping[str, Scenario], clock: Clock, look_s: float, seed: int = 0
) -> Living:
    """Rollouts of scenarios, by name; UserError for events that only a person can do."""
    _check(scenarios)
    fleet = SimulatedFleet(clock, look_s=look_s)
    for name, scenario in scenarios.items():
        fleet.add(f"{SIMULATED}/{name}", scenario, seed)

    async def live() -> None:
        async with asyncio.TaskGroup() as group:
            for name, scenario in scenarios.items():
                group.create_task(_play(fleet, f"{SIMULATED}/{name}", scenario))

    return Living(started=started(fleet, (SIMULATED,)), live=live)


def _check(scenarios: Mapping[str, Scenario]) -> None:
    wrong = tuple(
        Problem(name, f"{event.verb.value} is left to people here", "do it on the page")
        for name, scenario in scenarios.items()
        for event in scenario.events
        if event.verb not in PLAYED
    )
    if wrong:
        raise UserError(wrong)


async def _play(fleet: SimulatedFleet, partition: str, scenario: Scenario) -> None:
    """Every event at its time, over and over."""
    while True:
        passed = 0
        for event in sorted(scenario.events, key=lambda each: each.after):
            await asyncio.sleep((event.after - passed) / SECOND)
            passed = event.after
            _take(fleet, partition, scenario, event)
            fleet.wake(partition)
        await asyncio.sleep((scenario.stop_after - passed) / SECOND)
        fleet.fleets[partition].relapse()
        fleet.declare(partition, scenario.revision)
        fleet.wake(partition)


def _take(fleet: SimulatedFleet, partition: str, scenario: Scenario, event: ScenarioEvent) -> None:
    clusters = fleet.fleets[partition]
    match event.verb:
        case ScenarioVerb.REVISION:
            fleet.declare(partition, event.names[0])
        case ScenarioVerb.MEND:
            for name in event.names:
                clusters.mend(name)
        case ScenarioVerb.JOIN:
            at = [group.name for group in scenario.groups].index(event.group)
            for name in event.names:
                clusters.join(name, at)
        case _:
            for name in event.names:
                if name in clusters.clusters:
                    clusters.leave(name)
