"""`tidegate serve`: `run` plus a page, an HTTP API, probes, metrics and logs."""

import asyncio
import os
import sys
from contextlib import ExitStack
from functools import partial
from threading import RLock

import click
from msgspec.structs import replace

from tidegate.api.app import Probes
from tidegate.api.dispatch import Refused
from tidegate.api.server import bind
from tidegate.cli.live import opened
from tidegate.cli.output import wants_colour
from tidegate.cli.shape import Command
from tidegate.cli.worker.fork import AnsweringProcess, fork_answering
from tidegate.cli.worker.front import Front
from tidegate.cli.worker.options import (
    executor,
    is_file,
    prepare_process,
    share_interpreter,
    worker_options,
)
from tidegate.cli.worker.patterns import check_patterns
from tidegate.cli.worker.service import access_policy, first_token, tls_files
from tidegate.cli.worker.service_process import VERSION, ServiceParts, ServiceProcess
from tidegate.kind_table import start_kinds
from tidegate.settings.setting_reader import split_address
from tidegate.settings.setting_table import TABLE
from tidegate.settings.settings import Merged, Settings, revealed, shown
from tidegate.store.archive_port import Archive
from tidegate.telemetry.log import Log
from tidegate.telemetry.stray import take_stray
from tidegate.wiring import clock, open_store

# A journal that only the process has that made it.
MEMORY = "memory:"
_NOTIFY = [name for name in TABLE if name.startswith("notify.")]


@click.command(
    cls=Command,
    examples="""
    tidegate serve --scenario examples/demo.yaml                       observe only
    tidegate serve --scenario examples/demo.yaml --act 'simulated/*'   and act
    tidegate serve --fleet bundle --bundle examples/app-interface      integrations, as Git has them
    tidegate serve --upgrades examples/upgrades.yaml --act 'upgrades/*'    clusters, by their labels
    curl -s 127.0.0.1:8080/readyz                                      what is missing, if anything
    """,
)
@worker_options(
    "listen",
    "probes",
    "access.policy",
    "access.adminToken",
    "tls.certificate",
    "tls.key",
    "log.format",
    "log.level",
    "color",
    *_NOTIFY,
)
def serve(merged: Merged, seed: int, allow_mass_delete: bool) -> None:
    """`run` plus a page, an HTTP API, probes and metrics: run rounds until stopped.

    The page is at /, the API at /api/v1, described by /openapi.json; the first start writes an
    admin token to a file, with which a browser logs in. Probes are /livez and /readyz; /metrics,
    /version and, where upgrades are served, /soak need no token either. Logs to stderr. On SIGTERM
    it starts nothing more, lets tasks in progress end within --grace, releases its leases and exits
    0.
    """
    settings = merged.settings()
    url = revealed(settings.notify_webhook, os.environ, "notify.webhook")
    settings = replace(settings, notify_webhook=url)
    kinds = start_kinds(settings, seed, allow_mass_delete=allow_mass_delete)
    odd = list(check_patterns(settings, kinds))
    carries_out = executor(settings, allow_mass_delete)
    policy, tls = access_policy(settings), tls_files(settings)
    with ExitStack() as stack:
        ears = [stack.enter_context(bind(*where)) for where in _addresses(settings)]
        parts = ServiceParts(settings, kinds, carries_out, policy, tls, ears)
        beside = _forked(parts)
        if beside is not None:
            stack.callback(beside.abandon)
        store = stack.enter_context(opened(settings.database, writes=True, creates=True))
        log = _log(settings)
        try:
            _tell_settings(log, merged)
            for line in odd:
                log.say("warning", line, what="setting")
            if told := first_token(store, settings):
                log.say("info", told, what="token")
            asyncio.run(_serve(parts, store, log, beside))
        finally:
            log.close()


def _forked(parts: ServiceParts) -> AnsweringProcess | None:
    """A process that answers; None where only this one has the journal."""
    settings = parts.settings
    if settings.database == MEMORY:
        return None

    def make(probes: Probes, refused: Refused) -> Front:
        for ear in parts.ears[1:]:
            ear.close()
        prepare_process()
        here = is_file(settings.database)
        if not here:
            share_interpreter()
        return parts.front(open_store(settings.database), probes, refused, here, own_process=True)

    return fork_answering(make, parts.ears[0], VERSION, partial(_log, settings))


def _addresses(settings: Settings) -> list[tuple[str, int]]:
    """Where it answers: everything, and where that is set, probes alone."""
    written = [each for each in (settings.listen, settings.probes) if each]
    return [split_address(each) or ("", 0) for each in written]


def _log(settings: Settings) -> Log:
    terminal = sys.stderr.isatty()
    human = settings.log_format == "human" or (settings.log_format == "auto" and terminal)
    colour = human and wants_colour(settings.color, sys.stderr)
    out = sys.stderr.fileno()

    # A destructor may say something in the middle of a line of the same thread.
    writing = RLock()

    def write(line: bytes) -> None:
        # Past Python's own buffer, whose lock a reader who is stuck would keep to the very end.
        with writing:
            while line:
                line = line[os.write(out, line) :]

    log = Log(clock(), write, human=human, level=settings.log_level, colour=colour)
    if human:
        log.adopt("uvicorn", "asyncio")
    else:
        take_stray(log, out)
    return log


def _tell_settings(log: Log, merged: Merged) -> None:
    """Settings that differ from the default, and where they come from."""
    for warning in merged.warnings:
        log.say("warning", warning, what="setting")
    for name, origin in merged.origins.items():
        if origin.place != "default":
            value = shown(name, merged.values[name])
            msg = f"{name} is set by {origin.text()}"
            log.say("debug", msg, what="setting", name=name, value=value)


async def _serve(
    parts: ServiceParts, store: Archive, log: Log, beside: AnsweringProcess | None
) -> None:
    prepare_process()
    await ServiceProcess(parts, store, log, beside).run()
