"""What `run` and `serve` share: the flags, the fleet, and a worker made from the settings."""

import asyncio
import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click

from tidegate.cli.documents import located, read_document
from tidegate.cli.setting_options import settings_options
from tidegate.engine import worker
from tidegate.engine.acting import Actor, Limits
from tidegate.engine.brake_book import BrakeBook
from tidegate.engine.breaker import Breaker
from tidegate.engine.evidence import Gatherer
from tidegate.kinds.rollouts.fleet import Fleet
from tidegate.kinds.rollouts.simulated.port import SimulatedFleet
from tidegate.kinds.rollouts.wire.scenario_doc import Scenario, read_scenario
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.model.time import SECOND
from tidegate.settings.brake_file import BrakeFile
from tidegate.settings.prometheus_file import read_servers
from tidegate.settings.settings import Settings
from tidegate.store.port import Store
from tidegate.wiring import clock, evidence_source, remote_fleet

# How many calls to the journal are under way at once.
THREADS = 24
_SHARED = (
    "database", "kinds", "act", "scenarios", "fleet", "brakes", "holdFiles", "prometheus",
    "bundle", "revision", "image", "parameters", "overlay", "kubeconfig", "contexts", "pods",
    "runs.through", "runs.port", "runs.prometheus", "runs.clusterLabel", "registry", "registryAuth",
    "upgrades", "ocm.every", "grace", "lease", "resync", "discover",
    "limits.actions", "limits.actionsPerSecond", "limits.actionTime",
    "limits.rounds", "limits.roundTime",
)  # fmt: skip


def tending_options(*more: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The flags of whatever tends rollouts; the command is handed `merged` settings."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option("--allow-mass-delete", is_flag=True, help="Remove over a tenth at once."),
            click.option("--seed", type=int, default=0, help="Of the simulated fleets."),
        ):
            function = option(function)
        return settings_options(*_SHARED, *more)(function)

    return decorate


def fleet_of(settings: Settings, seed: int) -> Fleet:
    """The fleet at the address that is set, or of a bundle, or of the scenarios in this process."""
    if settings.fleet == "bundle":
        from tidegate.kinds.integrations.cli.shard_fleet import ShardFleet

        return ShardFleet(settings, _warn)
    if settings.fleet.startswith(("http://", "https://")):
        return remote_fleet(settings.fleet)
    if settings.fleet != "scenarios":
        remedy = "write bundle, scenarios, or http://127.0.0.1:8700"
        raise UserError((Problem("--fleet", f'"{settings.fleet}" is no address', remedy),))
    fleet = SimulatedFleet(clock())
    for file in settings.scenarios:
        fleet.add(f"simulated/{Path(file).stem}", read_scenario_file(file), seed)
    return fleet


def _warn(problem: Problem) -> None:
    click.echo(f"warning: {problem.text()}", err=True)


def read_scenario_file(file: str) -> Scenario:
    """The scenario in a file; UserError says where it is wrong."""
    document = read_document(file)
    try:
        return read_scenario(document.data)
    except UserError as error:
        raise located(document, error) from None


def gatherer(settings: Settings) -> Gatherer:
    """Asks the Prometheus servers of the settings, and those that gates name by address."""
    servers = [each for name in settings.prometheus for each in read_servers(Path(name))]
    return Gatherer(evidence_source(servers))


def brake_book(settings: Settings, store: Store, asks: Gatherer | None) -> BrakeBook:
    """The brakes of the journal, of the bundle's files, and of the file on this disk.

    Without anybody who asks, evidence of health is as it is written.
    """
    files = [BrakeFile(Path(name), must_exist=True) for name in settings.brakes]
    files += [BrakeFile(Path(name), must_exist=False) for name in settings.hold_files]
    return BrakeBook(store, files, asks)


def threads() -> None:
    """Give the running loop threads enough: most of them wait for a disk or a server."""
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(THREADS, "tidegate"))


def actor(settings: Settings, allow_mass_delete: bool) -> Actor:
    """Whoever carries tasks out, within the limits that are set."""
    limits = Limits(
        concurrency_max=settings.limits_actions,
        per_s=settings.limits_actions_per_second,
        timeout_s=settings.limits_action_time / SECOND,
        allow_mass_removal=allow_mass_delete,
    )
    return Actor(limits, Breaker())


def worker_settings(settings: Settings) -> worker.Settings:
    """How the worker works."""
    return worker.Settings(
        holder=f"{socket.gethostname()}/{os.getpid()}",
        act=settings.act,
        kinds=settings.kinds,
        lease_term=settings.lease,
        resync_s=settings.resync / SECOND,
        discover_s=settings.discover / SECOND,
        rounds_max=settings.limits_rounds,
        observe_timeout_s=settings.limits_round_time / SECOND,
        grace_s=settings.grace / SECOND,
    )
