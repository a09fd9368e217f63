"""A promotion is found in the first open merge request that carries its channels."""

from hypothesis import given
from hypothesis import strategies as st

from tidegate.kinds.promotions.core.requests.carried import CarriedChannels
from tidegate.kinds.promotions.core.requests.model import (
    HeldPromotion,
    RequestOrigin,
    SeenRequest,
    combination,
)

COMBINATIONS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(combination)
HOLDS = st.lists(COMBINATIONS, min_size=1, max_size=3)
REQUESTS = st.lists(st.tuples(HOLDS, st.sampled_from(RequestOrigin)), max_size=5)


@given(some=REQUESTS, asked=COMBINATIONS)
def test_the_first_request_that_carries_channels_is_found(
    some: list[tuple[list[tuple[str, ...]], RequestOrigin]], asked: tuple[str, ...]
) -> None:
    """Whichever program opened it, and however many requests there are."""
    requests = [
        SeenRequest(
            number=number,
            url="",
            branch="b",
            holds=tuple(HeldPromotion(each, "content") for each in holds),
            origin=origin,
        )
        for number, (holds, origin) in enumerate(some)
    ]
    expected = next((each for each in requests if each.carries(asked)), None)
    assert CarriedChannels(requests).first(asked) == expected
