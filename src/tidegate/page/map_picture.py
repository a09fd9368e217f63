"""The map of targets as an SVG made here, for readers without JavaScript and for print."""

from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby

from tidegate.page.fleet import FleetBlock, FleetQuery, wanted_cells
from tidegate.page.words import LOOKS

WIDTH = 1000
_GAP = 2
# Cells get smaller where there are many: 50,000 must fit a screen or two.
_SIZES = ((1_000, 14), (10_000, 9), (1_000_000_000, 5))
_COLOURS = {
    "failed": "#c8102e",
    "held": "#8a4fff",
    "stopped": "#b35c00",
    "moving": "#0b63ce",
    "soaking": "#0a8f8f",
    "waiting": "#8b95a1",
    "done": "#2c8a3d",
    "ignored": "#c9cfd6",
}
_DIM = "0.18"
_INK = "#667"
# Around a picture that stands alone, and from one entry of its legend to the next.
_EDGE, _LEGEND = 10, 90


def map_picture(blocks: Iterable[FleetBlock], query: FleetQuery, *, alone: bool = False) -> str:
    """Every rollout as a heading and its groups as blocks of cells.

    `alone`: it is shown outside of the page, on paper of its own and with a legend.
    """
    known = list(blocks)
    number = sum(each.size for each in known)
    size = next(each for most, each in _SIZES if number <= most)
    body, y = list[str](), 0
    for block in known:
        y += 20
        body.append(_text(y, f"{block.id} — {block.summary}", "bold"))
        y += 6
        for group, cells in _groups(block, query):
            if group:
                y += 12
                red = any(look == "failed" for look, _ in cells)
                weight, colour = ("bold", _COLOURS["failed"]) if red else ("normal", _INK)
                body.append(_text(y, group, weight, colour))
                y += 4
            columns = max(1, WIDTH // size)
            body += _paths(cells, columns, size, y)
            y += -(-len(cells) // columns) * size + 6
    if alone:
        y += 20
        body += _legend(known, y)
    edge = _EDGE if alone else 0
    wide, high = WIDTH + 2 * edge, y + 10 + 2 * edge
    paper = f'<path fill="#fff" d="M-{edge} -{edge}h{wide}v{high}h-{wide}z"/>' if alone else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}"'
        f' viewBox="{-edge} {-edge} {wide} {high}" font-family="sans-serif" font-size="12">'
        f"{paper}{''.join(body)}</svg>\n"
    )


def _legend(blocks: list[FleetBlock], y: int) -> Iterator[str]:
    """What each shape means, of those that are there."""
    there = [each for each in LOOKS if any(block.counts[each.name] for block in blocks)]
    for at, each in enumerate(there):
        x = at * _LEGEND
        yield from _paths([(each.name, True)], 1, _SIZES[0][1], y - 10, x)
        yield _text(y, each.word, "normal", x=x + 18)


def _groups(block: FleetBlock, query: FleetQuery) -> Iterator[tuple[str, list[tuple[str, bool]]]]:
    cells = block.cells
    rows = [
        (cells.kinds[index].group, cells.kinds[index].look, wanted)
        for index, wanted in zip(cells.cells, wanted_cells(cells, query), strict=True)
    ]
    order = {each.name: at for at, each in enumerate(block.lanes)}
    rows.sort(key=lambda row: order.get(row[0], len(order)))
    for group, some in groupby(rows, key=lambda row: row[0]):
        yield group, [(look, wanted) for _, look, wanted in some]


def _paths(
    cells: list[tuple[str, bool]], columns: int, size: int, top: int, left: int = 0
) -> Iterator[str]:
    """One path for each look: a square for each cell, smaller and hollow where it waits."""
    drawn: dict[tuple[str, bool], list[str]] = {}
    side = size - _GAP
    for at, key in enumerate(cells):
        x, y = left + at % columns * size, top + at // columns * size
        drawn.setdefault(key, []).append(f"M{x} {y}{_shape(key[0], side)}")
    for (look, wanted), some in drawn.items():
        dim = "" if wanted else f' opacity="{_DIM}"'
        colour = _COLOURS[look]
        paint = (
            f'fill="none" stroke="{colour}" stroke-width="1.5"'
            if look in ("waiting", "soaking", "failed")
            else f'fill="{colour}"'
        )
        yield f'<path {paint}{dim} d="{"".join(some)}"/>'


def _shape(look: str, s: int) -> str:
    """The outline of a cell, from its corner: shapes differ, so that colour is not needed."""
    half = s / 2
    return {
        "failed": f"l{s} {s}m0 -{s}l-{s} {s}",
        "held": f"h{s / 3:g}v{s}h-{s / 3:g}zm{2 * s / 3:g} 0h{s / 3:g}v{s}h-{s / 3:g}z",
        "stopped": f"m0 {s / 3:g}h{s}v{s / 3:g}h-{s}z",
        "moving": f"l{s} {half:g}l-{s} {half:g}z",
        "soaking": f"m{half:g} 0a{half:g} {half:g} 0 1 0 .01 0z",
        "waiting": f"h{s}v{s}h-{s}z",
        "done": f"h{s}v{s}h-{s}z",
        "ignored": f"m{s / 3:g} {s / 3:g}h{s / 3:g}v{s / 3:g}h-{s / 3:g}z",
    }[look]


def _text(y: int, text: str, weight: str, colour: str = _INK, x: int = 0) -> str:
    return f'<text x="{x}" y="{y}" font-weight="{weight}" fill="{colour}">{escape(text)}</text>'
