"""`tidegate serve`: `run` plus a page, an HTTP API, probes, metrics and logs."""

import asyncio
import os
import platform
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from functools import partial
from threading import RLock
from typing import Any

import click
from msgspec.structs import replace

from tidegate import __version__
from tidegate.access.policy_doc import AccessPolicy
from tidegate.api.app import Probes, local_probes, make_app
from tidegate.api.dispatch import Refused
from tidegate.api.server import AppServer, TlsFiles, address, bind
from tidegate.cli.live import opened
from tidegate.cli.output import wants_colour
from tidegate.cli.shape import Command
from tidegate.cli.worker.fork import AnsweringProcess, fork_answering
from tidegate.cli.worker.front import Front
from tidegate.cli.worker.options import (
    brake_book,
    executor,
    gatherer,
    is_file,
    prepare_process,
    worker_options,
    worker_settings,
)
from tidegate.cli.worker.patterns import acted_on, check_patterns
from tidegate.cli.worker.service import access_policy, first_token, tls_files
from tidegate.engine.execute import Executor
from tidegate.engine.notify import NoticeQueue
from tidegate.engine.started import Started
from tidegate.engine.watchdog import Watchdog
from tidegate.engine.worker import Worker
from tidegate.explain.notice import NoticeKind
from tidegate.kind_table import start_kinds
from tidegate.model.errors import UserError
from tidegate.model.time import SECOND
from tidegate.settings.picture_key import picture_links
from tidegate.settings.setting_reader import split_address
from tidegate.settings.setting_table import TABLE
from tidegate.settings.settings import Merged, Settings, revealed, shown
from tidegate.store.archive_port import Archive
from tidegate.telemetry.kind import KindTelemetry
from tidegate.telemetry.listener import with_listener
from tidegate.telemetry.log import Log
from tidegate.telemetry.observer import Observer
from tidegate.telemetry.stray import take_stray
from tidegate.wiring import clock, open_store, webhook

_VERSION = {"version": __version__, "python": platform.python_version()}
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
        beside = _forked(settings, kinds, policy, tls, ears)
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
            asyncio.run(_serve(store, kinds, carries_out, settings, log, ears, policy, tls, beside))
        finally:
            log.close()


