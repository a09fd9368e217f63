"""The status of a Rollout object: what `kubectl get rollouts` and other programs see of a plan."""

from collections.abc import Mapping
from typing import Any

from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.strategy import Rollout
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.time import Instant, format_second

# The conditions, and the summaries in which each is true. Their reason is the summary itself.
_CONDITIONS: Mapping[str, frozenset[Summary]] = {
    "Progressing": frozenset({Summary.WAITING, Summary.PROGRESSING}),
    "Succeeded": frozenset({Summary.SUCCEEDED}),
    "Failed": frozenset({Summary.FAILED, Summary.ABORTED}),
}


def status_of(
    world: RolloutWorld,
    plan: RolloutPlan,
    rollout: Rollout,
    document: Mapping[str, Any],
    now: Instant,
) -> dict[str, Any]:
    """The status that an object should have; a condition that is unchanged keeps its time."""
    counted = sum(each.tally.counted for each in plan.groups)
    done = sum(each.tally.done for each in plan.groups)
    failed = sum(each.tally.failed for each in plan.groups)
    message = f"{done} of {counted} done" + (f", {failed} failed" if failed else "")
    revision = plan.course.revision or ""
    before = {
        each.get("type"): each for each in (document.get("status") or {}).get("conditions") or ()
    }
    return {
        "rolloutStatus": plan.summary.value,
        # The first rollout has no identity but its revision.
        "rolloutUID": rollout.uid or revision,
        "revision": revision,
        "lastSuccessful": rollout.last_good or "",
        "done": f"{done} of {counted}",
        "observedGeneration": int(document["metadata"].get("generation") or 0),
        "decisionGroups": [
            {
                "groupName": world.groups[each.group].label,
                "rolloutStatus": each.status.value,
                "clusters": world.groups[each.group].size,
                "done": each.tally.done,
            }
            for each in plan.groups
        ],
        "conditions": [
            _condition(kind, plan.summary, message, before.get(kind), now) for kind in _CONDITIONS
        ],
    }


def _condition(
    kind: str, summary: Summary, message: str, before: Mapping[str, Any] | None, now: Instant
) -> dict[str, Any]:
    status = "True" if summary in _CONDITIONS[kind] else "False"
    same = before is not None and before.get("status") == status
    return {
        "type": kind,
        "status": status,
        "reason": summary.value,
        "message": message,
        "lastTransitionTime": before["lastTransitionTime"]
        if same and before is not None
        else format_second(now),
    }
