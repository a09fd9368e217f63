"""The state of one partition in memory, kept in step with the end of its chain.

The state is a fold; keeping it only saves folding it all again. Entries that another process has
written are folded in before anything else is done.
"""

from collections.abc import Callable, Sequence
from math import inf
from threading import RLock
from typing import Any, Generic, TypeVar

from tidegate.engine.kind import Rules
from tidegate.journal.chain import JournalNote, follows
from tidegate.store.port import Append, BrokenChainError, Head, Store, TakenPlace

# A projection is kept every so many entries: a restart folds at most that many again.
PROJECT_EVERY = 200

S = TypeVar("S")


def verify_chain(store: Store, partition: str) -> None:
    """BrokenChainError if what is to be acted on may never have happened."""
    broken = store.verify(partition)
    if broken is not None:
        raise BrokenChainError(partition, broken)


class PartitionState(Generic[S]):
    """The state of a partition, and the way to write to it."""

    def __init__(
        self, store: Store, partition: str, rules: Rules[S, Any, Any], *, acts: bool = False
    ) -> None:
        """`acts`: an entry that does not follow from the one before is a BrokenChainError."""
        self._acts = acts
        self.partition = partition
        self.rules = rules
        # Called when something is known that no round has seen yet; None: no worker runs.
        self.wake: Callable[[], None] | None = None
        # What the last decision rests on, for the round; None: there was none.
        self.basis: Any = None
        # How long the last step of a round took, for the round; without end: none was taken yet.
        self.step_s = inf
        self._store = store
        # Tasks of one round write from several threads; the state is folded by one at a time.
        self._lock = RLock()
        self._load()
        self.catch_up()

    def _load(self) -> None:
        """Begin with the state that was kept last."""
        kept = self._store.load(self.partition)
        self.state = self.rules.decode(kept[1]) if kept is not None else self.rules.empty()
        self._seq = self._projected = kept[0] if kept is not None else 0
        self._hash = b""
        self._staged: list[JournalNote] = []

    @property
    def next_seq(self) -> int:
        """The number the next entry gets."""
        return self._seq + len(self._staged) + 1

    def _fold(self, notes: Sequence[JournalNote]) -> None:
        for note in notes:
            self.state = self.rules.fold(self.state, note.at, note.fact, note.actor)

    def stage(self, notes: Sequence[JournalNote]) -> None:
        """Fold facts in that are written together with the next ones, in one transaction.

        The next call writes, behind the end of the chain that was caught up with (`after`).
        """
        with self._lock:
            self._fold(notes)
            self._staged += notes

    @property
    def is_staged(self) -> bool:
        """Whether something waits to be written."""
        return bool(self._staged)

    def catch_up(self) -> Head:
        """Fold in what others have written; the end of the chain as it is folded."""
        with self._lock:
            if self._staged:  # what was to be written with it was not: it never happened
                self._load()
            for entry in self._store.read(self.partition, after=self._seq):
                if self._acts and self._hash:
                    broken = follows(self._hash, self._seq, entry)
                    if broken is not None:
                        raise BrokenChainError(self.partition, broken)
                self.state = self.rules.fold(self.state, entry.at, entry.fact(), entry.actor)
                self._seq, self._hash = entry.seq, entry.hash
            if not self._hash:  # nothing behind the projection, or nothing at all
                self._hash = self._store.head(self.partition).hash
            return Head(self._seq, self._hash)

    def confirm(self, token: int) -> None:
        """Read what others have written, and that the lease is still ours; StaleError if not."""
        with self._lock:
            self._store.append(self.partition, (), token=token)
            self.catch_up()

    def request(
        self,
        notes: Sequence[JournalNote],
        *,
        after: Head | None = None,
        token: int | None = None,
        claims: Sequence[TakenPlace] = (),
        frees: Sequence[str] = (),
    ) -> Append:
        """What is to be appended: the staged facts, then these."""
        return Append(
            self.partition,
            (*self._staged, *notes),
            after=after,
            token=token,
            claims=tuple(claims),
            frees=tuple(frees),
        )

    def written(self, done: Append, head: Head) -> None:
        """Facts were appended: fold in those that were not staged."""
        with self._lock:
            if head.seq == self._seq + len(done.notes):
                self._fold(done.notes[len(self._staged) :])
                self._seq, self._hash, self._staged = head.seq, head.hash, []
            else:  # entries of others are between, or ours were folded in already
                self.catch_up()

    async def take(self, done: Append, head: Head) -> None:
        """The same in the event loop; a projection that is due is kept by a thread."""
        self.written(done, head)
        if self._seq - self._projected >= PROJECT_EVERY:
            from asyncio import to_thread  # readers of a journal have no event loop

            await to_thread(self.project)

    def project(self) -> None:
        """Keep the state, if it is time: a restart folds only what comes after it."""
        with self._lock:
            if self._seq - self._projected >= PROJECT_EVERY:
                self._store.save(self.partition, self._seq, self.rules.encode(self.state))
                self._projected = self._seq

    def write(
        self,
        notes: Sequence[JournalNote],
        *,
        after: Head | None = None,
        token: int | None = None,
        claims: Sequence[TakenPlace] = (),
        frees: Sequence[str] = (),
    ) -> Head:
        """Append facts and fold them in; StaleError if the chain moved on or the lease is lost."""
        with self._lock:
            done = self.request(notes, after=after, token=token, claims=claims, frees=frees)
            head = self._store.append(
                self.partition,
                done.notes,
                after=after,
                token=token,
                claims=claims,
                frees=frees,
            )
            self.written(done, head)
            self.project()
            return head
