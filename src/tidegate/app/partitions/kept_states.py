"""What a process that answers again and again keeps: states, brakes, and what was decided of them.

A decision is used again until something that it rests on moves: its journal, a brake that may cover
one of its targets, or the clock, past the moment up to which time alone changes nothing. What rests
on more than that (places of budgets, evidence, other partitions) is decided again after a second.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from msgspec import MsgspecError

from tidegate.app.partitions.decision import Decision
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.kind import Rules
from tidegate.engine.others import OtherStates
from tidegate.engine.past.states import PastStates
from tidegate.gates.brakes import Brakes, changed_brakes, may_concern
from tidegate.gates.scope import kind_of
from tidegate.journal.chain import Break, follows
from tidegate.model.errors import TidegateError
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.port import BrokenChainError, Head, Store

# What an entry that was changed by hand may raise as it is read and folded.
_UNREADABLE = (TidegateError, MsgspecError, ValueError, LookupError, TypeError, AttributeError)

T = TypeVar("T")
# A decision is used again for so long, if nothing was written to its partition meanwhile.
SHARED = Duration(SECOND)


@dataclass(frozen=True)
class KeptDecision:
    """What was decided of a partition, and what it rests on."""

    # The end of its chain, and all brakes there were.
    seq: int
    brakes: Brakes
    # None: nothing was known of it.
    found: Decision | None
    at: Instant
    # Whether it rests on nothing but its own chain, brakes and the clock.
    alone: bool

    def is_fresh(self, now: Instant) -> bool:
        """Whether it is of this second."""
        return 0 <= now - self.at < SHARED

    def holds(self, at: Instant) -> bool:
        """Whether the same would be decided for a later moment."""
        one = self.found
        if one is None or not self.alone:
            return False
        recheck = one.view.recheck_at
        return one.now <= at and (recheck is None or at < recheck)


class KeptStates:
    """States of partitions and the book of brakes; what is read again is only what was added."""

    def __init__(
        self,
        store: Store,
        book: BrakeBook | None = None,
        states: "OtherStates | PastStates | None" = None,
    ) -> None:
        """`book` and `states`: those of another moment; None: those of now."""
        self.book = book or BrakeBook(store)
        self.states = states or OtherStates(store)
        # When all partitions were last asked for.
        self.listed_at = Instant(0)
        self._decided: dict[str, KeptDecision] = {}
        self._made: dict[str, tuple[Decision, object]] = {}
        # The brakes of now, and what is different in each of those before them.
        self._compared: tuple[Brakes, dict[int, tuple[Brakes, Brakes | None]]] | None = None
        self._store = store
        # Chains that were verified, by the end they had.
        self._verified: dict[str, tuple[Head, Break | None]] = {}

    def state(self, rules: Rules[Any, Any, Any], partition: str) -> Any:
        """The state of a partition; BrokenChainError if it cannot be folded for that reason."""
        try:
            return self.states.of(rules)(partition)
        except _UNREADABLE as error:
            broken = self.broken(partition)
            if broken is None:
                raise
            raise BrokenChainError(partition, broken) from error

    def broken(self, partition: str) -> Break | None:
        """Where a chain does not hold; verified once, and then each entry that was added."""
        head, known = self._store.head(partition), self._verified.get(partition)
        if known is None or known[0] != head:
            found = (
                self._store.verify(partition)
                if known is None
                else self._more(partition, head, known)
            )
            known = self._verified[partition] = (head, found)
        return known[1]

    def _more(self, partition: str, head: Head, known: tuple[Head, Break | None]) -> Break | None:
        """The same of a chain that was verified up to an end it had."""
        last, broken = known
        if broken is not None:  # it may have been restored
            return self._store.verify(partition)
        try:
            for entry in self._store.read(partition, after=last.seq):
                if found := follows(last.hash, last.seq, entry):
                    return found
                last = Head(entry.seq, entry.hash)
        except _UNREADABLE:  # what was added is not whole: why is for the slow way to say
            return self._store.verify(partition)
        whole = last == head or last.seq > head.seq
        return None if whole else self._store.verify(partition)

    def keep(self, partition: str, known: KeptDecision) -> None:
        """Remember what was decided of a partition."""
        self._decided[partition] = known

    def forget(self, partition: str) -> None:
        """It was written to by a caller, who is to see it in every list."""
        self._decided.pop(partition, None)

    def is_aging(self, partition: str, now: Instant) -> bool:
        """Whether what was decided of a partition is soon too old for a list."""
        known = self._decided.get(partition)
        return known is None or not 0 <= now - known.at < SHARED // 2

    def known(
        self, partition: str, seq: int, brakes: Brakes, now: Instant, listed: bool
    ) -> KeptDecision | None:
        """What was decided of a partition up to this entry; None: it has to be decided again.

        `brakes`: all there are. `listed`: it is one of many, and may be as it was a second ago.
        """
        known = self._decided.get(partition)
        if known is None or (known.seq != seq and not (listed and known.is_fresh(now))):
            return None
        if known.brakes is brakes:
            return known
        if known.found is None or self._is_touched(known.found, known.brakes, brakes):
            return None
        known = self._decided[partition] = replace(known, brakes=brakes)
        return known

    def _is_touched(self, one: Decision, before: Brakes, after: Brakes) -> bool:
        """Whether brakes that were set or lifted since may say something of its targets."""
        changed = self._difference(before, after)
        if changed is None:
            return False
        return may_concern(changed, kind_of(one.partition), one.named, one.rules.labels(one.state))

    def _difference(self, before: Brakes, after: Brakes) -> Brakes | None:
        """What is in one of both only, worked out once for all partitions decided under both."""
        if self._compared is None or self._compared[0] is not after:
            self._compared = (after, {})
        known = self._compared[1]
        if id(before) not in known:
            # It is kept beside the result, so that no other has its identity meanwhile.
            known[id(before)] = (before, changed_brakes(before, after))
        return known[id(before)][1]

    def once(self, one: Decision, make: Callable[[], T]) -> T:
        """What is made of a decision, and is the same for all that ask for it."""
        made = self._made.get(one.partition)
        if made is not None and made[0] is one:
            return cast(T, made[1])
        fresh = make()
        self._made[one.partition] = (one, fresh)
        return fresh
