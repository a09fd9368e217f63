"""What is written to enforce clusters in waves, in the order in which a wave can be taken back.

    give       Placement, binding, and only then the decision: until then nothing is enforced
    take back  the decision alone: a propagator looks at clusters that a decision lost, as long as
               its binding and its Placement are there
    end        binding, and once the hub shows what it made of that, decisions and Placement

A Placement that is deleted first leaves its clusters enforced until something else touches them:
its decisions lead to no binding then, and the binding to no cluster. Such clusters are put into a
decision and taken out of it.
"""

import asyncio
from collections.abc import Iterable

from tidegate.engine.kind import ActRefusedError
from tidegate.kinds.policies.core.compliance import Replica
from tidegate.kinds.policies.core.names import (
    OCM_CLUSTER,
    OCM_POLICY,
    SCHEDULING_OFF,
    full_name,
    manager_of,
    taken_back_name,
    wave_name,
)
from tidegate.kinds.policies.core.waves import (
    WaveGrant,
    grant_note,
    newest_entry,
    return_left,
    taken_back,
)
from tidegate.kinds.policies.hub.decisions import OwnDecisions
from tidegate.kinds.policies.hub.objects import OwnObjects
from tidegate.kinds.policies.hub.shelves import HubShelves
from tidegate.kinds.policies.hub.wave_view import WaveView, subject_of
from tidegate.kinds.policies.wire.hub_doc import replica_of
from tidegate.kubernetes.port import (
    PLACEMENT,
    PLACEMENT_BINDING,
    PLACEMENT_DECISION,
    POLICY,
    Cluster,
)
from tidegate.model.counted import counted
from tidegate.model.errors import OutsideError, StaleError

ENFORCED = "enforced"
AGAIN = "taken back, to be enforced anew"
# A propagator takes milliseconds for a cluster, and seconds for a thousand.
PROPAGATED_TRIES = 60
PROPAGATED_S = 0.5


