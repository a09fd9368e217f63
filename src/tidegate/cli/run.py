"""`tidegate run`: the loop, for chosen kinds, observing only until told to act."""

import asyncio
import signal

import click

from tidegate.cli.live import opened
from tidegate.cli.shape import Command
from tidegate.cli.tending import (
    actor,
    brake_book,
    gatherer,
    simulated_fleet,
    tending_options,
    worker_settings,
)
from tidegate.config.settings import Merged
from tidegate.core.model.time import format_age
from tidegate.engine.acting import Actor
from tidegate.engine.brake_book import BrakeBook
from tidegate.engine.evidence import Gatherer
from tidegate.engine.round import Round
from tidegate.engine.worker import Led, Settings, Worker
from tidegate.ports.store import Store
from tidegate.simulation.port import SimulatedFleet
from tidegate.wiring import clock


@click.command(
    cls=Command,
    examples="""
    tidegate run --kind simulated --scenario examples/demo.yaml               observe only
    tidegate run --kind simulated --scenario examples/demo.yaml --act '*'     and act
    """,
)
@click.option("--once", is_flag=True, help="Stop when every rollout has come to rest.")
@tending_options()
def run(merged: Merged, once: bool, seed: int, allow_mass_delete: bool) -> None:
    """Observe, decide, record and, where told to, act. Stops on SIGTERM and Ctrl-C, and exits 0."""
    settings = merged.settings()
    fleet = simulated_fleet(settings, seed)
    hands = actor(settings, allow_mass_delete)
    with opened(settings.database, writes=True) as store:
        asks = gatherer(settings)
        book = brake_book(settings, store, asks)
        asyncio.run(_run(store, fleet, hands, worker_settings(settings), book, asks, once))


async def _run(
    store: Store,
    fleet: SimulatedFleet,
    hands: Actor,
    settings: Settings,
    book: BrakeBook,
    asks: Gatherer,
    once: bool,
) -> None:
    quiet: set[str] = set()

    def report(partition: str, outcome: Round | Led | Exception) -> None:
        if isinstance(outcome, Led):
            return
        if isinstance(outcome, Exception):
            click.echo(f"{partition or 'journal'}: {outcome}", err=True)
            return
        _tell(partition, outcome)
        resting = outcome.recheck_at is None and not outcome.done
        ends = fleet.fleets[partition].next_end() if partition in fleet.fleets else None
        if resting and ends is None:
            quiet.add(partition)
        if once and quiet >= set(fleet.fleets):
            worker.stop()

    worker = Worker(store, fleet, clock(), hands, settings, report, book)
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, worker.stop)
    try:
        await worker.run()
    finally:
        await asks.close()


def _tell(partition: str, outcome: Round) -> None:
    """A line for every round in which something changed."""
    decided = outcome.decided
    if decided is None or not (decided.changed or decided.tasks):
        return
    verb = decided.mode.value
    left = ""
    if outcome.recheck_at is not None:
        left = f", look again in {format_age(outcome.recheck_at - decided.now)}"
    tasks = ", ".join(task.target for task in decided.tasks) or "nothing"
    click.echo(f"{partition}: {decided.summary.value}: {verb} {tasks}{left}", err=True)
