"""Journals for a process that answers again and again: read once a second, and on every change."""

from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from tidegate.app.journals import Journals, KeptStates, RulesOf
from tidegate.machine.clock import Clock
from tidegate.model.time import SECOND, Instant
from tidegate.store.archive_port import Archive

T = TypeVar("T")


class LiveJournals:
    """Answers questions from decisions that all callers of the same second share.

    States are folded in place, so one question is answered at a time; a long one reads journals of
    its own (`fresh`).
    """

    def __init__(self, archive: Archive, rules_of: RulesOf, clock: Clock) -> None:
        self.archive = archive
        self._rules_of = rules_of
        self._clock = clock
        self._kept = KeptStates(archive)
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

    def ask(self, question: Callable[[Journals], T]) -> T:
        """The answer to a question; none is older than a second, or than the last entry."""
        with self._lock:
            return question(self._current())

    def _current(self) -> Journals:
        heads, now = self.archive.heads(), self._clock.now()
        known = self._journals
        if known is None or heads != self._heads or not 0 <= now - known.now < SECOND:
            known = Journals(self.archive, self._rules_of, now, kept=self._kept)
            self._journals, self._heads = known, heads
        return known
