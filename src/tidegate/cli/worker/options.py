"""What `run` and `serve` share: the flags, and the parts of a worker made from the settings."""

import asyncio
import gc
import os
import socket
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click

from tidegate.cli.setting_options import settings_options
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.brakes.evidence import Gatherer
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.model.time import SECOND
from tidegate.settings.brake_file import BrakeFile
from tidegate.settings.prometheus_file import read_servers
from tidegate.settings.settings import Settings
from tidegate.store.port import Store
from tidegate.wiring.outside import evidence_source

# Changes of a partition collect for this long before its next round: targets of a wave report
# within moments of each other.
SETTLE_S = 0.01
# A round that decides this fast does so in the event loop, where the journal is a file.
SHORT_S = 0.005
# How many calls to the journal are under way at once.
THREADS = 24
# How many new objects, and how many collections of the youngest and of the middle generation, make
# the garbage collector look.
COLLECT_AFTER = (10_000, 20, 10)
# How long a thread keeps the interpreter from one that waits for it. By default that is 5 ms, each
# time one comes back from the server: beside answers of 12 ms a look took 6.7 ms, and takes 3.3.
SWITCH_S = 0.001
_SHARED = (
    "database", "kinds", "act", "scenarios", "fleet", "brakes", "holdFiles", "prometheus",
    "bundle", "revision", "image", "parameters", "overlay", "kubeconfig", "contexts", "pods",
    "hub", "policies", "promotionState", "promotionRequests",
    "runs.through", "runs.port", "runs.prometheus", "runs.clusterLabel", "registry", "registryAuth",
    "upgrades", "ocm.every", "grace", "lease", "resync", "discover",
    "limits.actions", "limits.actionsPerSecond", "limits.actionTime",
    "limits.rounds", "limits.roundTime", "limits.removals", "publicUrl", "pictureKey",
)  # fmt: skip


def worker_options(*more: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The flags of commands that run rounds; the command gets `merged` settings."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option(
                "--allow-mass-delete", is_flag=True, help="Remove more than --removals at once."
            ),
            click.option("--seed", type=int, default=0, help="The seed of the simulated fleets."),
        ):
            function = option(function)
        return settings_options(*_SHARED, *more)(function)

    return decorate


def gatherer(settings: Settings) -> Gatherer:
    """Asks the Prometheus servers of the settings, and those that gates name by address."""
    servers = [each for name in settings.prometheus for each in read_servers(Path(name))]
    return Gatherer(evidence_source(servers))


def brake_book(settings: Settings, store: Store, asks: Gatherer | None) -> BrakeBook:
    """The brakes of the journal, of the bundle's files, and of the file on this disk.

    Without a gatherer, evidence of health is used as it is written in the file.
    """
    files = [BrakeFile(Path(name), must_exist=True) for name in settings.brakes]
    files += [BrakeFile(Path(name), must_exist=False) for name in settings.hold_files]
    return BrakeBook(store, files, asks)


def prepare_process() -> None:
    """Make a process of short commands one that runs for months.

    Threads enough: most of them wait for a disk or a server. And a garbage collector that leaves
    alone what lives as long as the process, and looks at the rest less often: by default it stops
    every round for a tenth of a second every few seconds, for cycles that rounds do not make.
    """
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(THREADS, "tidegate"))
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


def share_interpreter() -> None:
    """Let a thread that looks at a server have its turn soon, while answers are made."""
    sys.setswitchinterval(SWITCH_S)


def executor(settings: Settings, allow_mass_delete: bool) -> Executor:
    """Carries tasks out, within the limits that are set."""
    limits = Limits(
        concurrency_max=settings.limits_actions,
        per_s=settings.limits_actions_per_second,
        timeout_s=settings.limits_action_time / SECOND,
        allow_mass_removal=allow_mass_delete,
    )
    return Executor(limits, Breaker())


def worker_settings(settings: Settings) -> WorkerSettings:
    """How the worker works."""
    return WorkerSettings(
        holder=f"{socket.gethostname()}/{os.getpid()}",
        act=settings.act,
        kinds=settings.kinds,
        lease_term=settings.lease,
        resync_s=settings.resync / SECOND,
        discover_s=settings.discover / SECOND,
        rounds_max=settings.limits_rounds,
        observe_timeout_s=settings.limits_round_time / SECOND,
        grace_s=settings.grace / SECOND,
        settle_s=SETTLE_S,
        short_s=SHORT_S if is_file(settings.database) else 0.0,
    )


def is_file(database: str) -> bool:
    """Whether a journal is on this machine: to read it is to wait for no other."""
    scheme, separator, _ = database.partition("://")
    return not separator or scheme == "sqlite"
