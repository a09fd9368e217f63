"""`why` of a rollout document: decided as it is, without a journal."""

from msgspec.structs import replace

from tidegate.app.documents import RolloutDetails, TargetDetails
from tidegate.app.rollouts import view_details, view_target
from tidegate.kinds.rollouts.core.decide import decide
from tidegate.kinds.rollouts.core.explain.view import rollout_view
from tidegate.kinds.rollouts.wire.rollout_doc import RolloutReading

_HINT = "`tidegate why` without it lists all"


def explain_reading(
    reading: RolloutReading, target: str | None = None
) -> RolloutDetails | TargetDetails:
    """Every target of a rollout document, or one with every gate."""
    name = "" if reading.id is None else str(reading.id)
    plan = decide(reading.world, reading.now)
    view = rollout_view(name, reading.world, plan, reading.now)
    warnings = tuple(sorted({each.text() for each in reading.warnings}))
    if target is None:
        return replace(view_details(view), warnings=warnings)
    return replace(view_target(view, target, "target", _HINT), warnings=warnings)
