"""Policies of a set that are staged together: what is observed of them, and what is not kept."""

from collections.abc import Collection

from tidegate.kinds.policies.core.history import surplus
from tidegate.kinds.policies.hub.set_view import SetView
from tidegate.kinds.policies.hub.set_writer import SetWriter
from tidegate.kinds.policies.hub.shelves import HubShelves
from tidegate.kinds.policies.hub.view import PolicyViews
from tidegate.kinds.policies.observation import PolicyObservation, observation_of
from tidegate.kinds.policies.wire.rollout_doc import OnDrift


def observe_set(views: PolicyViews, view: SetView) -> PolicyObservation:
    """What is declared, and what every cluster reports of all of them."""
    named = [*view.members, *sorted(view.given.keys() - set(view.members))]
    each = {name: views.reports(one, named) for name, one in view.policies.items()}
    return observation_of(
        view,
        named,
        view.groups,
        view.revision_name,
        view.reports(each),
        staged=view.staged,
        leaves_drift=view.rollout.on_drift is OnDrift.LEAVE,
        author=view.author,
        several=True,
    )


async def tidy_set(
    shelves: HubShelves, writer: SetWriter, view: SetView, named: Collection[str], most: int
) -> int:
    """Remove revisions of a set, and of its policies, that nothing names; how many.

    A revision of a policy stays while one of the set that is kept names it.
    """
    rollout, limit = view.rollout, view.rollout.history
    made = shelves.made(rollout.namespace, rollout.name)
    gone = surplus(made, {*named, *view.in_use}, limit)[:most]
    for each in gone:
        await writer.forget(each)
    left = {key: each for key, each in view.kept.items() if key not in gone}
    count = len(gone)
    for name, one in view.policies.items():
        used = {*one.in_use, *(each[name] for each in left.values() if name in each)}
        own = shelves.made(rollout.namespace, one.rollout.name)
        for revision in surplus(own, used, 0)[: max(0, most - count)]:
            await writer.forget_of(name, revision)
            count += 1
    return count
