"""What looking ahead costs: the fleet of `upgrades`, with its rules run ahead for four weeks.

Every *look* is a whole decision at a moment at which something may change; *steps* are the upgrades
that are foreseen, of clusters and of node pools.
"""

from collections.abc import Callable
from functools import partial

import msgspec

from bench.table import Report, count, draw, figure
from bench.timing import Effort, best_ms
from bench.upgrades import SIZES, fleet
from tidegate.kinds.upgrades.core.foresight.forecast import forecast
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.kinds.upgrades.wire.modes import read_upgrades
from tidegate.model.time import SECOND, Duration

WEEKS = 4
PACE = UpgradePace(horizon=Duration(WEEKS * 7 * 24 * 3600 * SECOND))


class Row(msgspec.Struct, frozen=True):
    """One fleet."""

    clusters: int
    looks: int
    steps: int
    ms: float


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Measure fleets of every size."""
    rows = []
    for size in SIZES:
        if size > max(effort.sizes):
            continue
        say(f"forecast: {size:,} clusters")
        world = read_upgrades(fleet(size)).world
        ahead = partial(forecast, world, world.now, PACE)
        outlook = ahead()
        steps = sum(len(each.legs) for each in outlook.expected.values())
        rows.append(Row(size, outlook.looks, steps, best_ms(ahead, effort.patience_s)))
    return Report(rows, [_table(rows)])


def _table(rows: list[Row]) -> str:
    lines = [
        (count(row.clusters), count(row.looks), count(row.steps), figure(row.ms / 1000))
        for row in rows
    ]
    heads = ("CLUSTERS", "LOOKS", "STEPS", "CPU S")
    return draw(f"Upgrades run ahead for {WEEKS} weeks", heads, lines)
