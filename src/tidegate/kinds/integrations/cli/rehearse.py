"""A new image rehearsed on the bundle of a directory, for `simulate`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate import wiring

if TYPE_CHECKING:
    from tidegate.kinds.rollouts.simulated.run import SimulatedStep
    from tidegate.kinds.rollouts.wire.scenario_doc import Scenario
    from tidegate.kubernetes.simulated.behaviour_doc import Behaviour


def rehearse(
    folder: Path,
    integration: str | None,
    environment: str | None,
    image: str | None,
    behaviour: "Behaviour | None",
) -> "tuple[Scenario, list[SimulatedStep]]":
    """What becomes of an image, step by step."""
    from tidegate.kinds.integrations.app import rehearsal
    from tidegate.simulation.virtual_loop import run_virtually

    bundle = wiring.read_bundle(wiring.open_tree(folder), wiring.bundle_cache())
    place = rehearsal.rehearsed_place(bundle, integration, environment)
    if image is None:
        raise click.UsageError("--image is missing; write --image TAG")
    store = wiring.open_store("memory:")
    return run_virtually(
        lambda loop: rehearsal.rehearse(loop, place, image, behaviour, store, _warn),
        rehearsal.starts_at(),
    )


def _warn(error: Exception) -> None:
    click.echo(f"warning: {error}", err=True)
