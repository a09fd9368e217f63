"""Simulated fleets of every kind, read from files, on one clock."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from tidegate import wiring
from tidegate.documents.files import read_as
from tidegate.model.time import SECOND, Duration, Instant, format_age
from tidegate.simulation.fast_loop import SimulatedClock
from tidegate.wiring import bundles, repositories

if TYPE_CHECKING:
    from tidegate.api.app import Probes
    from tidegate.cli.simulated.fast_worker import FastWorker
    from tidegate.engine.started import Living
    from tidegate.store.port import Store

HOUR = 3600 * SECOND
# How often outside systems are looked at: often enough to be seen, by our clock.
LOOK_S = 0.4
SURVEY_S = 3600.0
# A new image of an integration, a commit, a look at merge requests and at repositories.
IMAGE_S = 30 * 3600.0
COMMIT, MERGE, READ = Duration(30 * HOUR), Duration(9 * HOUR), Duration(3 * HOUR)

Made = Callable[[SimulatedClock, "Store"], "Living"]


class BundleSource(msgspec.Struct, frozen=True):
    """An integration of a bundle, and the images that go out."""

    folder: Path
    integration: str | None
    environment: str | None
    images: tuple[str, ...]
    behaviour: str | None


class SimulatedFleets:
    """What lives, and by which clock."""

    def __init__(self, clock: SimulatedClock, made: Sequence[tuple[str, Made]]) -> None:
        self.clock = clock
        self._made = tuple(made)

    @property
    def note(self) -> str:
        """What every page says of its time."""
        second = format_age(Duration(self.clock.speed * SECOND))
        return f"Simulated: nothing here is real, and {second} passes per second"

    @property
    def told(self) -> list[str]:
        """What lives here, for a terminal."""
        return [
            f"{self.note}. Nothing leaves this machine:",
            *(f"  {each}" for each, _ in self._made),
        ]

    def living(self, store: "Store") -> list["Living"]:
        """Every kind, on a journal."""
        return [make(self.clock, store) for _, make in self._made]


def read_fleets(
    *,
    speed: int,
    seed: int,
    scenarios: Sequence[str],
    upgrades: str | None,
    policies: str | None,
    bundle: BundleSource | None,
    promotions: Path | None,
) -> SimulatedFleets:
    """All that is named; UserError says which file is wrong, and where."""
    look_s, start, made = LOOK_S * speed, wiring.clock().now(), list[tuple[str, Made]]()
    if upgrades is not None:
        start, one = _upgrades(upgrades)
        made.append(one)
    if scenarios:
        made.append(_scenarios(scenarios, look_s, seed))
    if policies is not None:
        made.append(_policies(policies, look_s, seed))
    if bundle is not None:
        made.append(_bundle(bundle, look_s))
    if promotions is not None:
        made.append(_promotions(promotions))
    if not made:
        raise click.UsageError("nothing is simulated; write --scenario FILE, or run `make demo`")
    return SimulatedFleets(SimulatedClock(wiring.clock(), start, speed), made)


def _upgrades(file: str) -> tuple[Instant, tuple[str, Made]]:
    from tidegate.kinds.upgrades.cli.simulate_ocm import read_world_file
    from tidegate.kinds.upgrades.simulated.life import living_upgrades

    world = read_world_file(file)
    told = f"upgrades: {len(world.clusters)} clusters of {len(world.orgs)} organisations"
    return world.now, (told, lambda clock, _: living_upgrades(world, clock, SURVEY_S))


def _scenarios(files: Sequence[str], look_s: float, seed: int) -> tuple[str, Made]:
    from tidegate.kinds.rollouts.simulated.life import living_scenarios
    from tidegate.kinds.rollouts.start import read_scenario_file

    found = {Path(each).stem: read_scenario_file(each) for each in files}
    count = sum(len(group.clusters) for each in found.values() for group in each.groups)
    told = f"rollouts: {', '.join(found)} on {count} clusters"
    return told, lambda clock, _: living_scenarios(found, clock, look_s, seed)


def _policies(file: str, look_s: float, seed: int) -> tuple[str, Made]:
    from tidegate.kinds.policies.simulated.life import living_policies
    from tidegate.kinds.policies.wire.rehearsal_doc import read_rehearsal

    scenario = read_as(file, lambda data: read_rehearsal(data, of_hub=False))[0]
    count = sum(len(each.clusters) for each in scenario.groups)
    told = f"policies: {', '.join(each.name for each in scenario.policies)} on {count} clusters"
    return told, lambda clock, store: living_policies(scenario, clock, store, look_s, seed)


def _bundle(source: BundleSource, look_s: float) -> tuple[str, Made]:
    from tidegate.kinds.integrations.app.life import living_place
    from tidegate.kinds.integrations.app.rehearsal import rehearsed_place
    from tidegate.kinds.integrations.cli.clusters.simulate import read_behaviour_file

    if not source.images:
        raise click.UsageError("--image is missing; write --image TAG for each that goes out")
    bundle = bundles.read_bundle(repositories.open_tree(source.folder), bundles.bundle_cache())
    place = rehearsed_place(bundle, source.integration, source.environment)
    manner = read_behaviour_file(source.behaviour)
    told = f"integrations: {place.integration.name} in {len(place.units)} shards"
    return told, lambda clock, _: living_place(place, source.images, IMAGE_S, manner, clock, look_s)


def _promotions(folder: Path) -> tuple[str, Made]:
    from tidegate.kinds.promotions.cli.life import PromotionPace, living_promotions

    pace = PromotionPace(every=READ, merge=MERGE, commit=COMMIT)
    told = "promotions: commits and merge requests in repositories of their own"
    return told, lambda clock, _: living_promotions(folder, clock, pace)


def probes_of(worker: "FastWorker") -> "Probes":
    """Probes of a service whose worker is in another thread."""
    from tidegate import __version__
    from tidegate.api.app import local_probes

    return local_probes(
        ill=lambda: [str(worker.error)] if worker.error is not None else [],
        missing=lambda: [] if worker.is_ready else ["not everything was found yet"],
        metrics=lambda: b"",
        version={"version": __version__, "simulated": "yes"},
    )