class WaveWriter:
    """Writes what enforces one policy, or one set, under a manager of its own."""

    def __init__(self, cluster: Cluster, shelves: HubShelves, view: WaveView) -> None:
        rollout = view.rollout
        self._view = view
        self._namespace, self._subject = rollout.namespace, rollout.subject
        self._cluster = cluster.under(manager_of(rollout.namespace, f"waves-{rollout.subject}"))
        self._objects = OwnObjects(self._cluster, shelves, rollout.namespace)
        place = (self._cluster, shelves, rollout.namespace)
        self._granted = OwnDecisions(*place, wave_name(rollout.subject))
        self._returned = OwnDecisions(*place, taken_back_name(rollout.subject))

    async def give(self, cluster: str) -> str:
        """Have a cluster enforced, with a note of what its agents said before; what was done."""
        view = self._view
        if not view.bound:
            await self._bind()
        known = view.grants.get(cluster)
        replicas = await self._replicas(cluster)
        newest = newest_entry(replicas.values())
        if known is not None:
            if known.content == view.content and (known.after or not newest):
                return ENFORCED
            await self._return(cluster, known, newest)
            return AGAIN
        if any(each is not None and each.enforced for each in replicas.values()):
            await self._touch([cluster])
        parts = {name: (view.policies[name]["spec"], replicas[name]) for name in replicas}
        why = return_left(parts, view.returned.get(cluster))
        if why:
            raise ActRefusedError(f"{why}; it is enforced once it informs")
        note = grant_note(WaveGrant(view.content, newest))
        await self._granted.place({cluster: note})
        await self._returned.displace([cluster])
        return ENFORCED

    async def take_back(self, cluster: str) -> bool:
        """Have a cluster inform again; whether it was enforced."""
        known = self._view.decided.get(cluster)
        if known is None:
            return False
        await self._return(cluster, known, newest_entry((await self._replicas(cluster)).values()))
        return True

    async def forget(self, cluster: str) -> bool:
        """Have nothing noted of a cluster that left; whether anything was."""
        was_there = await self._granted.displace([cluster])
        return await self._returned.displace([cluster]) or was_there

    async def leave(self) -> None:
        """Hand the policies back as they are: enforced by themselves where all clusters are."""
        view = self._view
        if view.decided and not view.bound and not view.is_enforced:
            raise StaleError(
                f"{view.rollout.name}: others changed the binding of its waves; let the rollout "
                "put it back, or take it back (--take-back)"
            )
        if view.decided and not view.is_enforced:
            self._check_all_enforced()
            for name in view.policies:
                spec = {"remediationAction": "enforce"}
                root = {**self._objects.head(POLICY, name), "spec": spec}
                await self._cluster.release(await self._objects.write(root))
            await self._end(enforced=True)
        else:
            await self._end(enforced=view.is_enforced)

    async def take_all_back(self) -> None:
        """Have every cluster inform again, and nothing of ours on the hub."""
        if self._view.is_enforced:
            raise StaleError(
                f"{self._view.rollout.name}: the policy itself says enforce; write inform first"
            )
        await self._end(enforced=False)

    def _check_all_enforced(self) -> None:
        """StaleError where a cluster informs that would be enforced with the others."""
        view = self._view
        if not view.reading.complete:
            raise OutsideError("; ".join(view.reading.gaps))
        early = sorted(set(view.members) - view.grants.keys())
        if early:
            raise StaleError(
                f"{view.rollout.name}: {counted(len(early), 'cluster')} would be enforced at once "
                f"(first: {early[0]}); finish the rollout, or take it back (--take-back)"
            )

    async def _bind(self) -> None:
        """Have our Placement and our binding, with no cluster enforced by that.

        Decisions of before would all be enforced at once, and believed by what was said before.
        """
        await self._granted.displace(self._view.decided)
        own = wave_name(self._subject)
        placement = {**self._objects.head(PLACEMENT, own), "spec": {}}
        await self._objects.write(placement, annotations={SCHEDULING_OFF: "true"})
        kind, _, name = subject_of(self._view.rollout).partition("/")
        binding = {
            **self._objects.head(PLACEMENT_BINDING, own),
            "bindingOverrides": {"remediationAction": "enforce"},
            "subFilter": "restricted",
            "placementRef": {"apiGroup": OCM_CLUSTER, "kind": "Placement", "name": own},
            "subjects": [{"apiGroup": OCM_POLICY, "kind": kind, "name": name}],
        }
        await self._objects.write(binding)

    async def _return(self, cluster: str, known: WaveGrant, newest: int) -> None:
        note = grant_note(taken_back(known, newest), back=True)
        await self._returned.displace([cluster])
        await self._returned.place({cluster: note})
        await self._granted.displace([cluster])

    async def _end(self, *, enforced: bool) -> None:
        """Remove what is ours, the binding first; what the hub made of that is waited for."""
        own = wave_name(self._subject)
        clusters = sorted({*self._view.decided, *self._enforced()})
        if not enforced and clusters and not self._view.bound:
            await self._bind()
            await self._touch(clusters)
        await self._objects.delete(PLACEMENT_BINDING, own)
        await self._propagated(clusters, enforced)
        for part in (*self._granted.parts, *self._returned.parts):
            await self._objects.delete(PLACEMENT_DECISION, part.name)
        await self._objects.delete(PLACEMENT, own)

    async def _touch(self, clusters: Iterable[str]) -> None:
        """Have the propagator look at clusters that it has enforced for no reason any more.

        It does when a decision gains them and loses them; and for as long as neither happens, not.
        """
        named = list(clusters)
        await self._granted.place(dict.fromkeys(named, ""))
        await self._granted.displace(named)

    def _enforced(self) -> set[str]:
        found = self._view.replicas.values()
        return {name for each in found for name, replica in each.items() if replica.enforced}

    async def _propagated(self, clusters: Iterable[str], enforced: bool) -> None:
        """Wait until every cluster's replicas are, or are not, enforced."""
        left = list(clusters)
        for attempt in range(PROPAGATED_TRIES):
            if attempt:
                await asyncio.sleep(PROPAGATED_S)
            left = [each for each in left if not await self._are(each, enforced)]
            if not left:
                return
        word = "are not enforced" if enforced else "are enforced still"
        raise OutsideError(
            f"{counted(len(left), 'cluster')} {word} (first: {left[0]}): the hub's propagator does "
            "not follow; run it again once it does"
        )

    async def _are(self, cluster: str, enforced: bool) -> bool:
        found = (await self._replicas(cluster)).values()
        return all(each is None or each.enforced == enforced for each in found)

    async def _replicas(self, cluster: str) -> dict[str, Replica | None]:
        """The replicas of a cluster, as they are at this moment."""
        found: dict[str, Replica | None] = {}
        for name in self._view.policies:
            read = await self._cluster.get(POLICY, cluster, full_name(self._namespace, name))
            found[name] = replica_of(read.document) if read is not None else None
        return found
