"""Law: a rule is worked out as a calendar on the wall has it, whatever the time zone does."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.documents.recurrence import (
    RecurringSeries,
    expand,
    instant_of,
    parse_rule,
    wall_clock,
)
from tidegate.model.time import SECOND, Instant, parse_instant

FIRST = datetime(2024, 1, 31, 22, 0)  # noqa: DTZ001
DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu")
YEAR = 366 * 86400 * SECOND


@st.composite
def rules(draw: st.DrawFn) -> dict[str, str]:
    """Rules of the kinds people write for freezes."""
    found = {"FREQ": draw(st.sampled_from(("DAILY", "WEEKLY", "MONTHLY", "YEARLY")))}
    if draw(st.booleans()):
        found["INTERVAL"] = str(draw(st.integers(1, 4)))
    some_days = st.lists(st.sampled_from(DAYS), min_size=1, max_size=3, unique=True)
    if draw(st.booleans()):
        found["BYDAY"] = ",".join(draw(some_days))
    if draw(st.booleans()):
        months = st.lists(st.integers(1, 12), min_size=1, max_size=3, unique=True)
        found["BYMONTH"] = ",".join(map(str, draw(months)))
    if draw(st.booleans()) and found["FREQ"] != "WEEKLY":
        month_days = st.lists(
            st.integers(1, 31) | st.integers(-5, -1), min_size=1, max_size=3, unique=True
        )
        found["BYMONTHDAY"] = ",".join(map(str, draw(month_days)))
    if found["FREQ"] == "YEARLY" and "BYDAY" in found and "BYMONTH" not in found:
        del found["BYDAY"]
    return found


def happens(rule: dict[str, str], day: datetime) -> bool:
    """Whether the rule names a day, asked of every day by itself."""
    interval = int(rule.get("INTERVAL", "1"))
    weekdays = [DAYS.index(each) for each in rule["BYDAY"].split(",")] if "BYDAY" in rule else None
    months = [int(m) for m in rule["BYMONTH"].split(",")] if "BYMONTH" in rule else None
    dates = [int(d) for d in rule["BYMONTHDAY"].split(",")] if "BYMONTHDAY" in rule else None
    next_month = (day.replace(day=28) + timedelta(days=4)).replace(day=1)
    left = (next_month.date() - day.date()).days
    if months is not None and day.month not in months:
        return False
    if weekdays is not None and day.weekday() not in weekdays:
        return False
    if dates is not None and not {day.day, -left} & set(dates):
        return False
    match rule["FREQ"]:
        case "DAILY":
            return (day.date() - FIRST.date()).days % interval == 0
        case "WEEKLY":
            monday, first = (d - timedelta(days=d.weekday()) for d in (day, FIRST))
            weeks = (monday.date() - first.date()).days // 7
            named = weekdays is not None or day.weekday() == FIRST.weekday()
            return weeks % interval == 0 and named
        case "MONTHLY":
            passed = (day.year - FIRST.year) * 12 + day.month - FIRST.month
            named = weekdays is not None or dates is not None or day.day == FIRST.day
            return passed % interval == 0 and named
        case _:
            named = weekdays is not None or dates is not None or day.day == FIRST.day
            named = named and (months is not None or dates is not None or day.month == FIRST.month)
            return (day.year - FIRST.year) % interval == 0 and named


@given(rules())
def test_a_rule_names_the_days_a_calendar_has(rule: dict[str, str]) -> None:
    """Two years of a rule, found by the library and found by asking every day."""
    text = ";".join(f"{name}={value}" for name, value in rule.items())
    begin = instant_of(FIRST.replace(tzinfo=UTC))
    end = Instant(begin + 2 * YEAR)
    spans, _ = expand(RecurringSeries(FIRST, timedelta(hours=2), UTC, text), begin, end)
    days = (FIRST + timedelta(days=i) for i in range(2 * 366))
    wanted = [instant_of(day.replace(tzinfo=UTC)) for day in days if happens(rule, day)]
    assert [span.start for span in spans] == wanted


local_times = st.datetimes(datetime(2025, 1, 1), datetime(2026, 12, 31))  # noqa: DTZ001
lengths = st.integers(1, 60).map(lambda half_hours: timedelta(minutes=30 * half_hours))


@given(st.sampled_from(ZONES), local_times, lengths, st.integers(0, 4 * 24 * 4))
def test_a_span_covers_whatever_the_clock_on_the_wall_shows(
    name: str, start: datetime, length: timedelta, quarters: int
) -> None:
    """Whenever the wall clock shows a time between its ends, the span is on, however it jumps."""
    zone = ZoneInfo(name)
    start = start.replace(second=0, microsecond=0)
    begin = instant_of((start - timedelta(days=2)).replace(tzinfo=zone))
    found, goes_on = expand(RecurringSeries(start, length, zone), begin, Instant(begin + YEAR))
    assert not goes_on
    (span,) = found
    moment = Instant(begin + quarters * 900 * SECOND)
    shown = wall_clock(moment, zone)
    if start <= shown < start + length:
        assert span.start <= moment < span.end
    # It is never longer than the wall clock says by more than the clock is set, on either side.
    slack = 2 * 3600 * SECOND
    assert abs((span.end - span.start) - length.total_seconds() * SECOND) <= slack


@given(rules(), st.sampled_from(ZONES), st.integers(1, 300), st.integers(1, 90))
def test_where_reading_begins_does_not_matter(
    rule: dict[str, str], name: str, after_days: int, for_days: int
) -> None:
    """A later, shorter look sees the same spans in its stretch as one from the beginning."""
    text = ";".join(f"{name}={value}" for name, value in rule.items())
    series = RecurringSeries(FIRST, timedelta(hours=30), ZoneInfo(name), text)
    first = instant_of(FIRST.replace(tzinfo=UTC))
    day = 86400 * SECOND
    begin = Instant(first + after_days * day)
    end = Instant(begin + for_days * day)
    part, _ = expand(series, begin, end)
    whole, _ = expand(series, first, Instant(first + 2 * YEAR))
    assert part == [span for span in whole if span.end > begin and span.start < end]


@pytest.mark.parametrize(
    "rule, starts, goes_on",
    [
        ("FREQ=DAILY;COUNT=2", ["2024-01-31T22:00:00Z", "2024-02-01T22:00:00Z"], False),
        ("RRULE:FREQ=WEEKLY;COUNT=1", ["2024-01-31T22:00:00Z"], False),
        # Until a day: to its end. Until an instant: that one included.
        ("FREQ=DAILY;UNTIL=20240201", ["2024-01-31T22:00:00Z", "2024-02-01T22:00:00Z"], False),
        ("FREQ=DAILY;UNTIL=20240131T220000Z", ["2024-01-31T22:00:00Z"], False),
        ("FREQ=DAILY;UNTIL=20240131T215959Z", [], False),
        # The last day of a month is not the 31st of it.
        ("FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=1", ["2024-01-31T22:00:00Z"], False),
        ("FREQ=MONTHLY;BYMONTHDAY=-2;COUNT=1", ["2024-02-28T22:00:00Z"], False),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", [], False),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYHOUR=22", ["2024-02-29T22:00:00Z"], True),
    ],
)
def test_rules_end_as_they_say(rule: str, starts: list[str], goes_on: bool) -> None:
    """COUNT, UNTIL, and rules that never come true."""
    begin = parse_instant("2024-01-01T00:00:00Z")
    series = RecurringSeries(FIRST, timedelta(hours=1), UTC, rule)
    spans, more = expand(series, begin, Instant(begin + YEAR))
    assert [span.start for span in spans] == [parse_instant(each) for each in starts]
    assert more == goes_on


@pytest.mark.parametrize(
    "rule, wrong",
    [
        ("", 'unknown part ""'),
        ("BYDAY=MO", "FREQ is missing"),
        ("FREQ=HOURLY", 'FREQ cannot be "HOURLY"'),
        ("FREQ=DAILY;INTERVAL=0", 'INTERVAL cannot be "0"'),
        ("FREQ=DAILY;FREQ=WEEKLY", "FREQ appears twice"),
        ("FREQ=DAILY;BYDAY=XX", 'BYDAY cannot be "XX"'),
        ("FREQ=DAILY;BYMONTH=13", 'BYMONTH cannot be "13"'),
        ("FREQ=DAILY;X=1", 'unknown part "X"'),
    ],
)
def test_a_wrong_rule_says_what_is_wrong(rule: str, wrong: str) -> None:
    """The part, and the value that cannot be."""
    with pytest.raises(ValueError, match=wrong):
        parse_rule(rule)


@given(st.text(alphabet="FREQ=DAILYWK;MONTHBYSPUTC,0123456789+-", max_size=40))
def test_any_text_is_a_rule_or_refused(text: str) -> None:
    """Nothing a rule may say makes it run away or crash."""
    series = RecurringSeries(FIRST, timedelta(hours=1), UTC, text)
    with suppress(ValueError):
        expand(series, Instant(0), parse_instant("2026-01-01T00:00:00Z"))
