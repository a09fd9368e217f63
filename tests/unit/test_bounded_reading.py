"""What a service answers again and again costs the same however long a journal is."""

from typing import Any

import msgspec

from tests.cli.test_live import DECLARED, aborted
from tests.contract.journals import notes
from tidegate.app.partitions.kept_states import KeptStates
from tidegate.cli.live import journals
from tidegate.engine.brakes.book import BrakeBook
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import Break, JournalNote
from tidegate.journal.facts import Braked, Lifted
from tidegate.kinds.rollouts.core.journal.facts import TargetsObserved
from tidegate.model.plan import Event
from tidegate.model.target import Status, Target
from tidegate.model.time import Instant
from tidegate.store.client.memory import MemoryStore
from tidegate.store.port import Tell

LONG = 5_000


class CountingStore(MemoryStore):
    """Counts the entries that are read or verified."""

    def __init__(self) -> None:
        super().__init__()
        self.entries = self.verified = 0

    def read(self, partition: str, **more: Any) -> Any:
        """So many more."""
        for entry in super().read(partition, **more):
            self.entries += 1
            yield entry

    def verify(self, partition: str, tell: Tell | None = None) -> Break | None:
        """All of them."""
        self.verified += 1
        return super().verify(partition, tell)


def test_what_was_verified_is_verified_once() -> None:
    """Of a chain that no worker leads, and that people write to, only what they wrote."""
    store = CountingStore()
    store.append("r1", notes(LONG))
    kept = KeptStates(store)
    assert kept.broken("r1") is None
    store.entries = 0
    for number in range(10):
        store.append("r1", notes(1, LONG + number))
        assert kept.broken("r1") is None
    assert (store.verified, store.entries) == (1, 10)


def test_what_was_added_is_verified() -> None:
    """An entry that does not follow from the last one that did is found, and stays so."""
    store = CountingStore()
    store.append("r1", notes(3))
    kept = KeptStates(store)
    assert kept.broken("r1") is None
    store.append("r1", notes(2))
    chain = store._partitions["r1"].entries
    chain[3] = msgspec.structs.replace(chain[3], actor="mallory")
    found = kept.broken("r1")
    assert found is not None
    assert found.seq == 4
    store.append("r1", notes(1))
    assert kept.broken("r1") == found


def test_what_ended_a_rollout_is_read_from_the_end_of_its_journal() -> None:
    """However long it was under way before."""
    store = CountingStore()
    well = TargetsObserved(reports=(Target("a", Status.Succeeded, Instant(1), "v1"),))
    failed = TargetsObserved(
        reports=(Target("a", Status.Failed, Instant(1), "v2", detail="3 runs failed"),)
    )
    facts = (DECLARED, *[well] * LONG, failed, aborted(Event.ABORTED))
    store.append("x/y", [JournalNote(Instant(at), "w", fact) for at, fact in enumerate(facts)])
    known = journals(store)
    (one,) = known.all()
    store.entries = 0
    assert known.stopped_by(one).endswith(" a: 3 runs failed")
    assert store.entries <= 2_000


def test_what_follows_from_lifting_a_brake_reads_no_brake_again() -> None:
    """The brakes that are known are copied, and the fact is supposed."""
    store = CountingStore()
    for number in range(100):
        fact = Braked(brake="hold", name=f"h{number}", document={"name": f"h{number}"})
        store.append(BRAKES, [JournalNote(Instant(1), "user:ada", fact)])
    book = BrakeBook(store)
    assert len(book.state().on) == 100
    store.entries = 0
    lifted = Lifted(brake="hold", name="h1", reason="")
    supposed = book.supposing([lifted], Instant(2), "user:ada")
    assert len(supposed.state().on) == 99
    assert len(book.state().on) == 100
    assert store.entries == 0
