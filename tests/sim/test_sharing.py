"""Partitions are shared evenly: none is led by two, none is without a worker for long."""

import pytest

from tests.sim import sized
from tests.sim.sharing import UNHELD_MAX_S, tell_sharing
from tidegate.engine.leading.share import ShareView, share_step
from tidegate.journal.lease import KeptLease, Lease, LeaseRequest, Look
from tidegate.model.time import Duration, Instant

# Two stories of this size reach every branch that four of twice the size reach.
PARTITIONS, WORKERS, CHANGES = sized(60, 100, 10_000), sized(5, 8, 20), sized(8, 12, 12)
SEEDS = sized(2, 2, 1)
NOW = Instant(1_000)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_workers_that_come_and_go_share_evenly(seed: int) -> None:
    """In virtual time: after each change all have as many within one, and nothing waits long."""
    story = tell_sharing(seed, PARTITIONS, WORKERS, CHANGES)
    assert story.spreads, "no quiet time was reached"
    assert all(most - least <= 1 for most, least in story.spreads), story.spreads
    assert story.unheld_max_s <= UNHELD_MAX_S, story.unheld_max_s
    assert story.moves > 0


def held(by: str, *, acts: bool = True, wish: LeaseRequest | None = None) -> KeptLease:
    """A lease that runs."""
    return KeptLease(Lease("", by, 1, Instant(2_000)), Duration(100), Look(by, acts), wish)


def view(leases: dict[str, KeptLease], *, acts: bool = True) -> ShareView:
    """What worker `me` sees: it could run all of these."""
    return ShareView("me", dict.fromkeys(leases, acts), leases, {}, NOW)


def test_a_new_worker_asks_for_its_share_and_no_more() -> None:
    """Of ten on one worker, five; a difference of one is even."""
    ten = {f"k/{number}": held("other") for number in range(10)}
    assert len(share_step(view(ten)).wish) == 5
    assert share_step(view({"k/0": held("other")})).wish == ()


def test_a_worker_that_observes_takes_nothing_from_one_that_acts() -> None:
    """And one that acts takes over what is only observed, all of it."""
    acted = {f"k/{number}": held("other") for number in range(10)}
    assert share_step(view(acted, acts=False)).wish == ()
    observed = {f"k/{number}": held("other", acts=False) for number in range(10)}
    assert len(share_step(view(observed)).wish) == 10


def test_a_worker_gives_up_what_makes_it_even_and_no_more() -> None:
    """Two newcomers asked for five of ten each: three go to either."""
    until = Instant(2_000)
    ten = {
        f"k/{number}": held("me", wish=LeaseRequest(("a", "b")[number % 2], True, until))
        for number in range(10)
    }
    step = share_step(view(ten))
    by = [ten[each].wish for each in step.give]
    assert len(step.give) == 6
    assert sum(wish is not None and wish.by == "a" for wish in by) == 3
    assert not step.wish


def test_a_wish_that_ended_binds_none() -> None:
    """Its worker is gone: nothing is given up for it, and what is free is taken."""
    old = LeaseRequest("gone", True, Instant(NOW - 1))
    ten = {f"k/{number}": held("me", wish=old) for number in range(10)}
    assert not share_step(view(ten)).give
    free = {"k/0": KeptLease(Lease("k/0", "", 1, Instant(0)), Duration(100), None, old)}
    assert share_step(view(free)).take == ("k/0",)
    kept = {
        "k/0": KeptLease(
            Lease("k/0", "", 1, Instant(0)), wish=LeaseRequest("b", True, Instant(2_000))
        )
    }
    assert not share_step(view(kept)).take
