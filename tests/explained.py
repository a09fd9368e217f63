"""A decided rollout as the document that `why` prints, and its tables."""

from tidegate.app.documents import RolloutDetails
from tidegate.app.rollouts import view_details
from tidegate.app.text.view_text import target_rows
from tidegate.explain.table import Row
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.explain.view import rollout_view
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.time import Instant


def details(world: RolloutWorld, plan: RolloutPlan, now: Instant) -> RolloutDetails:
    """The document of a plan."""
    return view_details(rollout_view("r", world, plan, now))


def rows(world: RolloutWorld, plan: RolloutPlan, now: Instant) -> list[Row]:
    """One row a target."""
    return target_rows(details(world, plan, now).targets, now)
