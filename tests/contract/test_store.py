"""What the engine may rely on, whatever keeps the journal: chains, leases, claims, projections."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.contract.journals import Journal, claim, database_of, folded, note, notes
from tests.patience import PATIENCE_S
from tidegate.journal.chain import JournalNote, genesis, link
from tidegate.journal.facts import Braked
from tidegate.journal.lease import KeptLease, Lease, Look
from tidegate.model.errors import StaleError
from tidegate.model.time import Duration, Instant
from tidegate.store.archive_port import Archive
from tidegate.store.client.partition import lock
from tidegate.store.port import Head, LostClaimError

NOW = Instant(1_000)
TERM = Duration(100)
NAMES = {
    "blank": "r 12",
    "unicode": "ü/✓/😀",
    "long": "a" * 500,
    "quotes": "'; DROP TABLE x --",
    "newline": "a\nb",
    "placeholders": "%s ? :x",
}


def lease_of(store: Archive, holder: str = "w1", now: int = NOW, partition: str = "r1") -> Lease:
    """A lease that no other holds."""
    lease = store.lease(partition, holder, Instant(now), TERM)
    assert lease is not None
    return lease


# Chains


def test_an_empty_chain_ends_at_its_genesis(store: Archive) -> None:
    """Before the first entry a chain ends at number 0 and the hash of the partition's name."""
    assert store.head("r1") == Head(0, genesis("r1"))
    assert list(store.read("r1")) == []
    assert store.partitions() == []
    assert store.heads() == {}


def test_facts_come_back_as_they_were_chained(store: Archive) -> None:
    """What is read is exactly what the core's chain makes of the notes, byte for byte."""
    first, second = notes(3), notes(2, first=3)
    store.append("r1", first)
    head = store.append("r1", second)
    expected = list(link(genesis("r1"), 1, [*first, *second]))
    assert list(store.read("r1")) == expected
    assert head == store.head("r1") == Head(5, expected[-1].hash)
    assert [entry.fact() for entry in store.read("r1")] == [n.fact for n in [*first, *second]]


def test_reading_starts_behind_a_number_and_stops_at_a_limit(store: Archive) -> None:
    """`after` and `limit` choose a stretch of the chain; past its end there is nothing."""
    store.append("r1", notes(9))

    def numbers(after: int = 0, limit: int | None = None) -> list[int]:
        return [entry.seq for entry in store.read("r1", after=after, limit=limit)]

    assert numbers(after=6) == [7, 8, 9]
    assert numbers(limit=2) == [1, 2]
    assert numbers(after=3, limit=4) == [4, 5, 6, 7]
    assert numbers(after=8, limit=5) == [9]
    assert numbers(after=9) == numbers(after=99) == numbers(limit=0) == []


def test_a_long_chain_is_read_whole(store: Archive) -> None:
    """More entries than are fetched at once come back complete and in order."""
    store.append("r1", notes(5_000))
    assert [entry.seq for entry in store.read("r1")] == list(range(1, 5_001))
    assert store.verify("r1") is None


def test_heavy_facts_are_read_whole(store: Archive) -> None:
    """Facts of a megabyte are fetched a few at a time, and come back complete."""
    heavy = Braked(brake="hold", name="x", document={"text": "x" * 1_000_000})
    store.append("r1", [JournalNote(NOW, "ada", heavy)] * 12)
    store.append("r1", notes(200))
    assert [len(entry.body) > 1_000_000 for entry in store.read("r1")] == [True] * 12 + [
        False
    ] * 200
    assert store.verify("r1") is None


def test_partitions_know_nothing_of_each_other(store: Archive) -> None:
    """Each partition has its own numbers and its own chain; they are listed by name."""
    store.append("z/2", notes(1))
    store.append("a/1", notes(2))
    store.append("Z/3", notes(3))
    assert store.partitions() == ["Z/3", "a/1", "z/2"]
    assert store.heads() == {"Z/3": 3, "a/1": 2, "z/2": 1}
    assert [entry.seq for entry in store.read("a/1")] == [1, 2]
    assert next(store.read("a/1")).hash != next(store.read("z/2")).hash


def test_appending_nothing_writes_nothing(store: Archive) -> None:
    """No notes, no entry: the end stays where it is, and a new partition does not appear."""
    assert store.append("r1", []) == Head(0, genesis("r1"))
    assert store.partitions() == []
    head = store.append("r1", notes(1))
    assert store.append("r1", []) == head


