"""What people do by hand, outside of a round, as the journal keeps it."""

from collections.abc import Callable, Iterable

from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Handled, HandledObject
from tidegate.machine.clock import Clock
from tidegate.model.time import Instant
from tidegate.store.port import Store

# Records what was done by hand.
HandledRecord = Callable[[Handled], None]


def record_by_hand(
    store: Store,
    partition: str,
    objects: Iterable[HandledObject],
    reason: str,
    actor: str,
    now: Instant,
) -> None:
    """Record what was done by hand, by which actor, and why."""
    fact = Handled(objects=tuple(objects), reason=reason)
    store.append(partition, [JournalNote(now, actor, fact)])


def handled_record(store: Store, partition: str, actor: str, clock: Clock) -> HandledRecord:
    """Records facts at the moment they are known: a long act ends later than it began."""

    def record(fact: Handled) -> None:
        store.append(partition, [JournalNote(clock.now(), actor, fact)])

    return record
