"""`tidegate run`: the loop, for chosen kinds; observes only, unless started with `--act`."""

import asyncio
import signal
from collections import Counter
from functools import partial

import click
from msgspec.structs import replace

from tidegate.app.workers import named
from tidegate.cli.live import opened
from tidegate.cli.main import FAILURE
from tidegate.cli.shape import Command
from tidegate.cli.worker.leaders import OtherLeaders
from tidegate.cli.worker.options import (
    brake_book,
    executor,
    gatherer,
    prepare_process,
    worker_options,
    worker_settings,
)
from tidegate.cli.worker.patterns import check_found, check_patterns
from tidegate.engine.kind import PartitionRefusedError
from tidegate.engine.round import RoundResult
from tidegate.engine.started import Started
from tidegate.engine.vitals import Led
from tidegate.engine.worker import Worker
from tidegate.kind_table import start_kinds
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.time import (
    SECOND,
    Duration,
    Instant,
    format_age,
    format_second,
    parse_duration,
)
from tidegate.settings.settings import Merged, Settings
from tidegate.store.port import BrokenChainError, Store
from tidegate.wiring import clock

TIMED_OUT = 124
# Shorter waits of --once are not told.
WAIT_TOLD_S = 10


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

    With --once, exits 1 if something that is declared cannot be carried out, or if what there is
    cannot be read, and 124 if --timeout was too short. It waits for the lease of a worker that has
    ended without giving it back. An --act that matches nothing is an error.
    """
    longest = _parsed(timeout, once)
    settings = merged.settings()
    kinds = start_kinds(settings, seed, allow_mass_delete=allow_mass_delete)
    for line in check_patterns(settings, kinds):
        click.echo(f"Warning: {line}", err=True)
    with opened(settings.database, writes=True, creates=True) as store:
        refused = asyncio.run(_run(store, kinds, settings, allow_mass_delete, once, longest))
    if once and refused:
        raise click.exceptions.Exit(FAILURE)


async def _run(
    store: Store,
    kinds: list[Started],
    settings: Settings,
    allow_mass_delete: bool,
    once: bool,
    longest: Duration | None,
) -> set[str]:
    """Run until told to stop; which partitions were refused in the end."""
    prepare_process()
    asks = gatherer(settings)
    quiet: set[str] = set()
    started: dict[str, Started] = {}

    refused: set[str] = set()
    leaders: set[str] = set()
    waits: dict[str, Instant] = {}
    errors: list[Exception] = []
    late: list[str] = []
    others = OtherLeaders(store, clock(), partial(click.echo, err=True))

    def report(partition: str, outcome: RoundResult | Led | Exception) -> None:
        if isinstance(outcome, Led):
            if not outcome.leader:
                others.forget(partition)
            elif once:
                others.meet(partition)
            elif outcome.leader not in leaders:
                leaders.add(outcome.leader)
                what = f"worker {outcome.leader} leads it; this one stands by"
                click.echo(f"{partition}: {what}", err=True)
            end_if_idle()
            return
        if isinstance(outcome, Exception):
            if not partition and once and not worker.discovered.is_set():
                errors.append(OutsideError(f"{outcome}; --once does not wait for it"))
                worker.stop()
                return
            click.echo(_error_line(partition, outcome), err=True)
            if isinstance(outcome, (PartitionRefusedError, BrokenChainError)):
                refused.add(partition)
                end_if_idle()
            return
        refused.discard(partition)
        one = started.setdefault(partition, _kind_of(kinds, worker, partition))
        if line := one.telemetry.line(outcome):
            click.echo(line, err=True)
        rests = one.kind.rests(outcome)
        (quiet.add if rests else quiet.discard)(partition)
        if once and not rests and (line := _wait_line(outcome, waits.get(partition))):
            waits[partition] = outcome.recheck_at or Instant(0)
            click.echo(f"{partition}: {line}", err=True)
        end_if_idle()

    def end_if_idle() -> None:
        if once and (quiet | others.led | refused) >= worker.vitals().running:
            worker.stop()

    async def end_in_time(longest: Duration) -> None:
        await asyncio.sleep(longest / SECOND)
        left = sorted(worker.vitals().running - (quiet | others.led | refused))
        if left:
            late.extend(left)
            worker.stop()

    async def tell_found() -> None:
        await worker.discovered.wait()
        try:
            for line in check_found(settings.act, worker.vitals().running):
                click.echo(f"Warning: {line}", err=True)
        except UserError as error:
            errors.append(error)
            worker.stop()
            return
        if not worker.vitals().running:
            click.echo("no rollout was found" + ("; nothing to do" if once else ""), err=True)
        end_if_idle()

    worker = Worker(
        store,
        [each.kind for each in kinds],
        clock(),
        executor(settings, allow_mass_delete),
        replace(worker_settings(settings), shares=not once),
        report,
        brake_book(settings, store, asks),
    )
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, worker.stop)
    beside = [tell_found()]
    if once:
        beside.append(others.run(end_if_idle))
    if longest is not None:
        beside.append(end_in_time(longest))
    looking = [asyncio.create_task(each) for each in beside]
    try:
        await worker.run()
    finally:
        for task in looking:
            task.cancel()
        await asks.close()
        for each in kinds:
            await each.close()
    if errors:
        raise errors[0]
    if late:
        click.echo(f"--timeout: not done with {named(late)}", err=True)
        raise click.exceptions.Exit(TIMED_OUT)
    return refused


def _error_line(partition: str, error: Exception) -> str:
    """An error with its partition, unless it names that itself."""
    text = str(error)
    named = not partition or text.startswith(f"{partition}: ")
    return text if named else f"{partition}: {text}"


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


def _wait_line(done: RoundResult, told: Instant | None) -> str:
    """What --once waits for, if it is for long; empty: it is not, or it was told."""
    until = done.recheck_at
    if until is None or until == told or (left := until - clock().now()) < WAIT_TOLD_S * SECOND:
        return ""
    reasons: Counter[str] = Counter()
    for (_, reason), targets in done.count().waits.items():
        reasons[reason] += targets
    why = ", ".join(f"{reason} {targets}" for reason, targets in sorted(reasons.items()))
    return f"waits {format_age(left)}, until {format_second(until)}, by reason: {why or 'none'}"


def _kind_of(kinds: list[Started], worker: Worker, partition: str) -> Started:
    """The kind of a partition that the worker runs."""
    kind = worker.kind_of(partition)
    return next(each for each in kinds if each.kind is kind)
