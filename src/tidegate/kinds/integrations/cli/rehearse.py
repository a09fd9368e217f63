"""A new image rehearsed on the bundle of a directory, for `simulate`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate import wiring
from tidegate.wiring import bundles, repositories

if TYPE_CHECKING:
    from tidegate.kinds.rollouts.simulated.run import SimulatedStep
    from tidegate.kinds.rollouts.wire.scenario_doc import Scenario


def rehearse(
    folder: Path,
    integration: str | None,
    environment: str | None,
    image: str | None,
    behaviour: str | None,
) -> "tuple[Scenario, list[SimulatedStep]]":
    """What becomes of an image, step by step; `behaviour` is a file that says what images do."""
    from tidegate.cli.render.progress import Progress
    from tidegate.kinds.integrations.app import rehearsal
    from tidegate.kinds.integrations.cli.clusters.simulate import read_behaviour_file
    from tidegate.simulation.virtual_loop import run_virtually

    manner = read_behaviour_file(behaviour)
    bundle = bundles.read_bundle(repositories.open_tree(folder), bundles.bundle_cache())
    place = rehearsal.rehearsed_place(bundle, integration, environment)
    if image is None:
        raise click.UsageError("--image is missing; write --image TAG")
    store = wiring.open_store("memory:")
    with Progress("rehearsing, looks at the clusters:") as progress:
        return run_virtually(
            lambda loop: rehearsal.rehearse(
                loop, place, image, manner, store, _warn, lambda: progress.tell(1)
            ),
            rehearsal.starts_at(),
        )


def _warn(error: Exception) -> None:
    click.echo(f"warning: {error}", err=True)
