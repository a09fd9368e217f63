"""Leases of many partitions at once, and wishes for those of others, whatever keeps the journal."""

from tests.contract.journals import Journal
from tidegate.journal.lease import Lease, LeaseRequest, Look
from tidegate.model.time import Duration, Instant
from tidegate.store.archive_port import Archive

NOW, TERM = Instant(1_000), Duration(100)
NAMES = ("k/b", "k/a", "k/ü", "k/z")


def looks(by: str, names: tuple[str, ...] = NAMES) -> dict[str, Look]:
    """What a holder saw of each."""
    return {each: Look(by=by, acts=True, at=NOW) for each in names}


def test_many_are_taken_as_one_by_one(store: Archive) -> None:
    """New ones and known ones, each under its own token; what another has is missing."""
    other = store.lease("k/a", "w2", NOW, TERM)
    assert other is not None
    done = store.take_many("w1", looks("w1"), NOW, TERM)
    assert done == {
        each: Lease(each, "w1", 1, Instant(NOW + TERM)) for each in ("k/b", "k/ü", "k/z")
    }
    assert store.leases()["k/a"].lease == other
    assert store.leases()["k/z"].look == Look(by="w1", acts=True, at=NOW)
    later = Instant(NOW + TERM)
    assert {each.token for each in store.take_many("w1", looks("w1"), later, TERM).values()} == {2}


def test_many_are_renewed_under_their_tokens_unless_they_are_lost(store: Archive) -> None:
    """One expired and was taken by another; one was never held."""
    store.take_many("w1", looks("w1", NAMES[:3]), NOW, TERM)
    store.release(store.leases()["k/a"].lease)
    assert store.lease("k/a", "w2", NOW, TERM) is not None
    soon = Instant(NOW + 60)
    done = store.renew("w1", looks("w1"), soon, TERM)
    assert {name: each.lease.until for name, each in done.items()} == {
        "k/b": soon + TERM,
        "k/ü": soon + TERM,
    }
    assert {each.lease.token for each in done.values()} == {1}
    assert store.renew("w1", looks("w1"), Instant(soon + TERM), TERM) == {}, "they expired"
    assert store.renew("w1", {}, NOW, TERM) == {}


def test_many_are_given_back_and_their_tokens_stay_used(store: Archive) -> None:
    """One that is another's by now stays that."""
    held = store.take_many("w1", looks("w1"), NOW, TERM)
    late = Instant(NOW + TERM)
    other = store.lease("k/b", "w2", late, TERM)
    store.release_many([(lease, Look(by="w1", acts=True, at=late)) for lease in held.values()])
    found = store.leases()
    assert found["k/b"].lease == other
    assert {found[each].lease for each in ("k/a", "k/z")} == {
        Lease(each, "", 1, Instant(0)) for each in ("k/a", "k/z")
    }
    assert found["k/a"].look == Look(by="w1", acts=True, at=late)


def test_a_wish_stays_until_it_is_fulfilled_or_ends(store: Archive) -> None:
    """Renewing and giving back keep it, taking by the one who wished ends it."""
    store.take_many("w1", looks("w1", ("k/a", "k/b")), NOW, TERM)
    wish = LeaseRequest("w2", True, Instant(NOW + 50))
    store.wish(("k/a", "k/b", "k/none"), wish, NOW)
    store.wish(("k/a",), LeaseRequest("w3", True, Instant(NOW + 90)), NOW)
    assert store.leases()["k/a"].wished(NOW) == wish, "the first stays"
    assert store.renew("w1", looks("w1", ("k/a",)), NOW, TERM)["k/a"].wish == wish
    store.release(store.leases()["k/a"].lease)
    assert store.leases()["k/a"].wished(NOW) == wish
    assert store.leases()["k/a"].wished(Instant(NOW + 50)) is None
    assert store.lease("k/a", "w2", NOW, TERM) is not None
    assert store.leases()["k/a"].wish is None
    assert store.leases()["k/b"].lease.holder == "w1"


def test_a_wish_for_what_none_holds_is_not_kept(store: Archive) -> None:
    """It is there to be taken."""
    (lease,) = store.take_many("w1", looks("w1", ("k/a",)), NOW, TERM).values()
    store.release(lease)
    store.wish(("k/a",), LeaseRequest("w2", True, Instant(NOW + 50)), NOW)
    assert store.leases()["k/a"].wish is None


def test_more_leases_than_one_transaction_has_are_kept_whole(journal: Journal) -> None:
    """2,500 partitions, through another handle, too."""
    names = tuple(f"k/{number:04}" for number in range(2_500))
    first, second = journal.open(), journal.open()
    assert len(first.take_many("w1", looks("w1", names), NOW, TERM)) == len(names)
    assert len(second.renew("w1", looks("w1", names), NOW, TERM)) == len(names)
    second.release_many([(each.lease, Look("w1", True)) for each in first.leases().values()])
    assert not any(each.runs(NOW) for each in first.leases().values())
