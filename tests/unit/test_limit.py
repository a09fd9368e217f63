"""Limits: so many targets, or so many percent of them rounded up exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.model.limit import Limit, parse_limit


@pytest.mark.parametrize(
    "limit, total, count",
    [
        ("7%", 100, 7),  # 8 in binary floating point
        ("14%", 50, 7),
        ("28%", 25, 7),
        ("55%", 100, 55),
        ("56%", 25, 14),
        ("1%", 3, 1),
        ("34%", 3, 2),
        ("0%", 100, 0),
        ("100%", 7, 7),
        ("50%", 0, 0),
        (0, 9, 0),
        (3, 9, 3),
        (30, 9, 30),
    ],
)
def test_a_share_is_exact(limit: int | str, total: int, count: int) -> None:
    """No rounding but up, and numbers stay as they are."""
    assert parse_limit(limit).of(total) == count


@given(st.integers(0, 100), st.integers(0, 1_000_000))
def test_a_percentage_is_the_least_count_that_reaches_it(percent: int, total: int) -> None:
    """`count` targets are at least that percentage, and one fewer would not be."""
    count = Limit(percent, percent=True).of(total)
    assert count * 100 >= percent * total
    assert count == 0 or (count - 1) * 100 < percent * total


@pytest.mark.parametrize("value", [0, 1, 10**9, "0%", "9%", "10%", "100%"])
def test_a_limit_is_written_as_it_was_read(value: int | str) -> None:
    """What people wrote is what they are shown."""
    assert str(parse_limit(value)) == str(value)


@pytest.mark.parametrize(
    "value, problem",
    [
        (-1, "negative"),
        ("3", "in quotes"),
        ("2.5%", "not a limit"),
        ("101%", "not a limit"),
        ("-5%", "not a limit"),
        ("05%", "not a limit"),
        (" 5%", "not a limit"),
        ("5 %", "not a limit"),
        ("５%", "not a limit"),
        ("%", "not a limit"),
        ("", "not a limit"),
        ("all", "not a limit"),
        (2.0, "not a limit"),
        (True, "not a limit"),
        (None, "not a limit"),
        ([], "not a limit"),
    ],
)
def test_what_is_no_limit_is_refused(value: object, problem: str) -> None:
    """Nothing is clamped or guessed: a limit that cannot be read stops everything."""
    with pytest.raises(ValueError, match=problem):
        parse_limit(value)
