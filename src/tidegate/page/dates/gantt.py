"""When, as a picture: a bar for each target, freezes shaded, what has no date last, and why."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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


class _Axis(msgspec.Struct, frozen=True):
    """From a moment on, so long."""

    now: Instant
    whole: int

    def across(self, moment: int) -> float:
        """Where a moment is; what is outside of it is at an end."""
        part = min(1.0, max(0.0, (moment - self.now) / self.whole))
        return round(LEFT + part * (WIDTH - LEFT - 10), 1)

    def bar(self, starts_at: str | None, done_at: str) -> tuple[float, float]:
        """Where a bar begins, and its width, wide enough to be seen."""
        start = self.across(parse_instant(starts_at) if starts_at else self.now)
        return start, max(3.0, round(self.across(parse_instant(done_at)) - start, 1))


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
    ends = [each.done_at for each in shown]
    ends += [before[each.target].done_at or "" for each in shown if each.target in before]
    dates = [parse_instant(each) for each in ends if each]
    axis = _Axis(now, max(LEAST, max(dates, default=now) - now))
    high = TOP + HIGH * len(shown) + 6
    body = [*_freezes(freezes, axis, high), *_ticks(axis, high)]
    for at, row in enumerate(shown):
        body += _row(row, before.get(row.target), TOP + at * HIGH, axis, link(row.target))
    return (
        f'<svg class="gantt" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}"'
        f' role="group" aria-labelledby="when-title">{"".join(body)}</svg>'
    )


def _freezes(freezes: Sequence[tuple[str, Span]], axis: _Axis, high: int) -> Iterator[str]:
    for title, span in freezes:
        if span.end > axis.now and span.start < axis.now + axis.whole:
            x = axis.across(span.start)
            width = round(axis.across(span.end) - x, 1)
            yield (
                f'<rect class="freeze" x="{x}" y="{TOP - 6}" width="{width}" height="{high - TOP}">'
                f"<title>{escape(title)}</title></rect>"
            )


def _ticks(axis: _Axis, high: int) -> Iterator[str]:
    # The year is said where there are two.
    first = 5 if format_second(axis.now)[:4] == format_second(axis.now + axis.whole)[:4] else 0
    for number in range(_TICKS):
        moment = axis.now + axis.whole * number // (_TICKS - 1)
        x, word = axis.across(moment), format_second(moment)[first:16].replace("T", " ")
        word += "" if number else _ZONE
        anchor = "end" if number == _TICKS - 1 else "start"
        yield f'<text class="tick" x="{x}" y="14" text-anchor="{anchor}">{word}</text>'
        yield f'<path class="line" d="M{x} 18V{high}"/>'


def _row(row: DateRow, was: TargetDates | None, y: int, axis: _Axis, address: str) -> Iterator[str]:
    """The name, the bar as things are, and the bar, or why there is none."""
    name = row.target if len(row.target) <= _NAME_MAX else f"{row.target[:_NAME_MAX]}…"
    text = f'<text x="0" y="{y + 12}">{escape(name)}</text>'
    yield f'<a href="{escape(address)}">{text}</a>'
    if was is not None and was.done_at:
        x, width = axis.bar(was.starts_at, was.done_at)
        yield f'<rect class="was" x="{x}" y="{y + HIGH - 5}" width="{width}" height="3"/>'
    if not row.done_at:
        yield f'<text class="none" x="{LEFT}" y="{y + 12}">{escape(row.reason[:110])}</text>'
        return
    x, width = axis.bar(row.starts_at, row.done_at)
    told = escape(f"{row.starts_at or 'now'} – {row.done_at}")
    yield (
        f'<rect class="span" x="{x}" y="{y + 2}" width="{width}" height="{HIGH - 6}"'
        f"><title>{told}</title></rect>"
    )