def test_an_append_is_all_or_none(store: Archive) -> None:
    """If one fact of many cannot be written, none is."""
    bad = JournalNote(NOW, "ada", Braked(brake="hold", name="x", document={"what": object()}))
    with pytest.raises(TypeError):
        store.append("r1", [note(1), bad], claims=[claim()])
    assert store.head("r1").seq == 0
    assert store.claims() == []


@pytest.mark.parametrize("name", list(NAMES.values()), ids=list(NAMES))
def test_names_are_kept_as_they_are(store: Archive, name: str) -> None:
    """Partitions, actors and targets may be called anything."""
    store.append(name, [note(1, target=name, actor=name)])
    (entry,) = store.read(name)
    assert (entry.actor, entry.target, store.partitions()) == (name, name, [name])
    assert store.verify(name) is None


def test_a_name_with_a_nul_is_refused(store: Archive) -> None:
    """What one database cannot keep, none does: the caller learns it before anything is written."""
    for bad in ("r\0", "r1"):
        with pytest.raises(ValueError, match="NUL"):
            store.append(bad, [note(1, actor="a" if "\0" in bad else "a\0")])
    with pytest.raises(ValueError, match="NUL"):
        store.append("r1", notes(1), claims=[claim(key="k\0")])
    assert store.partitions() == []


# Conditional appends


def test_an_append_behind_the_end_succeeds(store: Archive) -> None:
    """A writer that knows the end of the chain may write behind it."""
    head = store.append("r1", notes(2), after=Head(0, genesis("r1")))
    assert store.append("r1", notes(1), after=head).seq == 3


def test_an_append_behind_another_end_is_stale(store: Archive) -> None:
    """Another person wrote meanwhile: nothing is written, and the error says where it ends."""
    old = store.append("r1", notes(1))
    head = store.append("r1", notes(1))
    with pytest.raises(StaleError, match="r1: the chain ends at 2, not at 1"):
        store.append("r1", notes(1), after=old, claims=[claim()])
    with pytest.raises(StaleError, match="another"):
        store.append("r1", notes(1), after=Head(2, b"x" * 16))
    assert store.head("r1") == head
    assert store.claims() == []


def test_of_many_who_write_behind_one_end_one_succeeds(journal: Journal) -> None:
    """Writers that race for each place in the chain never share it, and lose nothing."""
    stores = [journal.open() for _ in range(4)]

    def write(which: int) -> int:
        store, won = stores[which], 0
        while won < 10:
            try:
                store.append("r1", [note(which)], after=store.head("r1"))
                won += 1
            except StaleError:
                pass
        return won

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(write, range(4))) == 40
    assert stores[0].head("r1").seq == 40
    assert stores[0].verify("r1") is None


def test_writers_of_one_partition_queue(journal: Journal) -> None:
    """Without a condition every append of many at once is written, each in one piece."""
    stores = [journal.open() for _ in range(4)]

    def write(which: int) -> None:
        for _ in range(5):
            stores[which].append("r1", [note(which), note(which), note(which)])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    keys = [entry.fact().key for entry in stores[0].read("r1")]  # type: ignore[attr-defined]
    assert len(keys) == 60
    assert all(len(set(keys[at : at + 3])) == 1 for at in range(0, 60, 3))
    assert stores[0].verify("r1") is None


# Leases and their tokens


def test_a_lease_keeps_others_out_until_it_ends(store: Archive) -> None:
    """One holder at a time, by the caller's clock; every new holder has a larger token."""
    first = lease_of(store, "w1", 1_000)
    assert first == Lease("r1", "w1", 1, Instant(1_100))
    assert store.lease("r1", "w2", Instant(1_099), TERM) is None
    second = lease_of(store, "w2", 1_100)
    assert second.token > first.token
    assert store.lease("r1", "w1", Instant(1_101), TERM) is None


def test_a_lease_is_renewed_under_its_token(store: Archive) -> None:
    """A holder that comes back in time keeps its token and gets more time."""
    first = lease_of(store, "w1", 1_000)
    again = lease_of(store, "w1", 1_050)
    assert (again.token, again.until) == (first.token, 1_150)
    assert store.lease("r1", "w2", Instant(1_149), TERM) is None


