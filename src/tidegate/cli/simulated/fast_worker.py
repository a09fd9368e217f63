"""A worker at speed: in a thread and a loop of its own, so that the page answers in our time."""

import asyncio
import threading
from collections.abc import Callable, Sequence

from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.started import Living
from tidegate.engine.worker import Worker
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.machine.clock import Clock
from tidegate.model.time import SECOND, Duration
from tidegate.simulation.fast_loop import run_fast
from tidegate.store.port import Store

HOLDER = "simulation"
# In our seconds, each: how long the lease lasts, how soon the journal is read, and so on.
LEASE_S, LISTEN_S, RESYNC_S, DISCOVER_S, FOLLOW_S, SETTLE_S = 60, 0.25, 10.0, 5.0, 5.0, 0.02
PATIENCE_S, GRACE_S, CANCEL_S = 60.0, 2.0, 1.0
_KINDS_AT_ONCE = 50


class FastWorker:
    """Runs the rounds of simulated kinds until it is stopped."""

    def __init__(
        self,
        store: Store,
        kinds: Sequence[Living],
        clock: Clock,
        speed: int,
        book: BrakeBook,
        wrong: Callable[[str], None],
    ) -> None:
        self._store, self._kinds, self._clock = store, tuple(kinds), clock
        self._speed, self._book, self._wrong = speed, book, wrong
        self._stopping = threading.Event()
        self._worker: Worker | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name=HOLDER, daemon=True)
        # Why it ended; None: it runs, or was stopped.
        self.error: BaseException | None = None
        self.ended: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Begin, in a thread."""
        self._thread.start()

    @property
    def is_ready(self) -> bool:
        """Whether everything there is was found."""
        return self._worker is not None and self._worker.discovered.is_set()

    def stop(self, wait_s: float) -> None:
        """Begin nothing more, and wait until it ended."""
        self._stopping.set()
        loop, worker = self._loop, self._worker
        if loop is not None and worker is not None and not loop.is_closed():
            loop.call_soon_threadsafe(worker.stop)
        if self._thread.is_alive():
            self._thread.join(wait_s)

    def _run(self) -> None:
        try:
            run_fast(self._live, self._speed)
        except Exception as error:  # noqa: BLE001  a thread has no caller: the process says it
            self.error = error
        finally:
            self.ended()

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        for each in self._kinds:
            await each.set_up()
        worker = self._worker = self._made()
        if self._stopping.is_set():
            return
        lives = [asyncio.create_task(each.live()) for each in self._kinds]
        for task in lives:
            task.add_done_callback(self._life_ended)
        try:
            await worker.run()
        finally:
            for task in lives:
                task.cancel()
            await asyncio.gather(*lives, return_exceptions=True)
            for each in self._kinds:
                await each.started.close()

    def _life_ended(self, task: asyncio.Task[None]) -> None:
        """People and clusters of a simulation that end by a bug end all of it."""
        error = None if task.cancelled() else task.exception()
        if error is not None and self._worker is not None:
            self.error = error
            self._worker.stop()

    def _made(self) -> Worker:
        speed = self._speed
        executor = Executor(Limits(timeout_s=PATIENCE_S * speed), Breaker())
        settings = WorkerSettings(
            holder=HOLDER,
            act=("*",),
            lease_term=Duration(LEASE_S * speed * SECOND),
            listen_s=LISTEN_S * speed,
            resync_s=RESYNC_S * speed,
            discover_s=DISCOVER_S * speed,
            follow_s=FOLLOW_S * speed,
            settle_s=SETTLE_S * speed,
            rounds_max=_KINDS_AT_ONCE,
            observe_timeout_s=PATIENCE_S * speed,
            backoff_first_s=1.0 * speed,
            backoff_max_s=PATIENCE_S * speed,
            grace_s=GRACE_S * speed,
            cancel_s=CANCEL_S * speed,
        )
        every = [each.started.kind for each in self._kinds]
        return Worker(self._store, every, self._clock, executor, settings, self._report, self._book)

    def _report(self, partition: str, outcome: object) -> None:
        for each in self._kinds:
            each.hear(partition, outcome)
        if isinstance(outcome, Exception):
            self._wrong(f"{partition}: {outcome}" if partition else str(outcome))
