"""States of partitions as they were, folded from the nearest state that is kept.

A fold of 100,000 entries takes a second, so states on the way are kept, encoded, up to so many
bytes in all; the next moment begins at the last one before it. A state is a fold: what is dropped
is folded again.
"""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any

from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.kind import Rules, UnderWay
from tidegate.engine.past.store import PastStore
from tidegate.gates.claims import Claim
from tidegate.journal.facts import Folded

# All states that are kept take at most so much; one that would take a quarter of it is not kept.
BYTES_MAX = 64_000_000
# A state is kept after so many entries at least: folding 500 takes some milliseconds.
EVERY = 500


class Checkpoints:
    """Encoded states by partition and entry; those used least lately are dropped first."""

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._lock = Lock()
        self._kept: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._numbers: dict[str, set[int]] = {}
        self.size = 0

    def before(self, partition: str, seq: int) -> tuple[int, bytes] | None:
        """The last state up to an entry."""
        with self._lock:
            numbers = self._numbers.get(partition, ())
            found = max((each for each in numbers if each <= seq), default=0)
            if not found:
                return None
            self._kept.move_to_end((partition, found))
            return found, self._kept[partition, found]

    def keep(self, partition: str, seq: int, state: bytes) -> None:
        """Keep a state, and drop others where there are too many bytes."""
        if len(state) > self._bytes_max // 4:
            return
        with self._lock:
            if (partition, seq) in self._kept:
                return
            self._kept[partition, seq] = state
            self._numbers.setdefault(partition, set()).add(seq)
            self.size += len(state)
            while self.size > self._bytes_max:
                (name, number), dropped = self._kept.popitem(last=False)
                self._numbers[name].discard(number)
                self.size -= len(dropped)


class PastStates:
    """The states of partitions at one moment; each is folded once."""

    def __init__(self, store: PastStore, checkpoints: Checkpoints) -> None:
        self._store = store
        self._checkpoints = checkpoints
        self._lock = Lock()
        self._states: dict[str, Any] = {}
        # Partitions whose state of then rests on entries that were dropped.
        self.unknown: set[str] = set()

    def of(self, rules: Rules[Any, Any, Any]) -> Callable[[str], Any]:
        """The state of a partition of a kind, by its name."""

        def state(partition: str) -> Any:
            with self._lock:
                if partition not in self._states:
                    self._states[partition] = self._folded(partition, rules)
                return self._states[partition]

        return state

    def _folded(self, partition: str, rules: Rules[Any, Any, Any]) -> Any:
        end = self._store.end(partition)
        kept = self._nearest(partition, end)
        # What follows entries that were dropped is no state until one is recorded.
        known = kept is not None or partition not in self._store.dropped()
        seq, state = (kept[0], rules.decode(kept[1])) if kept is not None else (0, rules.empty())
        saved = seq
        for entry in self._store.read(partition, after=seq):
            fact = entry.fact()
            known = known or isinstance(fact, Folded)
            if known:
                state, seq = rules.fold(state, entry.at, fact, entry.actor), entry.seq
            if known and seq - saved >= EVERY:
                self._checkpoints.keep(partition, seq, rules.encode(state))
                saved = seq
        if not known:
            self.unknown.add(partition)
            return rules.empty()
        return state

    def _nearest(self, partition: str, end: int) -> tuple[int, bytes] | None:
        kept = (self._checkpoints.before(partition, end), self._store.load(partition))
        return max((each for each in kept if each is not None), default=None)


class PastBook(BrakeBook):
    """The brakes of then; the places that were taken are those a recorded decision rests on."""

    def _claims_for(self, way: UnderWay) -> tuple[Claim, ...]:
        return () if way.brakes is None else way.brakes.claims
