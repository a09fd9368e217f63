"""Journals for a process that answers again and again: read once a second, and on every change.

Where the journal is a file, every answer reads it. Where it is on a server, an answer waits for a
look at it that began after the request came (`looks.py`), which it shares with all that wait, and
is then made in the event loop from what is in memory; only what is not goes to a thread.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Lock, local
from time import perf_counter
from typing import Any, ParamSpec, TypeVar, cast

from tidegate.api.live.looks import Looks
from tidegate.app.partitions.journals import Journals, RulesOf
from tidegate.app.partitions.kept_states import KeptStates
from tidegate.app.past.journals import PastReader
from tidegate.engine.past.store import PastMoment
from tidegate.journal.chain import JournalNote
from tidegate.machine.clock import Clock
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.archive_port import Archive
from tidegate.store.followed import FollowedJournal, NotAtHandError
from tidegate.store.port import Head

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
        self,
        archive: Archive,
        rules_of: RulesOf,
        clock: Clock,
        *,
        here: bool = False,
        follows: bool = False,
    ) -> None:
        """`here`: the archive is a file of this machine, and to read it is to wait for no other.

        `follows`: it is on a server, and what others write to it is looked for.
        """
        self.archive = archive
        self._followed = FollowedJournal(archive) if follows else None
        self._looks = Looks(self._followed.refresh) if self._followed is not None else None
        # What answers are made from: the archive, or what was last seen of it.
        self.seen: Archive = archive if self._followed is None else self._followed
        self._turns = None if here else ThreadPoolExecutor(1, "answers")
        # The turn that a thread has, or had last; None: none had one.
        self._busy: Future[Any] | None = None
        # Whether this thread has its turn, before which the archive was looked at.
        self._turn = local()
        self._rules_of = rules_of
        self._clock = clock
        self._kept = KeptStates(self.seen)
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
        await self.looked()
        return await self.turn_seen(work, *args, **more)

    async def looked(self) -> None:
        """Wait for a look at the archive that begins now, where what was seen of it is kept."""
        if self._looks is not None:
            await self._looks.fresh()

    async def turn_seen(self, work: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
        """The same on what was last seen: since its request came, a look was waited for."""
        run = partial(work, *args, **more)
        if self._turns is None:
            return run()
        if self._followed is None:
            return await asyncio.get_running_loop().run_in_executor(self._turns, run)
        # A thread has its turn: all wait for its end, and go on in the event loop.
        while (busy := self._busy) is not None and not busy.done():
            await asyncio.wait((asyncio.wrap_future(busy),))
        try:
            return self._at_hand(run)
        except NotAtHandError:
            taken = self._busy = self._turns.submit(_tried, partial(self._taken, run))
        found, error = await asyncio.wrap_future(taken)
        if error is not None:
            raise error
        return cast(T, found)

    def _at_hand(self, run: Callable[[], T]) -> T:
        assert self._followed is not None, "there is nothing in memory"
        with self._followed.at_hand():
            return self._taken(run)

    def _taken(self, run: Callable[[], T]) -> T:
        """Work in its turn."""
        self._turn.taken = True
        try:
            return run()
        finally:
            self._turn.taken = False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While no other folds these states; out of turn, after a look at the archive."""
        followed = self._followed
        if followed is not None and not getattr(self._turn, "taken", False):
            followed.refresh()
        if not self._lock.acquire(blocking=followed is None or not followed.is_at_hand):
            raise NotAtHandError
        try:
            yield
        finally:
            self._lock.release()

    def append(
        self, partition: str, notes: Sequence[JournalNote], after: Head, frees: Sequence[str]
    ) -> None:
        """Write to the archive, behind an end that was seen; StaleError if it is another."""
        self.archive.append(partition, notes, after=after, frees=frees)
        if self._followed is not None:
            self._followed.wrote(partition, after, notes)

    def forget(self, partition: str) -> None:
        """It was written to by a caller, who is to see it in every list.

        After this, none is answered from what was read before it was written.
        """
        with self._alone():
            self._kept.forget(partition)

    def close(self) -> None:
        """End the threads that answer and look; what they work on is finished."""
        if self._turns is not None:
            self._turns.shutdown()
        if self._looks is not None:
            self._looks.close()

    def ask(self, question: Callable[[Journals], T]) -> T:
        """The answer to a question; none is older than a second, or than the last entry."""
        with self._alone():
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
        with self._alone():
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
        with self._alone():
            heads = self.seen.heads()
            yield self._made(heads), heads

    def _made(self, heads: dict[str, int]) -> Journals:
        now = self._clock.now()
        return Journals(self.seen, self._rules_of, now, kept=self._kept, heads=heads)

    def _current(self) -> Journals:
        heads, now = self.seen.heads(), self._clock.now()
        known = self._journals
        if known is None or heads != self._heads or not 0 <= now - known.now < SECOND:
            known = self._made(heads)
            self._journals, self._heads = known, heads
        return known


def _tried(run: Callable[[], T]) -> tuple[T | None, Exception | None]:
    """What something returns or raises: an error is for the one that asked, and none that waits."""
    try:
        return run(), None
    except Exception as error:  # noqa: BLE001  it is raised again where it is waited for
        return None, error
