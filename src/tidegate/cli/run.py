"""`tidegate run`: the loop, for chosen kinds, observing only until told to act."""

import asyncio
import signal

import click

from tidegate.cli.live import opened
from tidegate.cli.shape import Command
from tidegate.cli.tending import (
    actor,
    brake_book,
    fleet_of,
    gatherer,
    tending_options,
    threads,
    worker_settings,
)
from tidegate.engine.acting import Actor
from tidegate.engine.brake_book import BrakeBook
from tidegate.engine.evidence import Gatherer
from tidegate.engine.kind import Ended
from tidegate.engine.round import Round
from tidegate.engine.worker import Led, Settings, Worker
from tidegate.kinds.rollouts.fleet import ClosableFleet, Fleet
from tidegate.kinds.rollouts.simulated.port import SimulatedFleet
from tidegate.kinds.upgrades.app.rounds import UpgradeRound
from tidegate.kinds.upgrades.cli.tending import Tended, line_of, tended_upgrades
from tidegate.model.time import format_age
from tidegate.settings.settings import Merged
from tidegate.store.port import Store
from tidegate.wiring import clock


@click.command(
    cls=Command,
    examples="""
    tidegate run --kind simulated --scenario examples/demo.yaml               observe only
    tidegate run --kind simulated --scenario examples/demo.yaml --act '*'     and act
    tidegate run --fleet http://127.0.0.1:8700 --act '*'     on a fleet in another process
    tidegate run --kind upgrades --upgrades examples/upgrades.yaml --once     what it would do
    """,
)
@click.option("--once", is_flag=True, help="Stop when every rollout has come to rest.")
@tending_options()
def run(merged: Merged, once: bool, seed: int, allow_mass_delete: bool) -> None:
    """Observe, decide, record and, where told to, act. Stops on SIGTERM and Ctrl-C, and exits 0."""
    settings = merged.settings()
    fleet = fleet_of(settings, seed)
    hands = actor(settings, allow_mass_delete)
    upgrades = tended_upgrades(settings)
    with opened(settings.database, writes=True) as store:
        asks = gatherer(settings)
        book = brake_book(settings, store, asks)
        asyncio.run(
            _run(store, fleet, hands, worker_settings(settings), book, asks, upgrades, once)
        )


async def _run(
    store: Store,
    fleet: Fleet,
    hands: Actor,
    settings: Settings,
    book: BrakeBook,
    asks: Gatherer,
    upgrades: Tended | None,
    once: bool,
) -> None:
    threads()
    quiet: set[str] = set()

    def report(partition: str, outcome: Ended | Led | Exception) -> None:
        if isinstance(outcome, Led):
            return
        if isinstance(outcome, Exception):
            click.echo(f"{partition or 'journal'}: {outcome}", err=True)
            return
        if isinstance(outcome, UpgradeRound):
            rests = outcome.plan is not None or partition in quiet
            if line := line_of(partition, outcome):
                click.echo(line, err=True)
        elif isinstance(outcome, Round):
            rests = _rests(fleet, partition, outcome)
            _tell(partition, outcome)
        else:
            return
        (quiet.add if rests else quiet.discard)(partition)
        if once and quiet >= worker.vitals().tended:
            worker.stop()

    kinds = () if upgrades is None else (upgrades.kind,)
    worker = Worker(store, fleet, clock(), hands, settings, report, book, kinds=kinds)
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, worker.stop)
    try:
        await worker.run()
    finally:
        await asks.close()
        if upgrades is not None:
            await upgrades.close()
        if isinstance(fleet, ClosableFleet):
            await fleet.close()


def _rests(fleet: Fleet, partition: str, outcome: Round) -> bool:
    """Whether nothing more happens to a rollout by itself."""
    if outcome.recheck_at is not None or outcome.done or outcome.plan is None:
        return False
    if isinstance(fleet, SimulatedFleet):
        return fleet.fleets[partition].next_end() is None
    return not any(report.tally.in_flight for report in outcome.plan.groups)


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
