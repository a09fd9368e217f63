"""Who goes first: by name, by a label's number, or spread over a label."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.kinds.rollouts.core.rank import label_number, ranked
from tidegate.kinds.rollouts.core.strategy import OrderBy, Ordering

BY_NAME = Ordering()
BY_WAVE = Ordering(OrderBy.LABEL, "wave")
SPREAD = Ordering(OrderBy.SPREAD, "region")

TABLE = [
    ("byte order", BY_NAME, "c10 c2 c1", {}, "c1 c10 c2"),
    ("by number", BY_WAVE, "a b c", {"a": "10", "b": "9", "c": "-1"}, "c b a"),
    ("fractions are numbers", BY_WAVE, "a b", {"a": "1.5", "b": "1.25"}, "b a"),
    ("ties by name", BY_WAVE, "b a", {"a": "1", "b": "1.0"}, "a b"),
    ("no number goes last", BY_WAVE, "a b c", {"a": "soon", "c": "7"}, "c a b"),
    (
        "one of each in turn",
        SPREAD,
        "eu-1 eu-2 us-1 us-2 us-3",
        {"eu-1": "eu", "eu-2": "eu", "us-1": "us", "us-2": "us", "us-3": "us"},
        "eu-1 us-1 eu-2 us-2 us-3",
    ),
    ("no value goes last", SPREAD, "a b c", {"b": "us", "c": "us"}, "b c a"),
    ("an empty value is one", SPREAD, "a b c", {"a": "", "b": "us", "c": "us"}, "a b c"),
]


@pytest.mark.parametrize("_, ordering, names, values, expected", TABLE)
def test_targets_are_ranked(
    _: str, ordering: Ordering, names: str, values: dict[str, str], expected: str
) -> None:
    """Each line of the table."""
    labels = {name: {ordering.label: value} for name, value in values.items()}
    assert ranked(names.split(), ordering, labels) == expected.split()


@pytest.mark.parametrize(
    "value, known",
    [("1", True), ("-1.50", True), ("1e3", False), ("1/2", False), ("", False), ("٣", False)],
)
def test_only_plain_decimals_are_numbers(value: str, known: bool) -> None:
    """What a label may hold is written by hand: no exponents, no fractions, no other digits."""
    assert (label_number(value) is not None) is known


@given(
    st.dictionaries(st.text("abc", max_size=3), st.sampled_from(["1", "2", "eu", ""]), max_size=8),
    st.sampled_from([BY_NAME, BY_WAVE, SPREAD]),
    st.randoms(use_true_random=False),
)
def test_ranking_loses_nothing_and_ignores_the_order_it_is_given(
    values: dict[str, str], ordering: Ordering, random: object
) -> None:
    """The same names, whatever order they come in, in one order."""
    labels = {name: {ordering.label: value} for name, value in values.items()}
    names = list(values)
    first = ranked(names, ordering, labels)
    assert sorted(first) == sorted(names)
    assert ranked(names[::-1], ordering, labels) == first
