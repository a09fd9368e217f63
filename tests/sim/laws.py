"""All that is held against every single plan."""

from tests.sim.invariants import RULES, Check
from tests.sim.telling import TELLING
from tidegate.core.model.time import Instant
from tidegate.core.rollout.decide import RolloutPlan
from tidegate.core.rollout.world import RolloutWorld

CHECKS: tuple[Check, ...] = (*RULES, *TELLING)


def check_plan(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """Hold every law of a single plan against one decision."""
    for check in CHECKS:
        check(world, now, plan)
