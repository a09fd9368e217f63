"""Everything that is found in a world, all at once.

    lint(world, now) -> findings, in order

Labels are looked at by themselves; schedules beside the freezes; and the rules are run ahead once,
to see who will wait for ever, and who is too late.
"""

from tidegate.kinds.upgrades.core.foresight.forecast import Outlook, forecast
from tidegate.kinds.upgrades.core.foresight.pace import Pace
from tidegate.kinds.upgrades.core.lint.canaries import canaries
from tidegate.kinds.upgrades.core.lint.ends import ends
from tidegate.kinds.upgrades.core.lint.finding import Finding, in_order
from tidegate.kinds.upgrades.core.lint.stalls import Stalls, agreements
from tidegate.kinds.upgrades.core.lint.windows import windows
from tidegate.kinds.upgrades.core.lint.written import written
from tidegate.kinds.upgrades.core.world import World
from tidegate.model.time import Instant


def lint(
    world: World, now: Instant, pace: Pace | None = None, outlook: Outlook | None = None
) -> tuple[Finding, ...]:
    """Everything that somebody may want to change; `outlook`, if it was worked out already."""
    pace = pace or Pace()
    ahead = outlook or forecast(world, now, pace)
    found: list[Finding] = list(agreements(world, now))
    for fleet in ahead.plan.fleets:
        found += written(fleet)
        found += windows(world, fleet, pace, now)
        lacking = canaries(fleet, ahead.plan.fleets)
        found += lacking.values()
        found += Stalls(fleet, ahead).findings(lacking)
        found += ends(fleet, ahead, world.ends, now)
    return in_order(found)