def test_a_holder_that_came_late_gets_a_new_token(store: Archive) -> None:
    """After the end of a lease even its last holder is a new one."""
    first = lease_of(store, "w1", 1_000)
    assert lease_of(store, "w1", 1_100).token == first.token + 1


def test_a_lease_given_back_is_free_at_once_and_its_token_stays_used(store: Archive) -> None:
    """The next holder need not wait, and has a larger token."""
    first = lease_of(store, "w1")
    store.release(first)
    assert lease_of(store, "w2").token == first.token + 1


def test_an_old_lease_gives_nothing_back(store: Archive) -> None:
    """A worker that lost a lease cannot release the one that came after it."""
    first = lease_of(store, "w1", 1_000)
    second = lease_of(store, "w2", 1_200)
    store.release(first)
    assert store.lease("r1", "w3", Instant(1_201), TERM) is None
    assert lease_of(store, "w2", 1_201).token == second.token


def test_a_journal_says_who_leads_what_and_when_it_was_last_looked_at(store: Archive) -> None:
    """While a lease runs, after its holder died, and after it was given back."""
    assert store.leases() == {}
    store.append("r2", notes(1))
    first = lease_of(store, "w1", 1_000)
    assert store.leases() == {"r1": KeptLease(first, TERM, None)}, "r2 was never led"
    look = Look(by="w1", acts=True, at=Instant(1_020))
    renewed = store.lease("r1", "w1", Instant(1_050), TERM, look)
    assert renewed is not None
    (record,) = store.leases().values()
    assert record == KeptLease(renewed, TERM, look)
    assert record.runs(Instant(1_149))
    assert not record.runs(Instant(1_150))
    # The next holder has not looked yet: what was seen last is still what was seen last.
    second = lease_of(store, "w2", 1_200)
    assert store.leases()["r1"] == KeptLease(second, TERM, look)
    store.lease("r1", "w2", Instant(1_205), TERM, Look(by="w2", acts=False))
    assert store.leases()["r1"].look == Look(by="w2", acts=False, at=Instant(1_020))
    later = Look(by="w2", acts=False, at=Instant(1_210))
    store.release(second, later)
    (record,) = store.leases().values()
    assert record == KeptLease(Lease("r1", "", second.token, Instant(0)), TERM, later)
    assert not record.runs(Instant(1_211))


def test_one_who_waits_for_a_lease_writes_nothing(database: Journal) -> None:
    """Asking for the lease of another is a question: it does not queue behind a writer."""
    one, two = database.open(), database.open()
    lease_of(one, "w1", 1_000)
    kept = database_of(database)
    with ThreadPoolExecutor(1) as pool, kept.appending() as driver:
        lock(driver, "r1")
        asked = pool.submit(two.lease, "r1", "w2", Instant(1_001), TERM)
        assert asked.result(timeout=PATIENCE_S) is None
    kept.close()
    assert lease_of(two, "w2", 1_100).token == 2


def test_a_lease_of_an_older_tidegate_is_still_one(database: Journal) -> None:
    """It wrote the name of the holder alone: its term and its last look are not known."""
    store = database.open()
    lease_of(store, "w1", 1_000)
    kept = database_of(database)
    with kept.appending() as driver:
        driver.execute("UPDATE journal_partitions SET holder = 'old/7'")
    kept.close()
    assert store.leases() == {"r1": KeptLease(Lease("r1", "old/7", 1, Instant(1_100)))}
    assert store.lease("r1", "w2", Instant(1_099), TERM) is None
    assert lease_of(store, "old/7", 1_050).token == 1


def test_leases_of_partitions_are_apart(store: Archive) -> None:
    """Who holds one partition says nothing of another, and a lease is no entry."""
    lease_of(store, "w1", partition="r1")
    assert lease_of(store, "w2", partition="r2").token == 1
    assert store.partitions() == []


def test_the_newest_token_writes_and_no_other(store: Archive) -> None:
    """A worker that lost its lease without noticing is refused, and shown who has it."""
    first = lease_of(store, "w1", 1_000)
    store.append("r1", notes(1), token=first.token)
    second = lease_of(store, "w2", 1_200)
    with pytest.raises(StaleError, match="token 1 is void: 2 was given out to w2"):
        store.append("r1", notes(1), token=first.token, claims=[claim()])
    assert store.append("r1", notes(1), token=second.token).seq == 2
    assert store.claims() == []


