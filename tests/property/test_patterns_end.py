r"""Law: a pattern that others wrote is matched as AUS does, and never for ever.

Patterns are made of what owners write, nested as none should be. Where `re` finds an answer
in a short text, ours is the same; in a long one there is an answer, or a refusal, at once.
"""

import re
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sim import sized
from tests.upgraded import world
from tidegate.kinds.upgrades.core.compat.patterns import (
    TRIES_MAX,
    UnboundedPatternError,
    is_found,
    tries,
)
from tidegate.kinds.upgrades.wire.line import answer_compat

ATOMS = st.sampled_from((r"\d", "4", r"\.", ".", "[0-9]", "[^.]", "1", "a", r"\w", "^", "$", r"\b"))
REPEATS = st.sampled_from(
    ("", "", "*", "+", "?", "{1,3}", "{2}", "{2,}", "*?", "+?", "{,2}", "{40}", "++")
)
HEADERS = st.sampled_from(("(", "(", "(?:", "(?P<n>", "(?=", "(?!", "(?<=", "(?i:"))
ENDLESS = (
    r"^(\d+)+$",
    r"(a|a)*b",
    r"^(([0-9.])+)+$",
    r"((\d+\.?)+)+x",
    r"^(.*)*$",
    r"(\d|\d\d)+$",
    r"(\d+){200}",
)


def _grouped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(inner, min_size=1, max_size=3)
    joined = st.tuples(several, st.sampled_from(("", "|"))).map(lambda two: two[1].join(two[0]))
    return st.tuples(HEADERS, joined, REPEATS).map(lambda three: f"{three[0]}{three[1]}){three[2]}")


PATTERNS = st.lists(
    st.recursive(st.tuples(ATOMS, REPEATS).map("".join), _grouped, max_leaves=6),
    min_size=1,
    max_size=4,
).map("".join)
VERSIONS = st.sampled_from(("4.12.18", "4.1.2-rc.1", "4", "", "4.16.40", "444.1"))


@settings(max_examples=sized(100, 100, 400))  # a hundred reach every branch that 400 reach
@given(PATTERNS, VERSIONS)
def test_what_is_found_is_what_the_existing_service_finds(pattern: str, version: str) -> None:
    """Or it is refused, because nothing bounds it and RE2 cannot read it."""
    try:
        expected = re.search(pattern, version) is not None
    except re.error:
        with pytest.raises(re.error):
            is_found(pattern, version)
        return
    try:
        assert is_found(pattern, version) is expected
    except UnboundedPatternError:
        assert tries(pattern, len(version)) > TRIES_MAX


@settings(max_examples=400)
@given(PATTERNS, st.sampled_from(("1" * 60, "4." * 30, "a" * 40 + "!", "4.12.18" * 12)))
def test_no_pattern_is_matched_for_long(pattern: str, version: str) -> None:
    """By CPU time: other work on the machine is not counted."""
    began = time.process_time()
    with suppress(re.error, UnboundedPatternError):
        is_found(pattern, version)
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("pattern", ENDLESS)
def test_an_endless_pattern_ends_in_compat(pattern: str) -> None:
    """The decision of an organisation with such a label is there at once."""
    long = "4.12." + "1" * 60 + "!"
    asked = world({"name": "a", "available_upgrades": ["4.12.18", long]})
    asked["clusters"][0]["labels"]["blocked-versions"] = pattern
    began = time.process_time()
    answer_compat(asked)
    assert time.process_time() - began < 2.0


@pytest.mark.parametrize(
    "pattern, few",
    [
        (r"^4\.16\.5$", True),
        (r"4\.1[2-4]\..*", True),
        (r"^4\.(12|13)\.\d+(-rc\.\d+)?$", True),
        (r"(?!4\.1)4\.\d+", True),
        (r".*-rc.*", True),
        (r"^(\d+)+$", False),
        (r"(?x) a", False),
        (r"(\d+\.)+", False),
        (r"(\d+){200}", False),
        (r"\d{4}-\d{2}-\d{2}", True),
        (r"(a", False),
        (r"a)", False),
    ],
)
def test_ways_are_counted(pattern: str, few: bool) -> None:
    """What owners write has few; what is nested, or not understood, has too many."""
    assert (tries(pattern, 20) <= TRIES_MAX) is few
