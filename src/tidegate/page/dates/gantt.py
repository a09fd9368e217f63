"""When, as a picture: a bar for each target, freezes shaded, what has no date last, and why."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from types import MappingProxyType

import msgspec

from tidegate.app.documents import TargetDates
from tidegate.gates.freeze import Span
from tidegate.model.time import SECOND, Instant, format_second, parse_instant

# A picture has this many rows at most; the table below has the same.
ROWS_SHOWN = 100
WIDTH, LEFT, HIGH, TOP = 1000, 220, 18, 26
_TICKS = 5
# The picture is at least this long, so that its dates differ.
LEAST = 3600 * SECOND
# What is written behind the first date of the axis: behind each, they would touch.
_ZONE = " UTC"
# Longer names are cut in the picture; the table has them whole.
_NAME_MAX = 30


class DateRow(msgspec.Struct, frozen=True):
    """One target: from when to when, or why there is no date."""

    target: str
    group: str
    starts_at: str
    done_at: str
    reason: str


def date_rows(items: Sequence[TargetDates], now: Instant) -> list[DateRow]:
    """Those that start first first, those without a date last; what is done is left out."""
    rows = [
        DateRow(
            target=each.target,
            group=each.group,
            starts_at=each.starts_at or "",
            done_at=each.done_at or "",
            reason=each.held_by or "",
        )
        for each in items
        if each.done_at is None or parse_instant(each.done_at) > now
    ]
    return sorted(rows, key=lambda row: (not row.done_at, row.starts_at, row.done_at, row.target))


def gantt_picture(
    rows: Sequence[DateRow],
    freezes: Sequence[tuple[str, Span]],
    now: Instant,
    before: Mapping[str, TargetDates] = MappingProxyType({}),
    *,
    link: Callable[[str], str],
) -> str:
    """The rows as an SVG from now to the last date; `before`: as things are, beneath each.

    `link`: where the name of a target leads.
    """
    shown = rows[:ROWS_SHOWN]
    dates = [parse_instant(each.done_at) for each in shown if each.done_at]
    dates += [
        parse_instant(was.done_at)
        for each in shown
        if (was := before.get(each.target)) is not None and was.done_at
    ]
    end = max(dates, default=now)
    whole = max(LEAST, end - now)

    def across(moment: int) -> float:
        part = min(1.0, max(0.0, (moment - now) / whole))
        return round(LEFT + part * (WIDTH - LEFT - 10), 1)

    high = TOP + HIGH * len(shown) + 6
    body = list[str]()
    for title, span in freezes:
        if span.end > now and span.start < now + whole:
            x, width = across(span.start), round(across(span.end) - across(span.start), 1)
            body.append(
                f'<rect class="freeze" x="{x}" y="{TOP - 6}" width="{width}" height="{high - TOP}">'
                f"<title>{escape(title)}</title></rect>"
            )
    # The year is said where there are two.
    first = 5 if format_second(now)[:4] == format_second(now + whole)[:4] else 0
    for number in range(_TICKS):
        moment = now + whole * number // (_TICKS - 1)
        x, word = across(moment), format_second(moment)[first:16].replace("T", " ")
        word += "" if number else _ZONE
        anchor = "end" if number == _TICKS - 1 else "start"
        body.append(f'<text class="tick" x="{x}" y="14" text-anchor="{anchor}">{word}</text>')
        body.append(f'<path class="line" d="M{x} 18V{high}"/>')
    for at, row in enumerate(shown):
        y = TOP + at * HIGH
        name = row.target if len(row.target) <= _NAME_MAX else f"{row.target[:_NAME_MAX]}…"
        text = f'<text x="0" y="{y + 12}">{escape(name)}</text>'
        body.append(f'<a href="{escape(link(row.target))}">{text}</a>')
        was = before.get(row.target)
        if was is not None and was.done_at:
            start = across(parse_instant(was.starts_at) if was.starts_at else now)
            width = max(3.0, round(across(parse_instant(was.done_at)) - start, 1))
            body.append(
                f'<rect class="was" x="{start}" y="{y + HIGH - 5}" width="{width}" height="3"/>'
            )
        if row.done_at:
            start = across(parse_instant(row.starts_at) if row.starts_at else now)
            width = max(3.0, round(across(parse_instant(row.done_at)) - start, 1))
            told = escape(f"{row.starts_at or 'now'} – {row.done_at}")
            body.append(
                f'<rect class="span" x="{start}" y="{y + 2}" width="{width}" height="{HIGH - 6}"'
                f"><title>{told}</title></rect>"
            )
        else:
            body.append(
                f'<text class="none" x="{LEFT}" y="{y + 12}">{escape(row.reason[:110])}</text>'
            )
    return (
        f'<svg class="gantt" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}"'
        f' role="group" aria-labelledby="when-title">{"".join(body)}</svg>'
    )