def _forked(
    settings: Settings,
    kinds: list[Started],
    policy: AccessPolicy,
    tls: TlsFiles | None,
    ears: list[socket.socket],
) -> AnsweringProcess | None:
    """A process that answers; None where only this one has the journal."""
    if settings.database == MEMORY:
        return None
    links = picture_links(settings)

    def make(probes: Probes, refused: Refused) -> Front:
        for ear in ears[1:]:
            ear.close()
        prepare_process()
        store = open_store(settings.database)
        here = is_file(settings.database)
        return Front(store, kinds, policy, tls, probes, refused, links, here=here, own_process=True)

    return fork_answering(make, ears[0], _VERSION, partial(_log, settings))


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
    store: Archive,
    kinds: list[Started],
    carries_out: Executor,
    settings: Settings,
    log: Log,
    ears: list[socket.socket],
    policy: AccessPolicy,
    tls: TlsFiles | None,
    beside: AnsweringProcess | None,
) -> None:
    prepare_process()
    asks = gatherer(settings)

    def telemetry(partition: str) -> KindTelemetry:
        kind = worker.kind_of(partition)
        return next(each.telemetry for each in kinds if each.kind is kind)

    def more() -> bytes:
        return b"".join(each.telemetry.text() for each in kinds) + front.metrics()

    # The worker comes next: it reports to the observer, which asks it how it is.
    observer = Observer(
        log,
        clock(),
        __version__,
        lambda: worker.vitals(),  # noqa: PLW0108
        telemetry,
        more,
    )
    notices = observer.notices = _notices(settings, observer)
    worker = Worker(
        with_listener(store, observer.written),
        [each.kind for each in kinds],
        clock(),
        carries_out,
        worker_settings(settings),
        observer.report,
        brake_book(settings, store, asks),
        notices,
    )
    probes = local_probes(
        ill=lambda: [*observer.ill(), *front.ill()],
        missing=observer.missing,
        metrics=observer.metrics.text,
        version=_VERSION,
    )
    front: Front | AnsweringProcess
    if beside is None:
        front = here = Front(
            store,
            kinds,
            policy,
            tls,
            probes,
            observer.refused,
            picture_links(settings),
            here=False,
            own_process=False,
        )
        answers = [here.run(ears[0])]
    else:
        front, answers = beside, [beside.run(probes, observer.refused)]
    probed = [AppServer(make_app(probes)) for _ in ears[1:]]
    answers += [server.serve([ear]) for server, ear in zip(probed, ears[1:], strict=True)]

    def stop(name: str) -> None:
        observer.stopping = True
        log.say("info", f"{name}: nothing more is begun", what="stopping")
        front.hush()
        worker.stop()

    def stop_answering() -> None:
        front.stop()
        for server in probed:
            server.stop()

    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop, each.name)
    where = address(*ears[0].getsockname()[:2])
    log.say("info", f"serving on {where}", what="serving", listen=where, version=__version__)
    for ear in ears[1:]:
        alone = address(*ear.getsockname()[:2])
        log.say("info", f"probes on {alone}", what="serving", probes=alone)
    if not settings.act:
        log.say("info", "observes only: nothing is acted on without --act", what="serving")
    looking = asyncio.create_task(_tell_found(worker, settings, log))
    try:
        await _together(worker, answers, stop_answering, observer)
    except Exception as error:
        what, why, said = ending_words(error)
        log.say("error", f"{why}; nothing moves until it is started again", what=what, error=said)
        raise
    finally:
        looking.cancel()
        await asks.close()
        for one in kinds:
            await one.close()
    log.say("info", "stopped", what="stopped")


def ending_words(error: Exception) -> tuple[str, str, str]:
    """What an error that ends the process is called in the log, why it ends, and the error."""
    if isinstance(error, UserError):
        return "setting", "what this process was given cannot be used", str(error)
    return "crash", "a bug ends this process", repr(error)


async def _tell_found(worker: Worker, settings: Settings, log: Log) -> None:
    """Once everything was found: what --act does not match."""
    await worker.discovered.wait()
    lines = list(acted_on(settings.act, worker.vitals().running))
    # A rollout of that name may be declared later; until then nothing is acted on.
    level = "error" if len(lines) == len(settings.act) else "warning"
    for line in lines:
        log.say(level, line, what="setting")


def _notices(settings: Settings, observer: Observer) -> NoticeQueue | None:
    """Notices through the webhook, where one is set."""
    if not settings.notify_webhook:
        return None
    notifier = webhook(
        settings.notify_webhook,
        settings.notify_template,
        settings.notify_time / SECOND,
        picture_links(settings),
    )
    wanted = frozenset(NoticeKind(each) for each in settings.notify_on)
    return NoticeQueue(notifier, wanted, settings.notify_queue, observer.on_notice)


async def _together(
    worker: Worker,
    answers: list[Coroutine[Any, Any, None]],
    stop_answering: Callable[[], None],
    observer: Observer,
) -> None:
    """Until the worker ends; if either ends by an error, so does everything."""
    watchdog = Watchdog(asyncio.get_running_loop(), observer.held, worker.steps)
    watchdog.start()
    beating = asyncio.create_task(observer.beat())
    answering = [asyncio.create_task(each) for each in answers]
    working = asyncio.create_task(worker.run())
    await asyncio.wait((*answering, working), return_when=asyncio.FIRST_COMPLETED)
    worker.stop()
    await asyncio.wait((working,))
    stop_answering()
    await asyncio.wait(answering)
    beating.cancel()
    watchdog.stop()
    for each in (working, *answering):
        each.result()
