"""The groups of placements on a hub, and what a document asks of groups that are not there."""

from collections.abc import Iterable

from tidegate.kinds.policies.core.groups import GroupReading, read_groups
from tidegate.kinds.policies.hub.shelves import HubShelves
from tidegate.kinds.policies.wire.hub_doc import placement_state
from tidegate.kinds.policies.wire.rollout_doc import PolicyRollout
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.model.problem import Problems, nearest_or_all, shown
from tidegate.model.target import UNGROUPED


def placement_groups(shelves: HubShelves, namespace: str, names: Iterable[str]) -> GroupReading:
    """The groups of some placements, in the order of their names."""
    named = sorted(set(names))
    groups: list[Membership] = []
    gaps: list[str] = []
    for name in named:
        document = shelves.placement(namespace, name)
        if document is None:
            gaps.append(f"placement {name} is missing")
            continue
        state = placement_state(document, shelves.decisions_of(namespace, name))
        reading = read_groups(state, name if len(named) > 1 else "")
        groups += reading.groups
        gaps += reading.gaps
    return GroupReading(tuple(groups), tuple(gaps))


def warn_of_names(rollout: PolicyRollout, reading: GroupReading, problems: Problems) -> None:
    """Requests of the document that name no group; while the groups are not whole, none is told."""
    there = {each.name or UNGROUPED for each in reading.groups}
    if not reading.complete:
        return
    for name in sorted(rollout.approved - there):
        what = f"no group {shown(name)}, so that nothing is approved"
        problems.warn("spec.decisionGroups", what, nearest_or_all(name, sorted(there)))
    if rollout.retry_group and rollout.retry_group not in there:
        what = f"no group {shown(rollout.retry_group)}, so that nothing is retried"
        hint = nearest_or_all(rollout.retry_group, sorted(there))
        problems.warn("spec.retryRollout.group", what, hint)
