"""All that is held against every single plan."""

from tests.sim.invariants import RULES, Check
from tests.sim.telling import TELLING
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.time import Instant

CHECKS: tuple[Check, ...] = (*RULES, *TELLING)


def check_plan(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """Hold every law of a single plan against one decision."""
    for check in CHECKS:
        check(world, now, plan)
