"""Journals for a process that answers again and again: read once a second, and on every change."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Lock
from time import perf_counter
from typing import ParamSpec, TypeVar

from tidegate.app.partitions.journals import Journals, RulesOf
from tidegate.app.partitions.kept_states import KeptStates
from tidegate.app.past.journals import PastReader
from tidegate.engine.past.store import PastMoment
from tidegate.machine.clock import Clock
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.archive_port import Archive

P = ParamSpec("P")
T = TypeVar("T")
# What lists show is decided beside them for so long after one was asked for.
LISTED = Duration(5 * SECOND)


class LiveJournals:
    """Answers questions from decisions that all callers of the same second share.

    States are folded in place, so one question is answered at a time; a long one reads journals of
    its own (`fresh`).
    """

    def __init__(
        self, archive: Archive, rules_of: RulesOf, clock: Clock, *, here: bool = False
    ) -> None:
        """`here`: the archive is a file of this machine, and to read it is to wait for no other."""
        self.archive = archive
        self._turns = None if here else ThreadPoolExecutor(1, "answers")
        self._rules_of = rules_of
        self._clock = clock
        self._kept = KeptStates(archive)
        self._past = PastReader(archive, rules_of)
        self._lock = Lock()
        self._heads: dict[str, int] = {}
        self._journals: Journals | None = None

    @property
    def now(self) -> Instant:
        """The time."""
        return self._clock.now()

    def fresh(self) -> Journals:
        """Journals that share nothing."""
        return Journals(self.archive, self._rules_of, self._clock.now())

    async def turn(self, work: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
        """Work on these journals when it is its turn; one at a time, in the order they came.

        In the event loop where nothing has to be waited for: a call to a thread and back costs more
        than most answers, and while many threads wait for one lock none of them is fast.
        """
        run = partial(work, *args, **more)
        if self._turns is None:
            return run()
        return await asyncio.get_running_loop().run_in_executor(self._turns, run)

    def close(self) -> None:
        """End the thread that answers; what it works on is finished."""
        if self._turns is not None:
            self._turns.shutdown()

    def ask(self, question: Callable[[Journals], T]) -> T:
        """The answer to a question; none is older than a second, or than the last entry."""
        with self._lock:
            return question(self._current())

    def ask_then(self, moment: PastMoment, question: Callable[[Journals], T]) -> T:
        """The answer to a question about the past; it keeps no question about now waiting."""
        return self._past.ask(moment, self._clock.now(), question)

    @property
    def is_listed(self) -> bool:
        """Whether all partitions were asked for lately."""
        return 0 <= self._clock.now() - self._kept.listed_at < LISTED

    def refresh(self, work_s: float) -> bool:
        """Decide again, for so long, what lists show and is soon too old; whether some is left.

        A list that has to decide a thousand partitions itself keeps every other question waiting.
        """
        with self._lock:
            until = perf_counter() + work_s
            for one in self._current().aging():
                _ = one.item, one.counts, one.holds
                if perf_counter() > until:
                    return True
        return False

    @contextmanager
    def writing(self) -> Iterator[tuple[Journals, dict[str, int]]]:
        """Journals to prepare an act on, and the ends of the chains they were decided for.

        None else is answered meanwhile: the states it rests on are folded in place.
        """
        with self._lock:
            heads = self.archive.heads()
            yield self._made(heads), heads

    def forget(self, partition: str) -> None:
        """It was written to by a caller, who is to see it in every list.

        After this, none is answered from what was read before it was written.
        """
        with self._lock:
            self._kept.forget(partition)

    def _made(self, heads: dict[str, int]) -> Journals:
        now = self._clock.now()
        return Journals(self.archive, self._rules_of, now, kept=self._kept, heads=heads)

    def _current(self) -> Journals:
        heads, now = self.archive.heads(), self._clock.now()
        known = self._journals
        if known is None or heads != self._heads or not 0 <= now - known.now < SECOND:
            known = self._made(heads)
            self._journals, self._heads = known, heads
        return known
