"""What looking ahead costs: fleets with their rules run ahead, and the whole of `lint`.

*calm* is the fleet of `upgrades`, for four weeks: most of it waits for soak that never comes.
*moving* has eight sectors, one behind the other, with three upgrades at once in each, and mutexes
that six clusters share: nearly all of it is upgraded, within three months. A *look* is a moment at
which something may change, *decided* how many clusters are decided on in all looks together;
*steps* are the upgrades that are foreseen, of clusters and of node pools. A *list* (`get clusters`)
looks for the next step of each cluster, and no further than a few decisions: so many have *dates*.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import msgspec

from bench.table import Report, count, draw, figure
from bench.timing import Effort, best_ms
from bench.upgrades import SIZES, FleetMix, cluster_of, fleet, organisation
from tidegate.kinds.upgrades.core.foresight.forecast import first_starts, forecast
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.kinds.upgrades.core.lint.lint import lint
from tidegate.kinds.upgrades.wire.modes import read_upgrades
from tidegate.model.time import SECOND, Duration

WEEKS = 4
CALM = UpgradePace(horizon=Duration(WEEKS * 7 * 24 * 3600 * SECOND))
CALM_MAX = 5_000
MOVING_SIZES = (150, 600, 2_500)
SECTORS = tuple(f"s{i}" for i in range(8))
# More than this at once in a sector would be done in days.
LIMIT = "3"
VERSIONS = ("4.14.10", "4.14.11", "4.14.12", "4.15.3", "4.15.4", "4.16.1")
# Of these versions clusters run one of the first.
BEGUN = 3
SCHEDULES = ("* * * * *", "30 */3 * * *", "0 8-16 * * 1-4", "0 */4 * * *")
SOAK_DAYS = ("0", "0", "1", "2")
# So many clusters have a mutex in common.
SHARING = 6


class Row(msgspec.Struct, frozen=True):
    """One fleet."""

    fleet: str
    clusters: int
    looks: int
    decided: int
    steps: int
    ms: float
    # With everything that `lint` finds.
    lint_ms: float
    # The next steps alone, as far as a list looks for them; and how many of them it has.
    list_ms: float
    listed: int


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Measure fleets of every size."""
    sizes = [size for size in SIZES if size <= min(CALM_MAX, max(effort.sizes))]
    rows = [_row("calm", size, fleet(size), CALM, effort, say) for size in sizes]
    rows += [
        _row("moving", size, moving(size), UpgradePace(), effort, say)
        for size in MOVING_SIZES[: 1 if effort.smoke else None]
    ]
    return Report(rows, [_table(rows)])


def _row(
    name: str,
    size: int,
    document: dict[str, Any],
    pace: UpgradePace,
    effort: Effort,
    say: Callable[[str], None],
) -> Row:
    say(f"forecast: {size:,} clusters, {name}")
    world = read_upgrades(document).world
    ahead = partial(forecast, world, world.now, pace)
    outlook = ahead()
    steps = sum(len(each.legs) for each in outlook.expected.values())
    ms = best_ms(ahead, effort.patience_s)
    lint_ms = best_ms(partial(lint, world, world.now, pace), effort.patience_s)
    shortly = partial(first_starts, world, world.now, pace)
    listed = sum(each.leg is not None for each in shortly().values())
    list_ms = best_ms(shortly, effort.patience_s)
    facts = (outlook.looks, outlook.decided, steps)
    return Row(name, size, *facts, ms, lint_ms, list_ms, listed)


def moving(size: int) -> dict[str, Any]:
    """One organisation of so many clusters that are all upgraded, sector after sector."""
    labels = {f"sector-deps.{later}": first for first, later in pairwise(SECTORS)}
    labels |= {f"sector-max-parallel-upgrades.{each}": LIMIT for each in SECTORS}
    mix = FleetMix(VERSIONS, BEGUN, SOAK_DAYS, SCHEDULES, SECTORS, size // SHARING)
    return organisation(labels, [cluster_of(i, mix) for i in range(size)])


def _table(rows: list[Row]) -> str:
    lines = [
        (
            row.fleet,
            count(row.clusters),
            count(row.looks),
            count(row.decided),
            count(row.steps),
            figure(row.ms / 1000),
            figure(row.lint_ms / 1000),
            figure(row.list_ms / 1000),
            count(row.listed),
        )
        for row in rows
    ]
    heads = ("FLEET", "CLUSTERS", "LOOKS", "DECIDED", "STEPS", "CPU S", "LINT S", "LIST S", "DATES")
    return draw("Upgrades run ahead", heads, lines)
