"""Rollouts, started from settings: scenarios in this process, or a fleet at an address."""

from pathlib import Path

from tidegate.documents.files import located, read_document
from tidegate.engine.started import Started, nothing
from tidegate.kinds.rollouts.fleet import ClosableFleet, Fleet
from tidegate.kinds.rollouts.kind import RolloutKind
from tidegate.kinds.rollouts.simulated.port import SimulatedFleet
from tidegate.kinds.rollouts.telemetry.observer import RolloutTelemetry
from tidegate.kinds.rollouts.wire.scenario_doc import Scenario, read_scenario
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.settings.settings import Settings

BUNDLE = "bundle"
"""The fleet that integrations start."""
SCENARIOS, SIMULATED = "scenarios", "simulated"


def start(settings: Settings, seed: int) -> Started | None:
    """The rollouts of the fleet that is set; None: it is a bundle."""
    if settings.fleet == BUNDLE:
        return None
    simulated = settings.fleet == SCENARIOS
    return started(fleet_of(settings, seed), (SIMULATED,) if simulated else None)


def started(fleet: Fleet, words: tuple[str, ...] | None) -> Started:
    """Rollouts on a fleet; the first words of their names, where these are known."""
    close = fleet.close if isinstance(fleet, ClosableFleet) else nothing
    return Started(RolloutKind(fleet), RolloutTelemetry(), close, words)


def fleet_of(settings: Settings, seed: int) -> Fleet:
    """The fleet at the address that is set, or of the scenarios in this process."""
    from tidegate import wiring
    from tidegate.wiring import outside

    if settings.fleet.startswith(("http://", "https://")):
        return outside.remote_fleet(settings.fleet)
    if settings.fleet != SCENARIOS:
        remedy = "write bundle, scenarios, or http://127.0.0.1:8700"
        raise UserError((Problem("--fleet", f'"{settings.fleet}" is not an address', remedy),))
    fleet = SimulatedFleet(wiring.clock())
    for file in settings.scenarios:
        fleet.add(f"{SIMULATED}/{Path(file).stem}", read_scenario_file(file), seed)
    return fleet


def read_scenario_file(file: str) -> Scenario:
    """The scenario in a file; UserError says where it is wrong."""
    document = read_document(file)
    try:
        return read_scenario(document.data)
    except UserError as error:
        raise located(document, error) from None
