"""The process of `serve`: a worker, what answers beside it, and how both end together."""

import asyncio
import platform
import signal
import socket

import msgspec

from tidegate import __version__
from tidegate.access.policy_doc import AccessPolicy
from tidegate.api.app import Probes, local_probes, make_app
from tidegate.api.dispatch import Refused
from tidegate.api.server import AppServer, TlsFiles, address
from tidegate.cli.worker.fork import AnsweringProcess
from tidegate.cli.worker.front import Front
from tidegate.cli.worker.options import brake_book, gatherer, worker_settings
from tidegate.cli.worker.patterns import acted_on
from tidegate.engine.brakes.evidence import Gatherer
from tidegate.engine.execute import Executor
from tidegate.engine.notify import NoticeQueue
from tidegate.engine.started import Started
from tidegate.engine.vitals import Vitals
from tidegate.engine.watchdog import Watchdog
from tidegate.engine.worker import Worker
from tidegate.explain.notice import NoticeKind
from tidegate.model.errors import UserError
from tidegate.model.time import SECOND
from tidegate.settings.picture_key import picture_links
from tidegate.settings.settings import Settings
from tidegate.store.archive_port import Archive
from tidegate.telemetry.kind import KindTelemetry
from tidegate.telemetry.listener import with_listener
from tidegate.telemetry.log import Log
from tidegate.telemetry.observer import Observer
from tidegate.wiring import clock
from tidegate.wiring.outside import webhook

VERSION = {"version": __version__, "python": platform.python_version()}


class ServiceParts(msgspec.Struct, frozen=True):
    """What a service is made of before its journal is opened."""

    settings: Settings
    kinds: list[Started]
    executor: Executor
    policy: AccessPolicy
    tls: TlsFiles | None
    # Everything is answered on the first; probes alone on the others.
    ears: list[socket.socket]

    def front(
        self, store: Archive, probes: Probes, refused: Refused, here: bool, *, own_process: bool
    ) -> Front:
        """What answers: with the worker, or in a process of its own."""
        links = picture_links(self.settings)
        kinds, policy, tls = self.kinds, self.policy, self.tls
        return Front(
            store, kinds, policy, tls, probes, refused, links, here=here, own_process=own_process
        )


class ServiceProcess:
    """Made in a running event loop; `beside` answers where another process does."""

    def __init__(
        self, parts: ServiceParts, store: Archive, log: Log, beside: AnsweringProcess | None
    ) -> None:
        self._parts = parts
        self._log = log
        self._asks = gatherer(parts.settings)
        # The worker reports to the observer, which asks it how it is.
        self._observer = self._new_observer()
        self._worker = self._new_worker(store, self._asks)
        probes = local_probes(
            self._ill, self._observer.missing, self._observer.metrics.text, VERSION
        )
        self._front: Front | AnsweringProcess
        if beside is None:
            refused = self._observer.refused
            self._front = here = parts.front(store, probes, refused, False, own_process=False)
            answers = here.run(parts.ears[0])
        else:
            self._front, answers = beside, beside.run(probes, self._observer.refused)
        self._probed = [AppServer(make_app(probes)) for _ in parts.ears[1:]]
        alone = zip(self._probed, parts.ears[1:], strict=True)
        self._answers = [answers, *(server.serve([ear]) for server, ear in alone)]

    async def run(self) -> None:
        """Serve until a signal, and until what is in progress has ended; a bug is raised."""
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, self._stop, each.name)
        self._tell_begin()
        looking = asyncio.create_task(self._tell_found())
        try:
            await self._run_together()
        except Exception as error:
            what, why, said = ending_words(error)
            msg = f"{why}; nothing moves until it is started again"
            self._log.say("error", msg, what=what, error=said)
            raise
        finally:
            looking.cancel()
            await self._asks.close()
            for one in self._parts.kinds:
                await one.close()
        self._log.say("info", "stopped", what="stopped")

    async def _run_together(self) -> None:
        """Until the worker ends; if either ends by an error, so does everything."""
        worker, observer = self._worker, self._observer
        watchdog = Watchdog(asyncio.get_running_loop(), observer.held, worker.steps)
        watchdog.start()
        beating = asyncio.create_task(observer.beat())
        answering = [asyncio.create_task(each) for each in self._answers]
        working = asyncio.create_task(worker.run())
        await asyncio.wait((*answering, working), return_when=asyncio.FIRST_COMPLETED)
        worker.stop()
        await asyncio.wait((working,))
        for server in (self._front, *self._probed):
            server.stop()
        await asyncio.wait(answering)
        beating.cancel()
        watchdog.stop()
        for each in (working, *answering):
            each.result()

    def _stop(self, signal_name: str) -> None:
        self._observer.stopping = True
        self._log.say("info", f"{signal_name}: nothing more is begun", what="stopping")
        self._front.hush()
        self._worker.stop()

    def _new_observer(self) -> Observer:
        observer = Observer(
            self._log,
            clock(),
            __version__,
            self._vitals,
            self._telemetry,
            self._more_metrics,
        )
        observer.notices = _notices(self._parts.settings, observer)
        return observer

    def _new_worker(self, store: Archive, asks: Gatherer) -> Worker:
        settings, observer = self._parts.settings, self._observer
        return Worker(
            with_listener(store, observer.written),
            [each.kind for each in self._parts.kinds],
            clock(),
            self._parts.executor,
            worker_settings(settings),
            observer.report,
            brake_book(settings, store, asks),
            observer.notices,
        )

    def _vitals(self) -> Vitals:
        return self._worker.vitals()

    def _telemetry(self, partition: str) -> KindTelemetry:
        kind = self._worker.kind_of(partition)
        return next(each.telemetry for each in self._parts.kinds if each.kind is kind)

    def _more_metrics(self) -> bytes:
        kinds = b"".join(each.telemetry.text() for each in self._parts.kinds)
        return kinds + self._front.metrics()

    def _ill(self) -> list[str]:
        return [*self._observer.ill(), *self._front.ill()]

    def _tell_begin(self) -> None:
        log, ears = self._log, self._parts.ears
        where = address(*ears[0].getsockname()[:2])
        log.say("info", f"serving on {where}", what="serving", listen=where, version=__version__)
        for ear in ears[1:]:
            alone = address(*ear.getsockname()[:2])
            log.say("info", f"probes on {alone}", what="serving", probes=alone)
        if not self._parts.settings.act:
            log.say("info", "observes only: nothing is acted on without --act", what="serving")

    async def _tell_found(self) -> None:
        """Once everything was found: what --act does not match."""
        await self._worker.discovered.wait()
        act = self._parts.settings.act
        lines = list(acted_on(act, self._worker.vitals().running))
        # A rollout of that name may be declared later; until then nothing is acted on.
        level = "error" if len(lines) == len(act) else "warning"
        for line in lines:
            self._log.say(level, line, what="setting")


def ending_words(error: Exception) -> tuple[str, str, str]:
    """What an error that ends the process is called in the log, why it ends, and the error."""
    if isinstance(error, UserError):
        return "setting", "what this process was given cannot be used", str(error)
    return "crash", "a bug ends this process", repr(error)


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
