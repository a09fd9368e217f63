"""What is written to a hub, in the order in which nothing can be lost.

    adopt   revision, pointers of all that have the policy, decisions of our own, bindings, root:
            everything a cluster's content is looked up with is there before it is looked up
    move    the revision is there before a pointer names it; a cluster that gets the policy for the
            first time is in our decisions after it has a pointer
    leave   the root with the content that all have, bindings, and only then what is no longer used

Every write can be repeated, and a crash between two of them leaves clusters as they are.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from tidegate.kinds.policies.core.names import (
    OCM_CLUSTER,
    POINTER_MANAGER,
    SCHEDULING_OFF,
    manager_of,
    own_placement,
    revision_map,
)
from tidegate.kinds.policies.core.names import PLACEMENT as PLACEMENT_NOTE
from tidegate.kinds.policies.core.revision import (
    Revision,
    frame_of,
    plain_object,
    pointer_head,
    revision_data,
    revision_object,
    root_object,
    spec_of,
)
from tidegate.kinds.policies.hub.decisions import OwnDecisions
from tidegate.kinds.policies.hub.objects import OwnObjects
from tidegate.kinds.policies.hub.shelves import HubShelves
from tidegate.kinds.policies.hub.view import PolicyView
from tidegate.kinds.policies.wire.hub_doc import BindingState
from tidegate.kubernetes.port import (
    CONFIG_MAP,
    PLACEMENT,
    PLACEMENT_BINDING,
    PLACEMENT_DECISION,
    Cluster,
    Object,
)
from tidegate.model.counted import counted
from tidegate.model.errors import OutsideError, StaleError


class HubWriter:
    """Writes one policy's objects, under a manager of its own."""

    def __init__(self, cluster: Cluster, shelves: HubShelves, view: PolicyView) -> None:
        rollout = view.rollout
        self._cluster = cluster.under(manager_of(rollout.namespace, rollout.policy))
        self._pointers = cluster.under(POINTER_MANAGER)
        self._shelves = shelves
        self._view = view
        self._namespace, self._policy = rollout.namespace, rollout.policy
        self._objects = OwnObjects(self._cluster, shelves, rollout.namespace)
        self._decisions = OwnDecisions(
            self._cluster, shelves, rollout.namespace, own_placement(rollout.policy)
        )

    async def adopt(self) -> None:
        """Have the root look its content up; what any cluster has stays the same."""
        view = self._view
        baseline = view.baseline
        if not view.reading.complete:
            raise OutsideError("; ".join(view.reading.gaps))
        # A plain policy is for all clusters it is bound to, whether they have it yet or not.
        there = sorted(view.reached) if baseline is not None else []
        if baseline is not None:
            await self.keep(baseline)
            await self._point_all(there, baseline.name)
        await self.keep_placement()
        await self.place(there)
        await self.bind(view.bindings)
        frame = frame_of(view.root["spec"] if view.root is not None else view.source.spec)
        await self._objects.write(root_object(view.source, frame, self._namespace, self._policy))

    async def keep_placement(self) -> None:
        """Have our Placement, which the scheduler leaves alone."""
        own = self._objects.head(PLACEMENT, own_placement(self._policy))
        await self._objects.write({**own, "spec": {}}, annotations={SCHEDULING_OFF: "true"})

    async def bind(self, bindings: Iterable[BindingState]) -> None:
        """Point bindings at our decisions."""
        for each in bindings:
            await self._bind(each, own_placement(self._policy), each.placement)

    async def keep(self, revision: Revision) -> None:
        """Have a revision's ConfigMap; one of the same name with other content is refused.

        One that no cluster has may have been removed a moment ago: that it was seen is no proof.
        """
        if revision.name in self._view.revisions and revision.name in self._view.pointed:
            return
        document = revision_object(self._namespace, self._policy, revision)
        found = await self._cluster.get(
            CONFIG_MAP, self._namespace, str(document["metadata"]["name"])
        )
        if found is not None and found.document.get("data") != revision_data(revision):
            raise StaleError(f"{found.where}: holds something else; delete it")
        if found is None:
            found = (await self._cluster.apply(document)).object
        self._shelves.revision_maps.put(found)

    async def forget(self, revision: str) -> None:
        """Delete a revision's ConfigMap, if it is as Tidegate wrote it."""
        name = revision_map(self._policy, revision)
        found = await self._cluster.get(CONFIG_MAP, self._namespace, name)
        if found is not None:
            await self._cluster.delete(found)
            self._shelves.revision_maps.drop(found)

    async def point(self, cluster: str, revision: str | None) -> None:
        """Give a cluster a revision, or none; with its last pointer the ConfigMap goes."""
        found = await self._pointers.set_entries(
            pointer_head(self._namespace, cluster),
            {self._policy: revision},
            # What another wrote since is not overwritten unseen.
            seen={self._policy: self._shelves.pointer(self._namespace, self._policy, cluster)},
            former=manager_of(self._namespace, ""),
        )
        if found is None:
            return
        self._shelves.pointer_maps.put(found)
        if revision is None and not found.document.get("data"):
            # Another policy may have been given to the cluster meanwhile: then it stays.
            with suppress(StaleError):
                await self._pointers.delete(found)
                self._shelves.pointer_maps.drop(found)

    async def _point_all(self, clusters: Iterable[str], revision: str | None) -> None:
        """Side by side; all of them have ended by the end, even if one fails."""
        points = (self.point(cluster, revision) for cluster in clusters)
        done = await asyncio.gather(*points, return_exceptions=True)
        for each in done:
            if each is not None:
                raise each

    async def place(self, clusters: Iterable[str]) -> None:
        """Have clusters in our decisions, in the first that have room."""
        await self._decisions.place(dict.fromkeys(clusters, ""))

    async def displace(self, cluster: str) -> bool:
        """Take a cluster out of our decisions; whether it was there."""
        return await self._decisions.displace([cluster])

    async def leave(self) -> Revision:
        """Hand the policy back: a plain root with what all clusters have, bound as before."""
        view = self._view
        self._check_same_clusters()
        given = set(view.pointers.values())
        if len(given) > 1:
            raise StaleError(
                f"{view.rollout.name}: clusters have {len(given)} revisions; finish the rollout, "
                "or have all return to one"
            )
        revision = view.revisions[given.pop()] if given else view.revision
        plain = plain_object(view.source, spec_of(revision), self._namespace, self._policy)
        await self._cluster.release(await self._objects.write(plain))
        for each in view.bindings:
            await self._cluster.release(await self._bind(each, each.placement, None))
        await self._point_all(sorted(view.pointers), None)
        for part in self._decisions.parts:
            await self._objects.delete(PLACEMENT_DECISION, part.name)
        await self._objects.delete(PLACEMENT, own_placement(self._policy))
        return revision

    def _check_same_clusters(self) -> None:
        """StaleError where the author's own placement means other clusters than have the policy."""
        view = self._view
        if not view.reading.complete:
            raise OutsideError("; ".join(view.reading.gaps))
        early = sorted(set(view.members) - view.pointers.keys())
        late = sorted(view.pointers.keys() - set(view.members))
        if early:
            raise StaleError(
                f"{view.rollout.name}: {counted(len(early), 'cluster')} without it would get it at "
                f"once (first: {early[0]}); finish the rollout"
            )
        if late:
            raise StaleError(
                f"{view.rollout.name}: {counted(len(late), 'cluster')} in no decision of its "
                f"placement would lose it (first: {late[0]}); wait until it is back, or has left"
            )

    async def _bind(self, binding: BindingState, placement: str, written: str | None) -> Object:
        """Point a binding at a placement; a note keeps the one that its author wrote."""
        head = self._objects.head(PLACEMENT_BINDING, binding.name)
        ref = {"apiGroup": OCM_CLUSTER, "kind": "Placement", "name": placement}
        notes = {PLACEMENT_NOTE: written} if written is not None else {}
        return await self._objects.write({**head, "placementRef": ref}, annotations=notes)
