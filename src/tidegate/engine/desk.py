"""The desk of one partition: its state in memory, kept in step with the end of its chain.

The state is a fold; the desk only spares folding it all again. When somebody else has written
meanwhile, what was written is folded in before anything else is done.
"""

from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any, Generic, TypeVar

import msgspec

from tidegate.engine.brake_book import BrakeBook
from tidegate.journal.chain import Note
from tidegate.kinds.rollouts.core.journal import state as rollout_state
from tidegate.kinds.rollouts.core.journal.state import RolloutState
from tidegate.store.port import Claim, Head, Store

# A projection is kept every so many entries: a restart folds at most that many again.
PROJECT_EVERY = 200

S = TypeVar("S")


class Form(msgspec.Struct, Generic[S], frozen=True):
    """How the state of a kind of change is made of facts, and kept."""

    empty: Callable[[], S]
    # From a state, a moment, a fact and who wrote it to the next state.
    fold: Callable[[S, Any, Any, str], S]
    encode: Callable[[S], bytes]
    decode: Callable[[bytes], S]


ROLLOUT = Form[RolloutState](
    RolloutState,
    rollout_state.fold,
    msgspec.json.encode,
    msgspec.json.Decoder(RolloutState).decode,
)


class AnyDesk(Generic[S]):
    """The state of a partition, and the way to write to it."""

    def __init__(
        self, store: Store, partition: str, form: Form[S], book: BrakeBook | None = None
    ) -> None:
        self.partition = partition
        self._form = form
        # The brakes of all rollouts; one book can serve many desks.
        self.book = book if book is not None else BrakeBook(store)
        # Called when something is known that no round has seen yet; None: nobody wants to know.
        self.wake: Callable[[], None] | None = None
        self._store = store
        # Tasks of one round write from several threads; the state is folded by one at a time.
        self._lock = RLock()
        self._take_up()
        self.catch_up()

    def _take_up(self) -> None:
        """Begin with the state that was kept last."""
        kept = self._store.load(self.partition)
        self.state = self._form.decode(kept[1]) if kept is not None else self._form.empty()
        self._seq = self._projected = kept[0] if kept is not None else 0
        self._hash = b""
        self._staged: list[Note] = []

    @property
    def next_seq(self) -> int:
        """The number the next entry gets."""
        return self._seq + len(self._staged) + 1

    def stage(self, notes: Sequence[Note]) -> None:
        """Fold facts in that are written with whatever is written next, in one transaction.

        Whoever stages something writes before anything else is done with the desk, and behind the
        end of the chain it has caught up with (`after`).
        """
        with self._lock:
            for note in notes:
                self.state = self._form.fold(self.state, note.at, note.fact, note.actor)
            self._staged += notes

    @property
    def is_staged(self) -> bool:
        """Whether something waits to be written."""
        return bool(self._staged)

    def catch_up(self) -> Head:
        """Fold in whatever others have written; the end of the chain as it is folded."""
        with self._lock:
            if self._staged:  # what was to be written with it was not: it never happened
                self._take_up()
            for entry in self._store.read(self.partition, after=self._seq):
                self.state = self._form.fold(self.state, entry.at, entry.fact(), entry.actor)
                self._seq, self._hash = entry.seq, entry.hash
            if not self._hash:  # nothing behind the projection, or nothing at all
                self._hash = self._store.head(self.partition).hash
            return Head(self._seq, self._hash)

    def confirm(self, token: int) -> None:
        """See what others have written, and that the lease is still ours; StaleError if not."""
        with self._lock:
            self._store.append(self.partition, (), token=token)
            self.catch_up()

    def write(
        self,
        notes: Sequence[Note],
        *,
        after: Head | None = None,
        token: int | None = None,
        claims: Sequence[Claim] = (),
        frees: Sequence[str] = (),
    ) -> Head:
        """Append facts and fold them in; StaleError if the chain moved on or the lease is lost."""
        with self._lock:
            every = [*self._staged, *notes]
            head = self._store.append(
                self.partition, every, after=after, token=token, claims=claims, frees=frees
            )
            if head.seq == self._seq + len(every):
                for note in notes:
                    self.state = self._form.fold(self.state, note.at, note.fact, note.actor)
                self._seq, self._hash, self._staged = head.seq, head.hash, []
            else:  # somebody else's entries stand between
                self.catch_up()
            if self._seq - self._projected >= PROJECT_EVERY:
                self._store.save(self.partition, self._seq, self._form.encode(self.state))
                self._projected = self._seq
            return head


RolloutDesk = AnyDesk[RolloutState]


class Desk(RolloutDesk):
    """The desk of a rollout."""

    def __init__(self, store: Store, partition: str, book: BrakeBook | None = None) -> None:
        super().__init__(store, partition, ROLLOUT, book)
