"""`tidegate simulate ocm`: a simulated OpenShift Cluster Manager, over HTTP."""

import asyncio
import signal
import socket
from typing import TYPE_CHECKING

import click

from tidegate.cli.shape import Command
from tidegate.simulation.fast_loop import SPEED_MAX

if TYPE_CHECKING:
    from tidegate.kinds.upgrades.ocm.simulated.faults import OcmFaults
    from tidegate.kinds.upgrades.ocm.simulated.server import ManagerServer
    from tidegate.kinds.upgrades.ocm.simulated.world_doc import OcmWorld


@click.command(
    cls=Command,
    examples="""
    tidegate simulate ocm examples/ocm.yaml --port 8710
    tidegate simulate ocm examples/ocm.yaml --from-now                 for `tidegate run`
    tidegate simulate ocm examples/ocm.yaml --speed 1440               a day a minute
    tidegate simulate ocm examples/ocm.yaml --latency 20ms --fault 429=20 --fault lost=5
    curl -X POST localhost:8710/simulation -d '{"skip": "6h"}'         let time pass at once
    """,
)
@click.argument("world")
@click.option(
    "--port", default=0, show_default=True, help="The port on 127.0.0.1; 0 takes a free one."
)
@click.option(
    "--speed",
    default=1,
    show_default=True,
    type=click.IntRange(1, SPEED_MAX),
    help="600: what takes ten minutes takes a second.",
)
@click.option("--from-now", is_flag=True, help="Its clock starts now; all dates move with it.")
@click.option("--environment", metavar="NAME", help="Only organisations of this environment.")
@click.option("--latency", default="0s", show_default=True, help="How long every answer takes.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="WHAT=N",
    help="429, 500, cut or lost, for N of a thousand calls; repeatable.",
)
@click.option(
    "--retry-after", default=1, show_default=True, help="How many seconds a 429 asks to wait."
)
@click.option("--rate", default=0, help="Calls a second; 429 beyond. 0: any number.")
@click.option("--token-lasts", default="15m", show_default=True, help="How long a token is valid.")
@click.option("--seed", default=0, show_default=True, help="The seed of faults.")
def ocm(
    world: str,
    port: int,
    speed: int,
    from_now: bool,
    environment: str | None,
    latency: str,
    faults: tuple[str, ...],
    retry_after: int,
    rate: int,
    token_lasts: str,
    seed: int,
) -> None:
    """Serve a simulated OpenShift Cluster Manager until stopped.

    WORLD is a document with organisations, clusters, versions and gates ("-" reads stdin). The
    address is printed on stdout; tokens are at /token. Clusters upgrade by upgrade policies,
    by the clock of the simulation, which starts when the world says, or, with --from-now, when
    ours is, so that `tidegate run --upgrades` can be used with it. GET /simulation returns its time
    and every write.
    """
    from tidegate.kinds.upgrades.app.simulation import OcmSimulation, simulated_manager
    from tidegate.wiring import clock

    wanted = OcmSimulation(
        world=read_world_file(world),
        speed=speed,
        from_now=from_now,
        environment=environment or "",
        troubles=troubles_of(faults, _seconds("--latency", latency), retry_after, rate),
        seed=seed,
        token_lasts_s=_seconds("--token-lasts", token_lasts),
    )

    async def serve() -> None:
        server = simulated_manager(wanted, clock())
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, server.stop)
        with _listening(port) as listener:
            click.echo(f"http://127.0.0.1:{listener.getsockname()[1]}")
            _introduce(server, wanted.world, speed)
            await server.serve(listener)

    asyncio.run(serve())


def read_world_file(file: str) -> "OcmWorld":
    """The world in a file; UserError says where it is wrong."""
    from tidegate.documents.files import located, read_document
    from tidegate.kinds.upgrades.ocm.simulated.world_doc import read_world
    from tidegate.model.errors import UserError

    document = read_document(file)
    try:
        return read_world(document.data)
    except UserError as error:
        raise located(document, error) from None


def _seconds(option: str, text: str) -> float:
    from tidegate.model.time import SECOND, parse_duration

    try:
        return parse_duration(text) / SECOND
    except ValueError as error:
        raise click.UsageError(f"{option} {text}: {error}; write 20ms") from None


def troubles_of(
    faults: tuple[str, ...], latency_s: float = 0.0, retry_after: int = 1, rate: int = 0
) -> "OcmFaults":
    """The faults of calls, as flags name them."""
    from tidegate.kinds.upgrades.app.simulation import fault_shares
    from tidegate.kinds.upgrades.ocm.simulated.faults import OcmFaults

    return OcmFaults(fault_shares(faults), latency_s, retry_after, rate)


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise click.ClickException(f"--port {port}: {why}") from None


def _introduce(server: "ManagerServer", world: "OcmWorld", speed: int) -> None:
    """What is simulated, for people."""
    from tidegate.model.time import format_instant

    counts = f"{len(world.clusters)} clusters of {len(world.orgs)} organisations"
    start = format_instant(server.state.now)
    pace = f", {speed} times as fast as ours" if speed > 1 else ""
    click.echo(f"{counts}, simulated; its clock starts at {start}{pace}", err=True)
    if not world.credentials:
        click.echo("client tidegate, secret simulated; tokens are at /token", err=True)
