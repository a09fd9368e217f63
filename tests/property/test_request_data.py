"""The data block of a request is read back whatever stands around it, and nothing else is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tidegate.kinds.promotions.core.requests.data_block import (
    BLOCK_MAX,
    HOLDS_MAX,
    DataBlockError,
    RequestData,
    read_block,
    with_block,
    without_block,
    written_block,
)
from tidegate.kinds.promotions.core.requests.model import CloseCause, HeldPromotion, combination

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
pieces = st.sampled_from(["<!-- tidegate-pipeline ", " -->", "<!--", "-->", "{}", "\n", "`"])
# What a commit's subject may bring in: pieces of a block, in any order.
wild = st.lists(texts | pieces, max_size=8).map("".join)
names = st.frozensets(texts.filter(bool), min_size=1, max_size=4).map(combination)
contents = st.text("0123456789abcdef", min_size=32, max_size=32)
data = st.builds(
    RequestData,
    pipeline=texts,
    holds=st.lists(st.builds(HeldPromotion, names, contents), min_size=1, max_size=4, unique_by=
        lambda one: one.channels).map(tuple),
    batchable=st.booleans(),
    closed=st.none() | st.sampled_from(CloseCause),
)  # fmt: skip


@given(wild, data)
def test_a_block_is_read_back(text: str, wanted: RequestData) -> None:
    """Even below a text that looks like one, and after a forge changed its line breaks."""
    written = with_block(text, wanted)
    assert read_block(written) == wanted
    assert read_block(written.replace("\n", "\r\n")) == wanted


@given(wild, data, data)
def test_a_block_is_replaced(text: str, before: RequestData, after: RequestData) -> None:
    """One is left, and the text for people is the same as with the first."""
    once = with_block(text, before)
    again = with_block(once, after)
    assert read_block(again) == after
    assert without_block(again) == without_block(once)


@given(wild)
def test_a_text_without_a_block_is_an_error_that_says_so(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(DataBlockError):
        read_block(without_block(text))


GOOD = RequestData(
    pipeline="web", holds=(HeldPromotion(("a",), "0" * 32), HeldPromotion(("b",), "1" * 32)),
    batchable=True,
)  # fmt: skip
MANY = tuple(HeldPromotion((f"c{number:03}",), "0" * 32) for number in range(HOLDS_MAX + 1))


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "0 data blocks"),
        (written_block(GOOD) * 2, "2 data blocks"),
        (written_block(replace(GOOD, version=2)), "of version 2"),
        (written_block(replace(GOOD, holds=())), "holds 0 promotions"),
        (written_block(replace(GOOD, holds=MANY)), f"holds {HOLDS_MAX + 1} promotions"),
        (written_block(replace(GOOD, pipeline="x" * BLOCK_MAX)), "longer than"),
        (written_block(GOOD).replace('"a"', '"b","a"'), "not sorted names"),
        (written_block(GOOD).replace('["b"]', '["a"]'), "same channels twice"),
        (written_block(GOOD).replace("1" * 32, "1" * 31), "32 hexadecimal digits"),
        (written_block(GOOD).replace("batchable", "batched"), "not one"),
        (written_block(GOOD).replace('"holds"', '"more":1,"holds"'), "unknown field"),
    ],
)
def test_what_is_not_quite_a_block_is_refused(text: str, why: str) -> None:
    """With the part that is wrong."""
    assert read_block(written_block(GOOD)) == GOOD
    with pytest.raises(DataBlockError, match=why):
        read_block(text)
