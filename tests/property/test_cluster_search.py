"""Searches for OpenShift Cluster Manager: whatever a value is, it is asked for and found."""

from urllib.parse import parse_qs, urlsplit

from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from tidegate.kinds.upgrades.ocm.search import (
    ADDRESS_MAX,
    both,
    chunks,
    encoded,
    equals,
    one_of,
    starts,
)
from tidegate.kinds.upgrades.ocm.simulated.search import compile_search

# Quotes, patterns, what addresses use, and the words of the language itself.
_ODD = st.text("'%_\\&=+#?;()\n, ", max_size=8)
_WORDS = st.sampled_from(["' or 1=1 --", "and", "in ('a')", "it''s", "''", "%27", "null"])
TEXTS = st.one_of(_ODD, _WORDS, st.text(st.characters(exclude_categories=["Cs"]), max_size=30))


@given(TEXTS, TEXTS, TEXTS)
def test_any_text_survives(value: str, other: str, key: str) -> None:
    """It finds what is equal and nothing else, beside other terms, in whatever quotes."""
    fits = compile_search(both(equals("a", value), one_of("b", [other, key])))
    assert fits({"a": value, "b": other})
    assert fits({"a": value, "b": key})
    assert not fits({"a": value + "x", "b": other})
    assert fits({"a": other, "b": other}) is (value == other)


@given(TEXTS, TEXTS)
def test_a_prefix_is_taken_by_its_letters(prefix: str, text: str) -> None:
    """What means something in a pattern means itself."""
    fits = compile_search(starts("key", prefix))
    assert fits({"key": prefix + text})
    assert fits({"key": text}) is text.startswith(prefix)


@given(TEXTS)
def test_any_text_survives_the_way_through_an_address(value: str) -> None:
    """As it was given, so it arrives."""
    url = URL(f"http://x/y?search={encoded(value)}&page=2", encoded=True)
    assert url.query["search"] == value
    parsed = parse_qs(urlsplit(str(url)).query, keep_blank_values=True)
    assert parsed == {"search": [value], "page": ["2"]}


@given(st.lists(TEXTS, max_size=60), st.integers(0, 200), st.integers(600, 2000))
def test_pieces_hold_everything_once_and_fit(values: list[str], taken: int, most: int) -> None:
    """Every value is in one piece, and no piece is longer than there is room."""
    pieces = list(chunks(values, taken, most))
    assert sorted(value for piece in pieces for value in piece) == sorted(set(values))
    for piece in pieces:
        assert piece
        assert taken + len(encoded(one_of("", piece))) <= most + len(encoded(" in ( )"))


def test_an_address_holds_some_two_hundred_and_fifty_ids() -> None:
    """Ids of 27 characters: 5,000 of them are 20 questions."""
    ids = [f"{i:027d}" for i in range(5000)]
    assert len(list(chunks(ids, 300, ADDRESS_MAX))) == 20
