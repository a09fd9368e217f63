"""Our rules beside the frozen compat rules, which give the library's answers without a reason.

Compat takes groups and statuses as they come, as the library does; so it is held against building
and deciding together. What our rules take on top of it is the price of an explanation a target.
"""

from collections.abc import Callable
from itertools import product

import msgspec

from bench.fleet import NOW, SHARED, Fleet, lay_out
from bench.table import Report, count, draw, figure, times
from bench.timing import Best, Effort, best_ms
from tidegate.kinds.rollouts.core.compat import rules as compat
from tidegate.kinds.rollouts.core.decide import decide


class Row(msgspec.Struct, frozen=True):
    """One scenario at one size."""

    targets: int
    scenario: str
    compat_ms: float
    build_ms: float
    decide_ms: float
    # Building and deciding over compat.
    ratio: float


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Measure every scenario that both know."""
    best = Best()
    for _, scenario, size in product(range(effort.passes), SHARED, effort.sizes):
        say(f"compat: {size:,} targets, {scenario.name}")
        best.note(size, scenario.name, _times(lay_out(scenario, size), effort.patience_s))
    rows = [_row(size, name, ms) for size, name, ms in best.rows()]
    return Report(rows, [_table(rows)])


def _times(fleet: Fleet, patience_s: float) -> dict[str, float]:
    world, theirs = fleet.build(), fleet.compat_world()
    return {
        "compat": best_ms(lambda: compat.decide(theirs, NOW), patience_s),
        "build": best_ms(fleet.build, patience_s),
        "decide": best_ms(lambda: decide(world, NOW), patience_s),
    }


def _row(size: int, name: str, ms: dict[str, float]) -> Row:
    ratio = (ms["build"] + ms["decide"]) / ms["compat"]
    return Row(size, name, ms["compat"], ms["build"], ms["decide"], ratio)


def _table(rows: list[Row]) -> str:
    heads = ("TARGETS", "SCENARIO", "COMPAT MS", "BUILD MS", "DECIDE MS", "STRICT/COMPAT")
    lines = [
        (
            count(row.targets),
            row.scenario,
            figure(row.compat_ms),
            figure(row.build_ms),
            figure(row.decide_ms),
            times(row.ratio),
        )
        for row in rows
    ]
    return draw("Strict beside compat: STRICT/COMPAT is (build + decide) over compat", heads, lines)
