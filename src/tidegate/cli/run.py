"""`tidegate run`: the loop, for chosen kinds, observing only until told to act."""

import asyncio
import os
import signal
import socket
from pathlib import Path

import click

from tidegate.cli.documents import located, read_document
from tidegate.cli.live import database_option, opened
from tidegate.cli.shape import Command
from tidegate.core.errors import UserError
from tidegate.core.model.time import format_age
from tidegate.engine.acting import Actor, Limits
from tidegate.engine.breaker import Breaker
from tidegate.engine.round import Round
from tidegate.engine.worker import Settings, Worker
from tidegate.ports.store import Store
from tidegate.simulation.port import SimulatedFleet
from tidegate.wire.scenario_doc import Scenario, read_scenario
from tidegate.wiring import clock


@click.command(
    cls=Command,
    examples="""
    tidegate run --kind simulated --scenario examples/demo.yaml               observe only
    tidegate run --kind simulated --scenario examples/demo.yaml --act '*'     and act
    """,
)
@click.option("--kind", "kinds", multiple=True, default=("simulated",), help="Which kinds to run.")
@click.option("--scenario", "scenarios", multiple=True, type=click.Path(), help="Simulated fleets.")
@click.option("--act", "patterns", multiple=True, help="Rollouts to act on: 'simulated/*'.")
@click.option("--once", is_flag=True, help="Stop when every rollout has come to rest.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the simulated fleets.")
@click.option("--allow-mass-delete", is_flag=True, help="Remove more than a tenth at once.")
@click.option("--grace", "grace_s", default=20.0, show_default=True, help="Seconds to stop within.")
@database_option
def run(
    kinds: tuple[str, ...],
    scenarios: tuple[str, ...],
    patterns: tuple[str, ...],
    once: bool,
    seed: int,
    allow_mass_delete: bool,
    grace_s: float,
    database: str,
) -> None:
    """Observe, decide, record and, where told to, act. Stops on SIGTERM and Ctrl-C, and exits 0."""
    fleet = SimulatedFleet(clock())
    for file in scenarios:
        fleet.add(f"simulated/{Path(file).stem}", _scenario(file), seed)
    settings = Settings(
        holder=f"{socket.gethostname()}/{os.getpid()}", act=patterns, kinds=kinds, grace_s=grace_s
    )
    actor = Actor(Limits(allow_mass_removal=allow_mass_delete), Breaker())
    with opened(database, writes=True) as store:
        asyncio.run(_run(store, fleet, actor, settings, once))


def _scenario(file: str) -> Scenario:
    document = read_document(file)
    try:
        return read_scenario(document.data)
    except UserError as error:
        raise located(document, error) from None


async def _run(
    store: Store, fleet: SimulatedFleet, actor: Actor, settings: Settings, once: bool
) -> None:
    quiet: set[str] = set()

    def report(partition: str, outcome: Round | Exception) -> None:
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

    worker = Worker(store, fleet, clock(), actor, settings, report)
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, worker.stop)
    await worker.run()


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