def test_a_token_from_elsewhere_is_refused(store: Archive) -> None:
    """A number that was never given out here, as after an older copy was restored, fences too."""
    with pytest.raises(StaleError, match="not given out"):
        store.append("r1", notes(1), token=7)
    assert store.head("r1").seq == 0


def test_of_many_who_ask_for_a_lease_one_gets_it(journal: Journal) -> None:
    """However they race, one holder comes out, and one token is used."""
    stores = [journal.open() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda i: stores[i].lease("r1", f"w{i}", NOW, TERM), range(4)))
    assert [each.token for each in found if each is not None] == [1]


# Claims


def test_claims_are_taken_with_the_plan(store: Archive) -> None:
    """Claims are there once the facts are, and are listed by name and place."""
    wanted = [claim("mutex/db"), claim("budget/eu", place=1), claim("budget/eu", place=0)]
    store.append("r1", notes(1), claims=wanted)
    assert store.claims() == [wanted[2], wanted[1], wanted[0]]


def test_a_lost_claim_writes_nothing_and_names_the_holder(store: Archive) -> None:
    """One place that is taken, and neither facts nor the other claims are written."""
    held = claim("mutex/db", key="r1/1", partition="r1")
    store.append("r1", notes(1), claims=[held])
    mine = claim("mutex/db", key="r2/1", partition="r2")
    with pytest.raises(LostClaimError, match=r"mutex/db: place 0 is held by r1 \(r1/1\)") as caught:
        store.append("r2", notes(1), claims=[claim("mutex/free", partition="r2"), mine])
    assert caught.value.held == (held,)
    assert isinstance(caught.value, StaleError)
    assert store.partitions() == ["r1"]
    assert store.claims() == [held]


def test_every_lost_claim_is_named(store: Archive) -> None:
    """Several lost claims are reported at once."""
    held = [claim("mutex/a"), claim("mutex/b")]
    store.append("r1", [], claims=held)
    wanted = [claim(name, partition="r2", key="k") for name in ("mutex/b", "mutex/c", "mutex/a")]
    with pytest.raises(LostClaimError) as caught:
        store.append("r2", [], claims=wanted)
    assert caught.value.held == (held[1], held[0])


def test_the_same_task_claims_twice_in_vain_and_in_peace(store: Archive) -> None:
    """A task that claims again under its key has what it had."""
    store.append("r1", notes(1), claims=[claim()])
    store.append("r1", notes(1), claims=[claim()])
    assert store.claims() == [claim()]


def test_one_plan_cannot_take_a_place_twice(store: Archive) -> None:
    """Two tasks of one plan do not share a place either."""
    with pytest.raises(LostClaimError):
        store.append("r1", notes(1), claims=[claim(key="r1/1"), claim(key="r1/2")])
    assert store.claims() == []


def test_freed_claims_are_free(store: Archive) -> None:
    """A key's claims end with an append; keys that hold nothing change nothing."""
    store.append("r1", [], claims=[claim("mutex/a"), claim("mutex/b"), claim("mutex/c", key="k3")])
    store.append("r1", notes(1), frees=["r1/1", "unknown"])
    assert store.claims() == [claim("mutex/c", key="k3")]


def test_a_place_is_freed_before_it_is_taken(store: Archive) -> None:
    """One append may hand a place from one task to the next."""
    store.append("r1", [], claims=[claim(key="r1/1")])
    store.append("r1", notes(1), frees=["r1/1"], claims=[claim(key="r1/2")])
    assert store.claims() == [claim(key="r1/2")]


def test_a_failed_append_frees_nothing(store: Archive) -> None:
    """Whatever an append would have freed stays held if it fails."""
    store.append("r1", [], claims=[claim("mutex/a", key="k1"), claim("mutex/b", key="k2")])
    with pytest.raises(LostClaimError):
        store.append("r1", [], frees=["k1"], claims=[claim("mutex/b", key="k3")])
    assert len(store.claims()) == 2


def test_of_many_who_claim_a_mutex_one_has_it(journal: Journal) -> None:
    """Rollouts that race for two mutexes, in any order, never both get one nor stop each other."""
    stores = [journal.open() for _ in range(4)]
    names = ["mutex/a", "mutex/b"]

    def race(which: int) -> bool:
        order = names if which % 2 else names[::-1]
        wanted = [claim(name, key=f"k{which}", partition=f"r{which}") for name in order]
        try:
            stores[which].append(f"r{which}", notes(1), claims=wanted)
        except StaleError:
            return False
        return True

    for _ in range(5):
        with ThreadPoolExecutor(4) as pool:
            won = list(pool.map(race, range(4)))
        assert won.count(True) == 1
        (holder,) = {each.key for each in stores[0].claims()}
        assert holder == f"k{won.index(True)}"
        stores[0].append("r0", [], frees=[holder])


