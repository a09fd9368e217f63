"""`tidegate simulate page`: the real service over simulated fleets of every kind, at speed."""

import asyncio
import signal
import socket
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.shape import Command
from tidegate.simulation.fast_loop import SPEED_MAX

if TYPE_CHECKING:
    from tidegate.cli.simulated.fast_worker import FastWorker
    from tidegate.cli.simulated.fleets import SimulatedFleets
    from tidegate.store.archive_port import Archive

# An hour a second: a fortnight takes five minutes and a half.
SPEED = 3600
# How long the worker may take to end.
END_S = 8.0


@click.command(
    cls=Command,
    examples="""
    tidegate simulate page --scenario examples/demo/payments.yaml
    tidegate simulate page --upgrades examples/fortnight.yaml --speed 7200
    make demo                                        all kinds at once
    """,
)
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    metavar="FILE",
    help="A scenario of a rollout; repeatable.",
)
@click.option("--upgrades", metavar="FILE", help="A world for `simulate ocm`.")
@click.option("--policies", metavar="FILE", help="A rehearsal for `simulate policies`.")
@click.option(
    "--bundle", metavar="DIR", help="The bundle of an integration whose images are rolled out."
)
@click.option("--integration", metavar="NAME", help="Of a bundle: the integration.")
@click.option("--environment", metavar="NAME", help="Of a bundle: the environment.")
@click.option(
    "--image",
    "images",
    multiple=True,
    metavar="TAG",
    help="Of a bundle: an image to roll out, in this order; repeatable.",
)
@click.option(
    "--behaviour",
    metavar="FILE",
    help="Of a bundle: a file that says what images do on which shards.",
)
@click.option("--promotions", metavar="DIR", help="What examples/promotion.py wrote.")
@click.option("--brakes", metavar="FILE", help="Freezes that are set at the beginning.")
@click.option(
    "--listen",
    default="127.0.0.1:0",
    show_default=True,
    help="The address to listen on; of this machine only.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The seed of random failures.")
@click.option(
    "--speed",
    default=SPEED,
    show_default=True,
    type=click.IntRange(1, SPEED_MAX),
    help="3600: what takes an hour takes a second.",
)
def page(
    scenarios: tuple[str, ...],
    upgrades: str | None,
    policies: str | None,
    bundle: str | None,
    integration: str | None,
    environment: str | None,
    images: tuple[str, ...],
    behaviour: str | None,
    promotions: str | None,
    brakes: str | None,
    listen: str,
    seed: int,
    speed: int,
) -> None:
    """Serve the page over simulated fleets that live at speed, until Ctrl-C.

    The service, the rules and the journal are those of production; clusters, people and the clock
    are simulated, and every page says so. Scenarios begin again at their end. The address that is
    printed logs one browser in, once. Nothing is sent anywhere, and nothing is kept.
    """
    from tidegate.cli.simulated.fleets import BundleSource, read_fleets

    source = None
    if bundle is not None:
        source = BundleSource(Path(bundle), integration, environment, images, behaviour)
    fleets = read_fleets(
        speed=speed,
        seed=seed,
        scenarios=scenarios,
        upgrades=upgrades,
        policies=policies,
        bundle=source,
        promotions=Path(promotions) if promotions is not None else None,
    )
    _serve(fleets, listen, brakes)


def _serve(fleets: "SimulatedFleets", listen: str, brakes: str | None) -> None:
    from tidegate.api.login.one_time import check_loopback
    from tidegate.api.server import bind
    from tidegate.cli.live import opened
    from tidegate.cli.simulated.fast_worker import FastWorker
    from tidegate.cli.simulated.standing_brakes import read_standing, set_standing
    from tidegate.engine.brakes.book import BrakeBook
    from tidegate.settings.setting_reader import split_address

    where = split_address(listen)
    if where is None:
        raise click.UsageError(f"--listen {listen}: write 127.0.0.1:8080")
    check_loopback(where[0])
    standing = read_standing(brakes) if brakes is not None else None
    with ExitStack() as stack:
        ear = stack.enter_context(bind(*where))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tidegate-"))
        database = str(Path(folder) / "journal.db")
        store = stack.enter_context(opened(database, writes=True, creates=True))
        if standing is not None:
            set_standing(store, standing, fleets.clock.now())
        worker = FastWorker(
            store,
            fleets.living(store),
            fleets.clock,
            fleets.clock.speed,
            BrakeBook(store),
            lambda line: click.echo(line, err=True),
        )
        try:
            asyncio.run(_answer(store, worker, fleets, ear))
        finally:
            worker.stop(END_S)
        if worker.error is not None:
            raise worker.error
        click.echo("\nstopped; nothing is kept", err=True)


def _from_thread(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Have a loop make a call, if it still runs."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)


async def _answer(
    store: "Archive", worker: "FastWorker", fleets: "SimulatedFleets", ear: "socket.socket"
) -> None:
    from tidegate.access.policy_doc import AccessPolicy
    from tidegate.api.app import make_app
    from tidegate.api.login.one_time import OneTimeLink
    from tidegate.api.server import AppServer, address
    from tidegate.cli.simulated.fleets import probes_of
    from tidegate.cli.worker.service import make_service, new_admin

    api, pages = make_service(
        store, AccessPolicy(), lambda *_refused: None, fleets.clock, fleets.note
    )
    host, port = ear.getsockname()[:2]
    link = OneTimeLink(api.browser, new_admin(store), host)
    app = make_app(probes_of(worker), [link.route(), *api.routes(), *pages.routes()])
    server, loop = AppServer(app), asyncio.get_running_loop()

    def stop() -> None:
        api.close()
        server.stop()

    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop)
    worker.ended = partial(_from_thread, loop, stop)
    worker.start()
    for line in (*fleets.told, "", f"  http://{address(host, port)}{link.path}", ""):
        click.echo(line)
    click.echo("Open it: the link logs one browser in, once. Ctrl-C ends it.")
    await server.serve([ear])
    await api.closed()
