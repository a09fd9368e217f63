"""One look at a journal: everything that a reader follows, whatever keeps it."""

from tests.contract.journals import claim, folded, notes
from tidegate.model.time import Duration, Instant
from tidegate.store.archive_port import LOOK_ENTRIES_MAX, Archive
from tidegate.store.followed import FollowedJournal


def test_a_look_has_every_end_and_lease(store: Archive) -> None:
    """As the questions for each of them have it."""
    store.append("r2", notes(3))
    store.append("r1", notes(2))
    lease = store.lease("standby:0", "w1", Instant(5), Duration(100))
    seen = store.look({}).partitions
    assert list(seen) == ["r1", "r2", "standby:0"]
    assert [each.chain for each in seen.values() if each.chain.seq] == store.chains()
    assert {name: each.record for name, each in seen.items() if each.record.lease.token} == (
        store.leases()
    )
    assert seen["standby:0"].record.lease == lease
    store.release(seen["standby:0"].record.lease)
    assert store.look({}).partitions["standby:0"].record == store.leases()["standby:0"]


def test_a_look_has_the_entries_that_were_added(store: Archive) -> None:
    """Of each chain that it is asked of, and of no other; none of one that has none."""
    for name in ("r1", "r2", "r3"):
        store.append(name, notes(5))
    found = store.look({"r1": 2, "r2": 5, "unknown": 0}).entries
    assert found == {"r1": list(store.read("r1", after=2))}


def test_a_look_has_no_part_of_what_was_added(store: Archive) -> None:
    """Not of a chain that grew by more than it takes, nor of one that was compacted."""
    store.append("r1", notes(LOOK_ENTRIES_MAX + 1))
    assert store.look({"r1": 0}).entries == {}
    assert len(store.look({"r1": 1}).entries["r1"]) == LOOK_ENTRIES_MAX
    store.compact("r1", folded(), keep_after=10)
    assert store.look({"r1": 5}).entries == {}


def test_a_look_has_claims_if_they_are_asked_for(store: Archive) -> None:
    """They are a question more."""
    store.append("r1", notes(1), claims=[claim()])
    assert store.look({}).claims is None
    assert store.look({}, claims=True).claims == [claim()]


def test_what_is_followed_is_what_the_journal_has(store: Archive) -> None:
    """After a look: ends, leases, chains, claims, and entries behind any number."""
    followed = FollowedJournal(store)
    for count in (1, 3, 2):
        for name in ("r1", "r2"):
            store.append(name, notes(count))
        store.lease("r1", "w1", Instant(5), Duration(100))
        followed.refresh()
        assert followed.heads() == store.heads()
        assert followed.partitions() == store.partitions()
        assert followed.leases() == store.leases()
        assert followed.chains() == store.chains()
        assert followed.claims() == store.claims()
        assert followed.head("r2") == store.head("r2")
        assert followed.head("unknown") == store.head("unknown")
        for after in range(7):
            every = list(store.read("r1", after=after))
            assert list(followed.read("r1", after=after)) == every
            assert list(followed.read("r1", after=after, limit=2)) == every[:2]
