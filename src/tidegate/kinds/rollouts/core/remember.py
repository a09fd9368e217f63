"""What a plan makes true of the rollout itself, folded into what is remembered of it.

The worker records this together with the plan, before acting: that a breach became
an abort must survive, or the rollout would start again once the failed targets have returned.
"""

import msgspec
from msgspec.structs import replace

from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.strategy import Retry, Rollout
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import Event
from tidegate.model.target import State, Status, Target

_FRESH = frozenset((State.WAITING, State.JOINED))
# A retry is taken up once.
_NO_RETRY: dict[str, object] = {"retry": Retry.NOTHING, "retry_groups": msgspec.UNSET}


def remember(world: RolloutWorld, plan: RolloutPlan, new_uid: str) -> Rollout:
    """The rollout as it is to be remembered once the plan is recorded."""
    rollout = world.rollout
    if rollout.revision is None:  # from now on it is known which one is under way
        rollout = replace(rollout, revision=world.revision)
    for event in plan.events:
        rollout = replace(rollout, **_changes(event, world, rollout, new_uid))
    return rollout


def _changes(
    event: Event, world: RolloutWorld, rollout: Rollout, new_uid: str
) -> dict[str, object]:
    """What one event changes."""
    match event:
        case Event.RESTARTED:
            fresh = {"uid": new_uid, "restarted": True}
            return fresh | _NO_RETRY | {"aborted": False, "completed": False}
        case Event.RETRIED:
            reopened = rollout.restarted or rollout.completed
            fresh = {"restarted": reopened}
            return fresh | _NO_RETRY | {"aborted": False, "completed": False}
        case Event.ABORTED:
            return {"aborted": True}
        case Event.COMPLETED:
            return {"completed": True, "restarted": False, "last_good": rollout.revision}
        case Event.SUPERSEDED:
            fresh = {"uid": new_uid, "revision": world.revision} | _NO_RETRY
            aborted = rollout.aborted_early == world.revision
            fresh |= {"aborted": aborted, "aborted_early": msgspec.UNSET}
            return fresh | {"completed": False, "restarted": False}


def forgotten(world: RolloutWorld, plan: RolloutPlan) -> list[int]:
    """Positions of targets whose report a retry makes void: they wait, whatever they said.

    Only what was said of the revision that is retried: an older success still says what is there.
    """
    if not {Event.RESTARTED, Event.RETRIED} & set(plan.events):
        return []
    return [
        i
        for i, (target, state) in enumerate(zip(world.targets, plan.states, strict=True))
        if state in _FRESH and target.status is not Status.ToApply and _is_fresh(target, plan)
    ]


def _is_fresh(target: Target, plan: RolloutPlan) -> bool:
    if target.revision is None:
        return plan.course.vouched
    return target.revision == plan.course.revision
