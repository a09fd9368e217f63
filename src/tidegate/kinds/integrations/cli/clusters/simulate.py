"""`tidegate clusters simulate`: the clusters of a bundle, simulated, behind a kubeconfig."""

import asyncio
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.shape import Command

if TYPE_CHECKING:
    from tidegate.kinds.integrations.app.estates import BundleEstates
    from tidegate.kinds.integrations.fleet.predecessor import Predecessor
    from tidegate.kubernetes.simulated.behaviour_doc import Behaviour
    from tidegate.kubernetes.simulated.server.host import Host

# The first line of a file that we wrote, and may overwrite.
_OURS = "# Written by tidegate clusters simulate; it is removed when that ends."
SPEED_MAX = 100_000


@click.command(
    cls=Command,
    examples="""
    tidegate clusters simulate examples/app-interface --kubeconfig rehearsal.kubeconfig
    tidegate clusters simulate . --kubeconfig k --behaviour examples/behaviour.yaml --speed 600
    tidegate clusters simulate . --kubeconfig k --down appsrep05ue1        an unreachable cluster
    tidegate clusters simulate . --kubeconfig k --managed                  rehearse a hand-over
    tidegate diff examples/app-interface --kubeconfig rehearsal.kubeconfig  in another terminal
    """,
)
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--kubeconfig",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The kubeconfig to write, removed at the end; its contexts are called like the clusters.",
)
@click.option("--listen", default="127.0.0.1:0", show_default=True, help="Port 0 takes a free one.")
@click.option(
    "--speed",
    default=1,
    show_default=True,
    type=click.IntRange(1, SPEED_MAX),
    help="600: what takes ten minutes takes a second.",
)
@click.option("--behaviour", metavar="FILE", help="What images do, and on which shards.")
@click.option(
    "--managed",
    is_flag=True,
    help="Begin with what the integrations manager runs, and keeps running.",
)
@click.option(
    "--down", multiple=True, metavar="CLUSTER", help="A cluster that does not answer; repeatable."
)
def simulate(
    bundle: Path,
    kubeconfig: Path,
    listen: str,
    speed: int,
    behaviour: str | None,
    managed: bool,
    down: list[str],
) -> None:
    """Serve every cluster that a managed integration of BUNDLE runs on, until stopped.

    They begin empty, with the namespaces of the bundle. What is applied to them runs: pods get
    ready, fail, publish metrics and write logs as the behaviour file says. The clusters are
    printed on stdout, one per line. Nothing is kept in the end.

    With --managed a stand-in for qontract-reconcile's integrations manager makes everything that
    BUNDLE declares, and again whenever it changes, but for what is Tidegate's: to rehearse a
    hand-over.
    """
    from tidegate.kubernetes.simulated.server.host import Host
    from tidegate.model.problem import nearest_or_all
    from tidegate.settings.setting_reader import split_address
    from tidegate.wiring import clock

    address = split_address(listen)
    if address is None:
        raise click.UsageError(f"--listen {listen}: no address; write 127.0.0.1:0")
    spaces = _namespaces(bundle)
    for name in down:
        if name not in spaces:
            raise click.UsageError(f"--down {name}: {nearest_or_all(name, spaces)}")
    _check_ours(kubeconfig)
    host = Host(spaces, clock(), read_behaviour_file(behaviour), speed, down)
    with _listening(address) as server:
        asyncio.run(_serve(host, server, address[0], kubeconfig, bundle if managed else None))


def _namespaces(folder: Path) -> dict[str, set[str]]:
    """The clusters of managed integrations, and the namespaces those run in."""
    from tidegate.cli.render.progress import Progress
    from tidegate.kinds.integrations.app.validation import cluster_namespaces
    from tidegate.wiring import bundles, repositories

    tree = repositories.open_tree(folder)
    with Progress("reading files", quiet_s=1.0) as progress:
        bundle = bundles.read_bundle(tree, bundles.bundle_cache(), progress.tell)
    if bundle.errors:
        what = f"{bundle.errors} errors in the bundle; `tidegate validate {folder}` shows them"
        click.echo(f"warning: {what}", err=True)
    return cluster_namespaces(bundle, str(folder))


def read_behaviour_file(file: str | None) -> "Behaviour | None":
    """What images do, as a file says it; None: no file says anything."""
    from tidegate.documents.files import located, read_document
    from tidegate.kubernetes.simulated.behaviour_doc import read_behaviour
    from tidegate.model.errors import UserError

    if file is None:
        return None
    document = read_document(file)
    try:
        return read_behaviour(document.data)
    except UserError as error:
        raise located(document, error) from None


def _check_ours(path: Path) -> None:
    """UsageError for a kubeconfig that we did not write: it is not overwritten."""
    if path.exists() and not path.read_text(errors="replace").startswith(_OURS):
        raise click.UsageError(f"--kubeconfig {path}: it is there already, and not ours")


def _listening(address: tuple[str, int]) -> socket.socket:
    host, port = address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server(address, family=family)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise click.ClickException(f"--listen {host}:{port}: {why}") from None


async def _serve(
    host: "Host", server: socket.socket, address: str, kubeconfig: Path, managed: Path | None
) -> None:
    """Answer until stopped; `managed`: the bundle that the existing manager keeps running."""
    import msgspec

    shown = f"[{address}]" if ":" in address else address
    document = host.kubeconfig(f"http://{shown}:{server.getsockname()[1]}")
    text = f"{_OURS}\n{msgspec.json.format(msgspec.json.encode(document), indent=2).decode()}\n"
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, _stop, host, each)
    await asyncio.to_thread(_write, kubeconfig, text)
    manager = None
    try:
        if managed is not None:
            predecessor, estates = _predecessor(host, managed)
            await predecessor.make(await estates.read())
            manager = asyncio.create_task(predecessor.run())
        for line in host.lines():
            click.echo(line)
        click.echo(f"try: tidegate diff … --kubeconfig {kubeconfig}", err=True)
        await host.run(server)
    finally:
        if manager is not None:
            manager.cancel()
            await asyncio.gather(manager, return_exceptions=True)
        await asyncio.to_thread(kubeconfig.unlink, missing_ok=True)


def _predecessor(host: "Host", folder: Path) -> "tuple[Predecessor, BundleEstates]":
    """A stand-in for the existing manager, and what it reads."""
    from tidegate.kinds.integrations.app.estates import BundleEstates
    from tidegate.kinds.integrations.fleet.predecessor import PREDECESSOR, Predecessor
    from tidegate.wiring import bundles, repositories

    cache = bundles.bundle_cache()
    estates = BundleEstates(
        lambda: repositories.open_tree(folder), lambda tree: bundles.read_bundle(tree, cache)
    )
    return Predecessor(estates, host.clusters(PREDECESSOR), host.clusters()), estates


def _stop(host: "Host", by: signal.Signals) -> None:
    # First, because printing may fail when the terminal is gone.
    host.stop()
    click.echo(f"stopped by {by.name}", err=True)


def _write(path: Path, text: str) -> None:
    """Readable for its owner only: there are tokens in it."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(text)
