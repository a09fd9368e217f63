"""`tidegate run`: the loop, for chosen kinds; observes only, unless started with `--act`."""

import asyncio
import signal

import click
from msgspec.structs import replace

from tidegate.app.workers import named
from tidegate.cli.live import opened
from tidegate.cli.main import FAILURE
from tidegate.cli.shape import Command
from tidegate.cli.worker.options import (
    brake_book,
    executor,
    gatherer,
    prepare_process,
    worker_options,
    worker_settings,
)
from tidegate.cli.worker.patterns import check_patterns
from tidegate.cli.worker.run_watch import RunWatch
from tidegate.engine.started import Started
from tidegate.engine.worker import Worker
from tidegate.kind_table import start_kinds
from tidegate.model.time import (
    Duration,
    parse_duration,
)
from tidegate.settings.settings import Merged, Settings
from tidegate.store.port import Store
from tidegate.telemetry.listener import with_listener
from tidegate.wiring import clock

TIMED_OUT = 124


@click.command(
    cls=Command,
    examples="""
    tidegate run --kind simulated --scenario examples/demo.yaml               observe only
    tidegate run --kind simulated --scenario examples/demo.yaml --act '*'     and act
    tidegate run --fleet http://127.0.0.1:8700 --act '*'     on a fleet in another process
    tidegate run --kind upgrades --upgrades examples/upgrades.yaml --once     what it would do
    """,
)
@click.option("--once", is_flag=True, help="Stop when nothing more happens by itself.")
@click.option("--timeout", default="", metavar="DURATION", help="With --once, how long to wait.")
@worker_options()
def run(merged: Merged, once: bool, timeout: str, seed: int, allow_mass_delete: bool) -> None:
    """Observe, decide, record and, where --act allows it, act. Exits 0 on SIGTERM and Ctrl-C.

    With --once, exits 1 if something that is declared cannot be carried out, if an action failed
    to the end, or if what there is cannot be read, and 124 if --timeout was too short. It waits for
    the lease of a worker that has ended without giving it back. An --act that matches nothing is an
    error.
    """
    longest = _parsed(timeout, once)
    settings = merged.settings()
    kinds = start_kinds(settings, seed, allow_mass_delete=allow_mass_delete)
    for line in check_patterns(settings, kinds):
        click.echo(f"Warning: {line}", err=True)
    with opened(settings.database, writes=True, creates=True) as store:
        is_done = asyncio.run(_run(store, kinds, settings, allow_mass_delete, once, longest))
    if once and not is_done:
        raise click.exceptions.Exit(FAILURE)


async def _run(
    store: Store,
    kinds: list[Started],
    settings: Settings,
    allow_mass_delete: bool,
    once: bool,
    longest: Duration | None,
) -> bool:
    """Run until told to stop; whether all that is declared could be carried out in the end."""
    prepare_process()
    asks = gatherer(settings)
    works = replace(worker_settings(settings), shares=not once)
    watch = RunWatch(kinds, store, works, once=once)
    worker = Worker(
        with_listener(store, watch.written),
        [each.kind for each in kinds],
        clock(),
        executor(settings, allow_mass_delete),
        works,
        watch.report,
        brake_book(settings, store, asks),
    )
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, worker.stop)
    looking = [asyncio.create_task(each) for each in watch.follow(worker, longest)]
    try:
        await worker.run()
    finally:
        for task in looking:
            task.cancel()
        await asks.close()
        for each in kinds:
            await each.close()
    if watch.errors:
        raise watch.errors[0]
    if watch.late:
        click.echo(f"--timeout: not done with {named(watch.late)}", err=True)
        raise click.exceptions.Exit(TIMED_OUT)
    return not (watch.refused or watch.failed)


def _parsed(timeout: str, once: bool) -> Duration | None:
    """How long to wait; None: as long as it takes."""
    if not timeout:
        return None
    if not once:
        raise click.UsageError("--timeout says how long --once waits; write --once as well")
    try:
        return parse_duration(timeout)
    except ValueError as error:
        raise click.UsageError(f'--timeout "{timeout}": {error}; like 30m') from None
