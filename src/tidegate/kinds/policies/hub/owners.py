"""Other tools that own a policy: two that write one object undo each other's work.

Recognised by what they leave on objects, or by an object of their own that names the policy. The
author's policy may belong to any tool: that is where people write. The root may not.
"""

from tidegate.kinds.policies.core.difference import differences
from tidegate.kinds.policies.core.revision import Fields, Revision, frame_of
from tidegate.kinds.policies.hub.shelves import HubShelves
from tidegate.kinds.policies.wire.hub_doc import tool_of
from tidegate.kinds.policies.wire.rollout_doc import PolicyRollout
from tidegate.model.problem import Problems, shown


def check_owners(
    shelves: HubShelves, rollout: PolicyRollout, root: Fields | None, problems: Problems
) -> None:
    """What else writes the root, or enforces the policy."""
    where = f"policy/{rollout.namespace}/{rollout.policy}"
    tool = tool_of(root) if root is not None else ""
    if tool:
        problems.add(
            where,
            f"belongs to {tool}, which writes it back",
            "have that tool write the author's policy only, and take its marks off the root",
        )
    check_upgrades(shelves, rollout.policy, problems)
    for binding in shelves.bindings_of(rollout.namespace, rollout.policy):
        if binding.tool:
            problems.warn(
                f"placementbinding/{binding.namespace}/{binding.name}",
                f"belongs to {binding.tool}, which may bind it to its own placement again",
                "have that tool leave its placementRef alone: every move puts it back",
            )


def check_set(shelves: HubShelves, rollout: PolicyRollout, problems: Problems) -> tuple[str, ...]:
    """The policies of the set of a rollout; none where it is missing or names none."""
    where = f"policyset/{rollout.namespace}/{rollout.policy_set}"
    names = shelves.members(rollout.namespace, rollout.policy_set)
    if (rollout.namespace, rollout.policy_set) not in shelves.sets.items:
        problems.add(where, "missing", "write it, or fix spec.policySet")
    elif not names:
        problems.add(f"{where}: spec.policies", "names no policy", "name at least one")
    return names


def check_upgrades(shelves: HubShelves, policy: str, problems: Problems) -> None:
    """What enforces a policy by batches of its own."""
    if shelves.upgrades.hidden:
        problems.warn(
            "clustergroupupgrades",
            f"whether one enforces this policy is not known: {shelves.upgrades.hidden}",
            "allow Tidegate to list and watch them",
        )
    for each in shelves.upgrades_of(policy):
        problems.add(
            f"clustergroupupgrade/{each}",
            f"enforces policies called {shown(policy)} by its own batches",
            "wait until it has succeeded, or delete it",
        )


def check_frame(
    rollout: PolicyRollout, root: Fields, given: Revision | None, problems: Problems
) -> None:
    """What another changed in the root that is in no revision: it is on every cluster by now."""
    if given is None:
        return
    for each in differences(given.frame, frame_of(root["spec"]), "spec"):
        problems.add(
            f"policy/{rollout.namespace}/{rollout.policy}",
            f"{each.path} is {shown(each.after)}, and was {shown(each.before)}",
            "put it back: an edit of the root reaches every cluster at once",
        )
