"""`tidegate simulate upgrades`: a fortnight of a fleet that upgrades by its labels, in seconds."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.output import wants_colour
from tidegate.cli.setting_options import color_option
from tidegate.cli.shape import Command

if TYPE_CHECKING:
    from tidegate.kinds.upgrades.app.read.world import FleetReading
    from tidegate.kinds.upgrades.core.service import Registration
    from tidegate.kinds.upgrades.ocm.simulated.world_doc import OcmWorld
    from tidegate.model.time import Duration

DAYS_MAX = 366
# Soak is counted between two surveys that are at most 2 hours apart, and one may fail.
LOOK_MAX = "90m"
LOOK_MIN = "1m"


@click.command(
    cls=Command,
    examples="""
    tidegate simulate upgrades examples/fortnight.yaml                the story of 14 days
    tidegate simulate upgrades examples/ocm.yaml --days 30 -o table   the final state
    tidegate simulate upgrades examples/ocm.yaml -o json              a line an event
    tidegate simulate upgrades examples/ocm.yaml --fault 500=50 --fault lost=20 --seed 7
    tidegate simulate upgrades examples/ocm.yaml --save world.json    for `why --world world.json`
    """,
)
@click.argument("world")
@click.option(
    "--days",
    default=14,
    show_default=True,
    type=click.IntRange(1, DAYS_MAX),
    help="How many days to simulate.",
)
@click.option(
    "--upgrades",
    "service",
    metavar="FILE",
    help="Organisations to serve; default: all.",
)
@click.option(
    "--look-every",
    default="1h",
    show_default=True,
    help="Up to 90m: soak is counted between observations.",
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="WHAT=N",
    help="429, 500, cut or lost, for N of a thousand calls; repeatable.",
)
@click.option("--seed", default=0, show_default=True, help="The seed of faults.")
@click.option(
    "--pace", metavar="SECONDS", type=float, help="How many virtual seconds pass in a real one."
)
@click.option("--save", metavar="FILE", help="Save the final world, for --world FILE.")
@click.option(
    "-o", "--output", type=click.Choice(("story", "table", "json")), default="story",
    show_default=True,
)  # fmt: skip
@color_option
def upgrades(
    world: str,
    days: int,
    service: str | None,
    look_every: str,
    faults: tuple[str, ...],
    seed: int,
    pace: float | None,
    save: str | None,
    output: str,
    color: str,
) -> None:
    """Simulate upgrades in virtual time, with the engine and the rules that run in production.

    WORLD is what `simulate ocm` serves: organisations, clusters, versions and how upgrades go ("-"
    reads stdin), and brakes, if there are any. Everything runs in this process; nothing is sent
    anywhere, and nothing is kept.
    """
    from tidegate.kinds.upgrades.app.rehearsal import simulate_upgrades
    from tidegate.kinds.upgrades.cli.simulate_ocm import read_world_file, troubles_of
    from tidegate.kinds.upgrades.cli.story import STORY, StoryPrinter
    from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw
    from tidegate.kinds.upgrades.simulated.rehearsal import Rehearsal

    luck, look = FaultDraw(troubles_of(faults), seed), _look(look_every)
    read = read_world_file(world)
    served = _served(read, service)
    teller = StoryPrinter(read, output, wants_colour(color), pace)
    teller.open(len(served), days)
    done = simulate_upgrades(Rehearsal(read, served, luck=luck, look=look), days, teller.hear)
    teller.close(done.document)
    fleet = done.fleet
    if save:
        _save(fleet, read, Path(save))
    if output == STORY:
        for line in _offers(fleet, world, save):
            click.echo(line, err=True)


def _look(text: str) -> "Duration":
    from tidegate.model.time import parse_duration

    try:
        found = parse_duration(text)
    except ValueError as error:
        raise click.UsageError(f"--look-every {text}: {error}; write 1h") from None
    if not parse_duration(LOOK_MIN) <= found <= parse_duration(LOOK_MAX):
        why = f"write {LOOK_MIN} to {LOOK_MAX}: soak is not counted over longer gaps"
        raise click.UsageError(f"--look-every {text}: {why}")
    return found


def _served(world: "OcmWorld", file: str | None) -> "tuple[Registration, ...]":
    """The organisations that are served: those of a file, or all there are."""
    from tidegate.kinds.upgrades.simulated.rehearsal import registered

    if file is None:
        served = registered(world)
    else:
        from tidegate.kinds.upgrades.app.simulation import served_in
        from tidegate.kinds.upgrades.wire.service_file import read_service_file

        served, notes = served_in(world, read_service_file(Path(file)).service.served())
        for note in notes:
            click.echo(f"note: {note}", err=True)
    if not served:
        raise click.UsageError("no organisation is served; write orgs, or another --upgrades")
    return served


def _save(fleet: "FleetReading", world: "OcmWorld", path: Path) -> None:
    import msgspec

    from tidegate.kinds.upgrades.wire.world_doc import write_world

    document = write_world([each.world for each in fleet.readings], world.brakes)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    click.echo(f"wrote {path}", err=True)


def _offers(fleet: "FleetReading", world: str, save: str | None) -> Iterator[str]:
    """Commands to paste, about clusters of the simulation."""
    from tidegate.kinds.upgrades.app.simulation import SOAK_DAYS, highlights

    found = highlights(fleet)
    if world == "-" or found is None:
        return
    program, file = _program(), save or "world.json"
    yield "\nNow paste one:"
    if not save:
        yield f"  {program} simulate upgrades {world} --save {file} -o table"
    yield f"  {program} why cluster/{found.held} --world {file}"
    yield f"  {program} when cluster/{found.dated} --world {file}"
    if found.unreadable is not None:
        yield f"  {program} upgrades what-if --set {found.unreadable}/{SOAK_DAYS}=2 --world {file}"
    else:
        yield f"  {program} upgrades lint --world {file}"


def _program() -> str:
    """This program, as it is typed."""
    typed, known = sys.argv[0], shutil.which("tidegate")
    if Path(typed).name != "tidegate" or (known is not None and Path(known).samefile(typed)):
        return "tidegate"
    return typed
