"""Durations as Go writes them, instants as RFC 3339 writes them, both in whole nanoseconds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.model.time import (
    DURATION_MAX,
    SECOND,
    Duration,
    Instant,
    after,
    format_age,
    format_duration,
    format_instant,
    parse_duration,
    parse_instant,
    parse_moment,
)

MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86400 * SECOND

DURATIONS = [
    ("0", 0),
    ("0s", 0),
    ("90s", 90 * SECOND),
    ("1h30m", 90 * MINUTE),
    ("1.5h", 90 * MINUTE),
    ("300ms", 300_000_000),
    ("10us", 10_000),
    ("10µs", 10_000),
    ("10μs", 10_000),
    ("7ns", 7),
    (".5s", SECOND // 2),
    ("1.s", SECOND),
    ("+5m", 5 * MINUTE),
    ("-5m", -5 * MINUTE),
    ("1m1m", 2 * MINUTE),
    ("0.3333333333333333333h", 20 * MINUTE),  # nineteen digits count
    ("0.100000000000000000000h", 6 * MINUTE),
    ("0.830103483285477580700h", 49 * MINUTE + 48 * SECOND + 372_539_827),
    ("9007199254.740993ms", 2**53 + 1),
    ("9223372036854775807ns", 2**63 - 1),
    ("-9223372036854775808ns", -(2**63)),
]


@pytest.mark.parametrize("text, nanoseconds", DURATIONS)
def test_a_duration_is_read_as_go_reads_it(text: str, nanoseconds: int) -> None:
    """Units, fractions, signs and sums, to the nanosecond."""
    assert parse_duration(text) == nanoseconds


BAD_DURATIONS = [
    ("", "empty"),
    ("+", "empty"),
    ("5", "without a unit"),
    ("2d", 'unknown unit "d"'),
    ("5 m", "unknown unit"),
    ("m", "not a duration"),
    (".s", "not a duration"),
    ("1h-5m", "unknown unit"),
    ("--5m", "not a duration"),
    ("None", "not a duration"),
    ("9223372036854775808ns", "292 years"),
    ("99999999h", "292 years"),
    pytest.param("9" * 5000 + "h", "292 years", id="more digits than Python reads"),
]


@pytest.mark.parametrize("text, problem", BAD_DURATIONS)
def test_what_go_refuses_is_refused(text: str, problem: str) -> None:
    """And the refusal says what is wrong."""
    with pytest.raises(ValueError, match=problem):
        parse_duration(text)


@pytest.mark.parametrize(
    "nanoseconds, text",
    [
        (0, "0s"),
        (90 * MINUTE, "1h30m"),
        (HOUR, "1h"),
        (HOUR + 5 * SECOND, "1h5s"),
        (1, "0.000000001s"),
        (1_500_000_000, "1.5s"),
        (-90 * SECOND, "-1m30s"),
    ],
)
def test_a_duration_is_written_without_idle_zeros(nanoseconds: int, text: str) -> None:
    """5400 s is 1h30m, not 1h30m0s."""
    assert format_duration(nanoseconds) == text


@given(st.integers(-(DURATION_MAX // 1000), DURATION_MAX // 1000))
def test_a_written_duration_reads_back(nanoseconds: int) -> None:
    """Writing loses nothing: fractions of a second go through a double, and nine digits fit."""
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds


@pytest.mark.parametrize(
    "nanoseconds, text",
    [
        (-SECOND, "0s"),
        (0, "0s"),
        (1, "<1s"),
        (45 * SECOND, "45s"),
        (90 * MINUTE, "1h30m"),
        (3 * DAY + 4 * HOUR + 5 * MINUTE, "3d4h"),
        (3 * DAY + 5 * MINUTE, "3d"),
        (DAY, "1d"),
    ],
)
def test_an_age_is_its_two_largest_units(nanoseconds: int, text: str) -> None:
    """People want to know about how long, at a glance."""
    assert format_age(nanoseconds) == text


INSTANTS = [
    ("1970-01-01T00:00:00Z", 0),
    ("1970-01-01t00:00:01z", SECOND),
    ("1970-01-01T01:00:00+01:00", 0),
    ("1969-12-31T23:59:59Z", -SECOND),
    ("1970-01-01T00:00:00.5Z", SECOND // 2),
    ("1970-01-01T00:00:00.123456789Z", 123_456_789),
    ("1970-01-01T00:00:00.1234567899Z", 123_456_789),
    ("2026-01-02T03:04:05Z", 1_767_323_045 * SECOND),
    # Seconds may be left out, as ISO 8601 has it.
    ("2026-01-02T03:04Z", 1_767_323_040 * SECOND),
    ("2026-01-02T04:04+01:00", 1_767_323_040 * SECOND),
]


@pytest.mark.parametrize("text, nanoseconds", INSTANTS)
def test_an_instant_is_read_to_the_nanosecond(text: str, nanoseconds: int) -> None:
    """Offsets are taken off, fractions kept, digits beyond the ninth dropped."""
    assert parse_instant(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02 03:04:05Z",
        "2026-13-02T03:04:05Z",
        "2026-02-30T03:04:05Z",
        "2026-01-02T25:04:05Z",
        "2026-01-02T03:04:05+0100",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04.5Z",
        "2026-01-02T03Z",
        "2026-01-02T03:04",
        "２０２６-01-02T03:04:05Z",
    ],
)
def test_what_is_no_rfc_3339_time_is_refused(text: str) -> None:
    """A time without an offset, above all, is no instant."""
    with pytest.raises(ValueError, match="not a"):
        parse_instant(text)


@pytest.mark.parametrize(
    "text", ["200000d", "106751d24h", "9" * 5000 + "d", "1d" + "9" * 5000 + "h"]
)
def test_days_are_bounded_as_hours_are(text: str) -> None:
    """Nothing is clamped to the end of the calendar."""
    with pytest.raises(ValueError, match="neither"):
        parse_moment(text, Instant(0), 1)
    assert parse_moment("106751d", Instant(0), -1) == -106_751 * 86_400 * SECOND


@given(st.integers(-62_135_596_800 * SECOND, 253_402_300_799 * SECOND))
def test_a_written_instant_reads_back(nanoseconds: int) -> None:
    """Every instant of the years 1 to 9999 survives being written."""
    assert parse_instant(format_instant(nanoseconds)) == nanoseconds


@pytest.mark.parametrize(
    "seconds, text", [(10**12, "9999-12-31T23:59:59Z"), (-(10**12), "0001-01-01T00:00:00Z")]
)
def test_an_instant_outside_the_calendar_is_shown_at_its_end(seconds: int, text: str) -> None:
    """A deadline of 292 years from now must not break an explanation."""
    assert format_instant(seconds * SECOND) == text


def test_later_is_a_sum() -> None:
    """An instant and a duration make an instant."""
    assert after(Instant(5), Duration(7)) == 12
