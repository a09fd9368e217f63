"""Policies that are enforced in waves: what is observed of them, and how a wave is given.

The same rollout as any other: `enforce-HASH` goes out, `inform-HASH` is what is gone back to. Only
what acting means is another thing: a cluster is put into our decisions, or taken out of them.
"""

from tidegate.engine.kind import ActRefusedError
from tidegate.kinds.policies.core.requests import requests_of
from tidegate.kinds.policies.core.waves import is_informed
from tidegate.kinds.policies.hub.shelves import HubShelves
from tidegate.kinds.policies.hub.wave_view import WaveView
from tidegate.kinds.policies.hub.wave_writer import WaveWriter
from tidegate.kinds.policies.observation import PolicyObservation
from tidegate.kinds.policies.wire.rollout_doc import GroupKeeping
from tidegate.kinds.rollouts.core.journal.facts import RolloutDeclared, RolloutTask
from tidegate.kubernetes.port import Cluster
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.plan import ChangeKind

TAKEN_BACK = "taken back"


def observe_waves(view: WaveView) -> PolicyObservation:
    """What is declared, and what every cluster reports."""
    rollout = view.rollout
    known = {*view.grants, *view.returned}
    named = [*view.members, *sorted(known - set(view.members))]
    declared = RolloutDeclared(
        strategy=rollout.strategy,
        groups=view.reading.groups,
        labels={name: view.clusters[name].labels for name in named if name in view.clusters},
        revision=view.revision,
        last_good=view.last_good,
        origin=rollout.origin,
        requests=requests_of(
            rollout.approved,
            rollout.ungrouped,
            rollout.approvals_for,
            view.version,
            view.revision,
            paused=rollout.paused,
            retry=rollout.retry_uid,
            failed_only=rollout.retry_failed_only,
            retry_group=rollout.retry_group,
        ),
    )
    return PolicyObservation(
        declared,
        tuple(view.report(name) for name in named),
        complete=view.reading.complete,
        dated=False,
        offline=view.offline,
        registered=frozenset(view.clusters),
        stable=rollout.membership is GroupKeeping.STABLE,
    )


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
