"""Everything that is found in a world, all at once.

    lint(world, now) -> findings, in order

Labels are looked at by themselves; schedules beside the freezes; and the rules are run ahead once,
to see who will wait for ever, and who is too late.
"""

from tidegate.kinds.upgrades.core.foresight.forecast import FleetForecast, forecast
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.kinds.upgrades.core.lint.automatic import automatic
from tidegate.kinds.upgrades.core.lint.canaries import canaries
from tidegate.kinds.upgrades.core.lint.end_of_life import ends
from tidegate.kinds.upgrades.core.lint.findings import LintFinding, in_order
from tidegate.kinds.upgrades.core.lint.label_text import written
from tidegate.kinds.upgrades.core.lint.stalls import Stalls, agreements
from tidegate.kinds.upgrades.core.lint.windows import windows
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.model.time import Instant


def lint(
    world: UpgradeWorld,
    now: Instant,
    pace: UpgradePace | None = None,
    outlook: FleetForecast | None = None,
) -> tuple[LintFinding, ...]:
    """All findings; `outlook`, if it was computed already."""
    pace = pace or UpgradePace()
    ahead = outlook or forecast(world, now, pace)
    found: list[LintFinding] = list(agreements(world, now))
    for fleet in ahead.plan.fleets:
        found += written(fleet)
        found += automatic(fleet)
        found += windows(world, fleet, pace, now)
        lacking = canaries(fleet, ahead.plan.fleets)
        found += lacking.values()
        found += Stalls(fleet, ahead).findings(lacking)
        found += ends(fleet, ahead, world.ends, now)
    return in_order(found)