# Projections


def test_the_newest_projection_is_kept(store: Archive) -> None:
    """A state after a later entry takes the place of one after an earlier, never the reverse."""
    store.append("r1", notes(5))
    assert store.load("r1") is None
    store.save("r1", 3, b"three")
    store.save("r1", 5, b"five")
    store.save("r1", 4, b"four")
    assert store.load("r1") == (5, b"five")
    store.save("r1", 5, b"five again")
    assert store.load("r1") == (5, b"five again")
    assert store.load("r2") is None


def test_a_projection_of_what_is_not_there_is_stale(store: Archive) -> None:
    """A state after an entry the chain does not have is from another journal."""
    store.append("r1", notes(1))
    with pytest.raises(StaleError, match="the chain ends at 1"):
        store.save("r1", 2, b"")


# Compaction


def test_compaction_drops_old_entries_and_the_chain_still_holds(store: Archive) -> None:
    """Entries up to a number go, a Folded fact comes, and the chain verifies from what is kept."""
    store.append("r1", notes(10))
    last_dropped = list(store.read("r1"))[6].hash
    head = store.compact("r1", folded(10), keep_after=7)
    kept = list(store.read("r1"))
    assert [entry.seq for entry in kept] == [8, 9, 10, 11]
    assert kept[-1].kind == "folded"
    assert head == store.head("r1") == Head(11, kept[-1].hash)
    (chain,) = store.chains()
    assert (chain.base_seq, chain.base_hash) == (7, last_dropped)
    assert store.verify("r1") is None


def test_a_compacted_chain_goes_on(store: Archive) -> None:
    """After compaction facts are appended, read and compacted as before."""
    store.append("r1", notes(4))
    head = store.compact("r1", folded(4), keep_after=4)
    assert store.append("r1", notes(2), after=head).seq == 7
    assert [entry.seq for entry in store.read("r1", after=2)] == [5, 6, 7]
    assert [entry.seq for entry in store.read("r1", limit=2)] == [5, 6]
    store.compact("r1", folded(7), keep_after=2)
    assert [entry.seq for entry in store.read("r1")] == [5, 6, 7, 8]
    store.compact("r1", folded(8), keep_after=8)
    assert [entry.seq for entry in store.read("r1")] == [9]
    assert store.verify("r1") is None


def test_a_stale_compaction_drops_nothing(store: Archive) -> None:
    """A state that lacks the newest fact, or comes from an old worker, replaces nothing."""
    old = store.append("r1", notes(2))
    store.append("r1", notes(1))
    with pytest.raises(StaleError):
        store.compact("r1", folded(2), keep_after=2, after=old)
    with pytest.raises(StaleError):
        store.compact("r1", folded(2), keep_after=2, token=1)
    assert [entry.seq for entry in store.read("r1")] == [1, 2, 3]


@pytest.mark.parametrize("keep_after", [-1, 4])
def test_only_what_a_state_stands_for_can_be_dropped(store: Archive, keep_after: int) -> None:
    """No more can be dropped than there is, and only in favour of a Folded fact."""
    store.append("r1", notes(3))
    with pytest.raises(ValueError, match="cannot drop"):
        store.compact("r1", folded(3), keep_after=keep_after)
    with pytest.raises(ValueError, match="Folded"):
        store.compact("r1", note(1), keep_after=2)
    assert store.head("r1").seq == 3


# Durability


def test_what_was_written_is_there_after_reopening(database: Journal) -> None:
    """Facts, claims, leases and projections outlive the process that wrote them."""
    store = database.open()
    head = store.append("r1", notes(3), claims=[claim()])
    store.save("r1", 2, b"two")
    lease = lease_of(store)
    store.close()
    again = database.open()
    assert again.head("r1") == head
    assert [entry.seq for entry in again.read("r1")] == [1, 2, 3]
    assert (again.load("r1"), again.claims()) == ((2, b"two"), [claim()])
    assert lease_of(again, "w9", 9_999).token == lease.token + 1
