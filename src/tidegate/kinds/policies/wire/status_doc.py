"""The status of a Rollout object: what `kubectl get rollouts` and other programs see of a plan.

An object may have a megabyte, and a fleet ten thousand clusters. So clusters are counted, and only
those that something is wrong with are named, up to a number; of the others the number is told.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tidegate.kinds.policies.core.compliance import is_on_course
from tidegate.kinds.rollouts.core.census import Tally
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.explain.table import failed_words, state_word
from tidegate.kinds.rollouts.core.strategy import Rollout
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.target import State
from tidegate.model.time import Instant, format_second

Status = Mapping[str, Any]

# The conditions, and the summaries in which each is true. Their reason is the summary itself.
_CONDITIONS: Mapping[str, frozenset[Summary]] = {
    "Progressing": frozenset({Summary.WAITING, Summary.PROGRESSING}),
    "Succeeded": frozenset({Summary.SUCCEEDED}),
    "Failed": frozenset({Summary.FAILED, Summary.ABORTED}),
}
# Whether the rollout can be carried out at all.
ACCEPTED = "Accepted"
# How many clusters are named, how many groups have a row, and how long a message may be: together
# about 300 kB, of 1.5 MB that a server takes.
CLUSTERS_MAX = 50
GROUPS_MAX = 1000
MESSAGE_MAX = 300
# What is wrong with a rollout is listed by its author's tools, too: the beginning is enough here.
REFUSAL_MAX = 2000
_FAILED = frozenset((State.FAILED, State.TIMED_OUT))
_ON_THE_WAY = frozenset((State.IN_FLIGHT, State.HOLDING))


def status_of(
    world: RolloutWorld,
    plan: RolloutPlan,
    rollout: Rollout,
    document: Status,
    now: Instant,
) -> dict[str, Any]:
    """The status that an object should have; a condition that is unchanged keeps its time."""
    counts = _totals(plan)
    message = f"{counts['done']} of {counts['counted']} done"
    message += f", {failed_words(plan, counts['failed'])}" if counts["failed"] else ""
    revision = plan.course.revision or ""
    before = conditions_of(document)
    wrong = list(_exceptional(world, plan))
    summary = plan.summary
    return {
        "rolloutStatus": summary.value,
        # The first rollout has no identity but its revision.
        "rolloutUID": rollout.uid or revision,
        "revision": revision,
        "lastSuccessful": rollout.last_good or "",
        "done": f"{counts['done']} of {counts['counted']}",
        "observedGeneration": _generation(document),
        "clusters": counts,
        "exceptionalClusters": wrong[:CLUSTERS_MAX],
        "exceptionalClustersNotNamed": max(0, len(wrong) - CLUSTERS_MAX),
        "decisionGroups": [
            {
                "groupName": world.groups[each.group].label,
                "rolloutStatus": each.status.value,
                "clusters": world.groups[each.group].size,
                **_counts(each.tally),
            }
            for each in plan.groups[:GROUPS_MAX]
        ],
        "decisionGroupsNotNamed": max(0, len(plan.groups) - GROUPS_MAX),
        "conditions": [
            _condition(ACCEPTED, True, ACCEPTED, "it can be staged", before, now),
            *(
                _condition(kind, summary in those, summary.value, message, before, now)
                for kind, those in _CONDITIONS.items()
            ),
        ],
    }


def refused_status(
    document: Status, reason: str, problems: list[str], now: Instant
) -> dict[str, Any]:
    """The status of a rollout that is not carried out: as it was, with the reason."""
    before = conditions_of(document)
    message = shortened("; ".join(problems), REFUSAL_MAX)
    kept = [each for kind, each in before.items() if kind != ACCEPTED]
    return {
        **(document.get("status") or {}),
        "observedGeneration": _generation(document),
        "conditions": [_condition(ACCEPTED, False, reason, message, before, now), *kept],
    }


def conditions_of(document: Status) -> dict[str, Status]:
    """The conditions that an object has, by type."""
    found = (document.get("status") or {}).get("conditions") or ()
    return {str(each.get("type")): each for each in found}


def shortened(text: str, length: int) -> str:
    """A text of no more than so many characters."""
    return text if len(text) <= length else text[: length - 1] + "…"


def _generation(document: Status) -> int:
    return int(document["metadata"].get("generation") or 0)


def _counts(tally: Tally) -> dict[str, int]:
    return {
        "waiting": tally.waiting,
        "updating": tally.in_flight,
        "soaking": tally.soaking,
        "done": tally.done,
        "failed": tally.failed,
        "ignored": tally.ignored,
    }


def _totals(plan: RolloutPlan) -> dict[str, int]:
    rows = [_counts(each.tally) for each in plan.groups]
    totals = {name: sum(row[name] for row in rows) for name in _counts(Tally())}
    return {"counted": sum(each.tally.counted for each in plan.groups), **totals}


def _exceptional(world: RolloutWorld, plan: RolloutPlan) -> Iterator[dict[str, str]]:
    """Clusters that failed, and then those on their way that something keeps."""
    where = {
        position: group.label
        for group in world.groups
        for position in range(group.first, group.last)
    }
    for states, always in ((_FAILED, True), (_ON_THE_WAY, False)):
        for position, (target, state) in enumerate(zip(world.targets, plan.states, strict=True)):
            if state in states and (always or not is_on_course(target)):
                yield {
                    "clusterName": target.name,
                    "groupName": where[position],
                    "status": state_word(world, plan, position),
                    "message": shortened(target.detail or "", MESSAGE_MAX),
                }


def _condition(
    kind: str, is_true: bool, reason: str, message: str, known: Mapping[str, Status], now: Instant
) -> dict[str, Any]:
    status = "True" if is_true else "False"
    before = known.get(kind)
    same = before is not None and before.get("status") == status
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": before["lastTransitionTime"]
        if same and before is not None
        else format_second(now),
    }
