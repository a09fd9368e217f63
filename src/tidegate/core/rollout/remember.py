"""What a plan makes true of the rollout itself, folded into what is remembered of it.

Whoever carries a plan out records this together with the plan, before acting: that a breach became
an abort must survive, or the rollout would start again once the failed targets have returned.
"""

import msgspec

from tidegate.core.model.plan import Event
from tidegate.core.model.target import State
from tidegate.core.rollout.decide import RolloutPlan
from tidegate.core.rollout.strategy import Retry, Rollout
from tidegate.core.rollout.world import RolloutWorld

_FRESH = frozenset((State.WAITING, State.JOINED))


def remember(world: RolloutWorld, plan: RolloutPlan, new_uid: str) -> Rollout:
    """The rollout as it is to be remembered once the plan is recorded."""
    rollout = world.rollout
    for event in plan.events:
        match event:
            case Event.RESTARTED:
                rollout = msgspec.structs.replace(
                    rollout, uid=new_uid, retry=Retry.NOTHING, aborted=False, completed=False
                )
            case Event.RETRIED:
                rollout = msgspec.structs.replace(rollout, retry=Retry.NOTHING)
            case Event.ABORTED:
                rollout = msgspec.structs.replace(rollout, aborted=True)
            case Event.COMPLETED:
                good = rollout.revision if rollout.revision is not None else world.revision
                rollout = msgspec.structs.replace(rollout, completed=True, last_good=good)
            case Event.SUPERSEDED:
                rollout = msgspec.structs.replace(
                    rollout,
                    uid=new_uid,
                    version=None,
                    revision=world.revision,
                    completed=False,
                    aborted=False,
                    retry=Retry.NOTHING,
                )
    return rollout


def forgotten(plan: RolloutPlan) -> list[int]:
    """Positions of targets whose report a retry makes void: they wait, whatever they said."""
    if not {Event.RESTARTED, Event.RETRIED} & set(plan.events):
        return []
    return [i for i, state in enumerate(plan.states) if state in _FRESH]
