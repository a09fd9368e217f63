"""One life of a worker: from its start to its stop, or to the call in the middle of which it dies.

A dead life does nothing any more: whatever of it still runs (a `finally`, a thread) finds every
port closed, as if the process were gone. A frozen one goes on later, and does not know it.
"""

import asyncio
import contextvars
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from tidegate.engine.worker import Worker
from tidegate.journal.chain import JournalEntry, JournalNote
from tidegate.journal.lease import Lease, Look
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.simulation.virtual_loop import RIGHT, VirtualClock, VirtualLoop
from tidegate.store.port import Head, Store

# Whose call it is: tasks inherit it from the one that started them.
CURRENT: contextvars.ContextVar["Life | None"] = contextvars.ContextVar("life", default=None)


class DeadError(BaseException):
    """The process is gone; nothing of ours may catch it."""


class Watcher(Protocol):
    """What watches lives."""

    steps: int
    deaths: int

    def is_watched(self, partition: str) -> bool:
        """Whether reading it is a step, and no polling."""
        ...

    def acknowledged(self, life: Any, partition: str, head: Head) -> None:
        """The store said that a chain ends here."""
        ...


def hush(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A loop's exception handler: a dead worker's last words are not printed."""
    if not isinstance(context.get("exception"), DeadError):
        loop.default_exception_handler(context)


class Life:
    """A worker, and when it dies."""

    def __init__(
        self,
        loop: VirtualLoop,
        witness: Watcher,
        name: str,
        make: Callable[["Life"], Worker],
        *,
        off: Duration = RIGHT,
        dies_after: int | None = None,
    ) -> None:
        self.loop = loop
        self.name = name
        self.clock = VirtualClock(loop, off)
        self.witness = witness
        self.dead = False
        # Points to die at that it has passed.
        self.calls = 0
        # None: of nothing in particular.
        self._calls_left = dies_after
        self._thaws_at = Instant(0)
        # What this life could know: when it last read a partition, and was last let write to it.
        self.read_at: dict[str, Instant] = {}
        self.confirmed_at: dict[str, Instant] = {}
        # What it observed last, by partition.
        self.seen: dict[str, Any] = {}
        self.worker = make(self)
        context = contextvars.copy_context()
        context.run(CURRENT.set, self)
        self.task = context.run(loop.create_task, self.worker.run())

    def step(self) -> None:
        """A call is about to be made: a point to die at."""
        self.witness.steps += 1
        self.call()

    def call(self) -> None:
        """Something polls, or a call was just made: a point to die at, too."""
        self.calls += 1
        if self._calls_left is not None:
            self._calls_left -= 1
            if self._calls_left <= 0:
                self.die()
        if self.dead:
            raise DeadError

    def die(self) -> None:
        """From here on nothing reaches the outside."""
        if not self.dead:
            self.dead = True
            self.witness.deaths += 1
            self.task.cancel()

    def freeze(self, seconds: float) -> None:
        """Every call is late from now on, until the thaw."""
        self._thaws_at = Instant(self.loop.now() + round(seconds * SECOND))

    def frozen_s(self) -> float:
        """How long until it goes on."""
        return max(0, self._thaws_at - self.loop.now()) / SECOND

    @property
    def is_over(self) -> bool:
        """Whether the worker has ended, one way or another."""
        return self.dead or self.task.done()

    def broken(self) -> BaseException | None:
        """What ended a part of the worker that should have gone on; None: nothing did."""
        if self.dead:
            return None
        for task in (self.task, *self.worker._running.values()):
            if task.done() and not task.cancelled() and task.exception() is not None:
                return task.exception()
        return None


class MortalStore:
    """A store as one life sees it."""

    def __init__(self, life: Life, store: Store) -> None:
        self._life = life
        self._store = store

    def append(self, partition: str, notes: Sequence[JournalNote], **rest: Any) -> Head:
        """Pass on; what was acknowledged is the witness's to remember."""
        life = self._life
        life.step()
        head = self._store.append(partition, notes, **rest)
        if rest.get("token") is not None and not notes:  # that is a question, and nothing else
            life.confirmed_at[partition] = life.loop.now()
        life.call()
        life.witness.acknowledged(life, partition, head)
        return head

    def read(
        self, partition: str, *, after: int = 0, limit: int | None = None
    ) -> Iterator[JournalEntry]:
        """Pass on; the chain of brakes is polled."""
        (self._life.step if self._life.witness.is_watched(partition) else self._life.call)()
        yield from self._store.read(partition, after=after, limit=limit)
        self._life.read_at[partition] = self._life.loop.now()

    def lease(
        self,
        partition: str,
        holder: str,
        now: Instant,
        term: Duration,
        look: Look | None = None,
    ) -> Lease | None:
        """Pass on."""
        self._life.step()
        lease = self._store.lease(partition, holder, now, term, look)
        self._life.call()
        return lease

    def __getattr__(self, name: str) -> Any:
        def passed_on(*args: Any, **kwargs: Any) -> Any:
            self._life.call()
            answer = getattr(self._store, name)(*args, **kwargs)
            self._life.call()
            return answer

        return passed_on
