"""Batching as the existing manager does it loses no promotion, repeats none, and ends.

The manager makes one content hash a promotion, each different, and opens requests that share none;
the laws about repeats and rest are held for such states. That nothing is lost holds in any state.
"""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from tidegate.kinds.promotions.core.compat.batches import (
    BATCH_LIMIT,
    NewRequest,
    OpenRequest,
    WantedPromotion,
    batch,
)

HASHES = [f"h{number}" for number in range(14)]
any_hashes = st.frozensets(st.sampled_from(HASHES), max_size=6)
channels = st.frozensets(st.sampled_from("abcdef"), min_size=1, max_size=3)
any_wanted = st.lists(st.builds(WantedPromotion, any_hashes, channels), max_size=9)
any_open = st.lists(
    st.builds(OpenRequest, any_hashes, channels, st.booleans(), st.booleans()), max_size=5
)


@st.composite
def managed(draw: st.DrawFn) -> tuple[list[WantedPromotion], list[OpenRequest]]:
    """What the manager itself brings about: single hashes, and open requests that share none."""
    wanted = draw(st.lists(st.sampled_from(HASHES), unique=True, max_size=12))
    there = draw(st.permutations([*HASHES, "old1", "old2"]))
    requests: list[OpenRequest] = []
    for size in draw(st.lists(st.integers(1, 6), max_size=4)):
        hashes, there = frozenset(there[:size]), there[size:]
        if hashes:
            requests.append(OpenRequest(hashes, draw(channels), draw(st.booleans()), True))
    alone = [OpenRequest(frozenset({each}), draw(channels), False, False) for each in there[:2]]
    return (
        [WantedPromotion(frozenset({each}), draw(channels)) for each in wanted],
        draw(st.permutations([*requests, *alone])),
    )


def after(
    wanted: list[WantedPromotion], requests: list[OpenRequest], *, fails: bool = False
) -> list[OpenRequest]:
    """The open requests once everything was done; new ones fail their check or do not."""
    changes = batch(wanted, requests)
    closed = [each for each, _ in changes.closed]
    rest = list(requests)
    for each in closed:
        rest.remove(each)
    return [*rest, *(_opened(each, fails) for each in changes.opened)]


def _opened(each: NewRequest, fails: bool) -> OpenRequest:
    return OpenRequest(each.hashes, each.channels, fails, each.batchable)


def hashes_of(holders: Iterable[WantedPromotion | OpenRequest]) -> list[str]:
    return [each for holder in holders for each in sorted(holder.hashes)]


@given(any_wanted, any_open)
def test_everything_wanted_is_in_an_open_request(
    wanted: list[WantedPromotion], requests: list[OpenRequest]
) -> None:
    """And nothing that is not wanted stays, or is opened."""
    assert set(hashes_of(after(wanted, requests))) == set(hashes_of(wanted))


@given(any_wanted, any_open)
def test_a_request_is_closed_once(
    wanted: list[WantedPromotion], requests: list[OpenRequest]
) -> None:
    """No open request gets two comments, and none is closed that was not open."""
    left = list(requests)
    for each, _ in batch(wanted, requests).closed:
        left.remove(each)


@given(managed())
def test_nothing_is_in_two_requests(
    state: tuple[list[WantedPromotion], list[OpenRequest]],
) -> None:
    """Where the manager began with that, it keeps it so."""
    found = hashes_of(after(*state))
    assert sorted(found) == sorted(set(found))


@given(managed())
def test_what_is_done_is_done(state: tuple[list[WantedPromotion], list[OpenRequest]]) -> None:
    """Where no check fails, a second run closes nothing and opens nothing."""
    wanted, requests = state
    again = batch(wanted, after(wanted, requests))
    assert (again.closed, again.opened) == ((), ())


@given(managed())
def test_taking_apart_ends(state: tuple[list[WantedPromotion], list[OpenRequest]]) -> None:
    """Where every check fails, two more runs leave one request a promotion, and then nothing."""
    wanted, requests = state
    for _ in range(3):
        requests = after(wanted, [_failed(each) for each in requests], fails=True)
    left = batch(wanted, requests)
    assert (left.closed, left.opened) == ((), ())
    assert all(len(each.hashes) == 1 and not each.batchable for each in requests)


def _failed(each: OpenRequest) -> OpenRequest:
    return OpenRequest(each.hashes, each.channels, True, each.batchable)


@given(managed())
def test_a_batch_exceeds_its_limit_by_what_one_request_held(
    state: tuple[list[WantedPromotion], list[OpenRequest]],
) -> None:
    """At most limit - 1 promotions and the limit - 1 of the batch that had room."""
    opened = batch(*state).opened
    assert all(len(each.hashes) <= 2 * (BATCH_LIMIT - 1) for each in opened)


def test_the_laws_can_fail() -> None:
    """A promotion in part of an open request is offered again: the repeat is seen."""
    wanted = [WantedPromotion(frozenset({"h1", "h2"}), frozenset("a"))]
    requests = [
        OpenRequest(frozenset({"h1"}), frozenset("a"), False, False),
    ]
    found = hashes_of(after(wanted, requests))
    assert sorted(found) == ["h1", "h1", "h2"]
