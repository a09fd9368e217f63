"""Policies that are enforced in waves: what is observed of them, and how a wave is given.

The same rollout as any other: `enforce-HASH` goes out, `inform-HASH` is what is gone back to. Only
what acting means is another thing: a cluster is put into our decisions, or taken out of them.
"""

from tidegate.engine.kind import ActRefusedError
from tidegate.kinds.policies.core.waves import is_informed
from tidegate.kinds.policies.hub.shelves import HubShelves
from tidegate.kinds.policies.hub.wave_view import WaveView
from tidegate.kinds.policies.hub.wave_writer import WaveWriter
from tidegate.kinds.policies.observation import PolicyObservation, observation_of
from tidegate.kinds.rollouts.core.journal.facts import RolloutTask
from tidegate.kubernetes.port import Cluster
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.plan import ChangeKind

TAKEN_BACK = "taken back"


def observe_waves(view: WaveView) -> PolicyObservation:
    """What is declared, and what every cluster reports."""
    known = {*view.grants, *view.returned}
    named = [*view.members, *sorted(known - set(view.members))]
    reports = map(view.report, named)
    return observation_of(view, named, view.reading.groups, view.revision, reports)


async def act_on_wave(hub: Cluster, shelves: HubShelves, view: WaveView, task: RolloutTask) -> str:
    """Enforce one cluster, or have it inform again; what was done."""
    writer, cluster, wanted = WaveWriter(hub, shelves, view), task.target, task.change.revision
    if task.change.kind is ChangeKind.REMOVE:
        if not view.reading.complete:
            raise OutsideError("; ".join(view.reading.gaps))
        if cluster in view.members:
            raise StaleError(f"{cluster} is in a group again")
        return "removed" if await writer.forget(cluster) else "was not there"
    if is_informed(wanted):
        return TAKEN_BACK if await writer.take_back(cluster) else "was not enforced"
    if wanted != view.revision:
        if task.change.kind is ChangeKind.RETURN:
            raise ActRefusedError(
                f"{wanted} was edited, and is not on the hub any more: have its author write it "
                "again, or take the waves back (`tidegate policies leave --take-back`)"
            )
        raise StaleError(f"{wanted} was edited: it is {view.revision} now")
    if cluster not in view.members:
        raise StaleError(f"{cluster} is in no group any more")
    return await writer.give(cluster)
