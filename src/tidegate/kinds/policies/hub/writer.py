"""What is written to a hub, in the order in which nothing can be lost.

    adopt   revision, pointers of all that have the policy, decisions of our own, bindings, root:
            everything a cluster's content is looked up with is there before it is looked up;
            the propagator watches decisions and bindings apart, so there is a pause between them
    move    the revision is there before a pointer names it; a cluster that gets the policy for the
            first time is in our decisions after it has a pointer
    leave   the root with the content that all have, bindings, and only then what is no longer used

Every write can be repeated, and a crash between two of them leaves clusters as they are.
"""

import asyncio
from collections.abc import Iterable, Mapping
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
    Entries,
    Object,
)
from tidegate.model.counted import counted
from tidegate.model.errors import OutsideError, StaleError


class PointerWriter:
    """Writes the pointers of clusters in one namespace, each map by one manager."""

    def __init__(self, cluster: Cluster, shelves: HubShelves, namespace: str) -> None:
        self._cluster = cluster.under(POINTER_MANAGER)
        self._shelves = shelves
        self._namespace = namespace

    async def point(self, cluster: str, revisions: Entries) -> None:
        """Give a cluster revisions of some policies, or none; all of them with one write.

        With its last pointer the ConfigMap goes.
        """
        # What another wrote since is not overwritten unseen.
        seen = {each: self._shelves.pointer(self._namespace, each, cluster) for each in revisions}
        found = await self._cluster.set_entries(
            pointer_head(self._namespace, cluster),
            revisions,
            seen=seen,
            former=manager_of(self._namespace, ""),
        )
        if found is None:
            return
        self._shelves.pointer_maps.put(found)
        if not any(revisions.values()) and not found.document.get("data"):
            # Another policy may have been given to the cluster meanwhile: then it stays.
            with suppress(StaleError):
                await self._cluster.delete(found)
                self._shelves.pointer_maps.drop(found)

    async def point_all(self, clusters: Mapping[str, Entries]) -> None:
        """Side by side; all of them have ended by the end, even if one fails."""
        points = (self.point(cluster, revisions) for cluster, revisions in clusters.items())
        done = await asyncio.gather(*points, return_exceptions=True)
        for each in done:
            if each is not None:
                raise each


class HubWriter:
    """Writes one policy's objects, under a manager of its own.

    Of a set, what all its policies share is written under the manager of the set.
    """

    def __init__(self, cluster: Cluster, shelves: HubShelves, view: PolicyView) -> None:
        rollout = view.rollout
        self._namespace, self._policy = rollout.namespace, rollout.policy
        self._cluster = cluster.under(manager_of(self._namespace, self._policy))
        self._shelves = shelves
        self._view = view
        self._objects = OwnObjects(self._cluster, shelves, self._namespace)
        self._pointers = PointerWriter(cluster, shelves, self._namespace)
        self._binder = cluster.under(manager_of(self._namespace, rollout.bound_as))
        self._shared = OwnObjects(self._binder, shelves, self._namespace)
        self._placement = own_placement(rollout.bound_as)
        self._decisions = OwnDecisions(self._binder, shelves, self._namespace, self._placement)

    async def adopt(self, settle_s: float) -> None:
        """Have the root look its content up; what any cluster has stays the same.

        A binding that the propagator sees before our decisions takes the policy from all clusters:
        they have so long to be seen.
        """
        view = self._view
        baseline = view.baseline
        if not view.reading.complete:
            raise OutsideError("; ".join(view.reading.gaps))
        # A plain policy is for all clusters it is bound to, whether they have it yet or not.
        there = sorted(view.reached) if baseline is not None else []
        if baseline is not None:
            await self.keep(baseline)
            await self._pointers.point_all({each: {self._policy: baseline.name} for each in there})
        await self.keep_placement()
        await self.place(there)
        await asyncio.sleep(settle_s if there else 0)
        await self.bind(view.bindings)
        await self.write_root()

    async def write_root(self) -> None:
        """Have the root look its content up."""
        view = self._view
        frame = frame_of(view.root["spec"] if view.root is not None else view.source.spec)
        await self._objects.write(root_object(view.source, frame, self._namespace, self._policy))

    async def keep_placement(self) -> None:
        """Have our Placement, which the scheduler leaves alone."""
        own = self._shared.head(PLACEMENT, self._placement)
        await self._shared.write({**own, "spec": {}}, annotations={SCHEDULING_OFF: "true"})

    async def bind(self, bindings: Iterable[BindingState]) -> None:
        """Point bindings at our decisions."""
        for each in bindings:
            await self._bind(each, self._placement, each.placement)

    async def keep_named(self, revision: str) -> None:
        """Have the ConfigMap of a revision that is known."""
        await self.keep(self._view.known[revision])

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
        """Give a cluster a revision, or none."""
        await self._pointers.point(cluster, {self._policy: revision})

    async def place(self, clusters: Iterable[str]) -> None:
        """Have clusters in our decisions, in the first that have room."""
        await self._decisions.place(dict.fromkeys(clusters, ""))

    async def displace(self, cluster: str) -> bool:
        """Take a cluster out of our decisions; whether it was there."""
        return await self._decisions.displace([cluster])

    async def leave(self) -> str:
        """Hand the policy back: a plain root with what all clusters have, bound as before."""
        view = self._view
        self.check_same_clusters()
        given = set(view.pointers.values())
        if len(given) > 1:
            raise StaleError(
                f"{view.rollout.name}: clusters have {len(given)} revisions; finish the rollout, "
                "or have all return to one"
            )
        revision = given.pop() if given else view.revision.name
        await self.write_plain(revision)
        await self.unbind()
        await self._pointers.point_all({each: {self._policy: None} for each in view.pointers})
        await self.drop_placement()
        return revision

    async def write_plain(self, revision: str) -> None:
        """Have the root hold a revision itself, and be its author's."""
        content = spec_of(self._view.known[revision])
        plain = plain_object(self._view.source, content, self._namespace, self._policy)
        await self._cluster.release(await self._objects.write(plain))

    async def unbind(self) -> None:
        """Point bindings back at the placements that their author wrote."""
        for each in self._view.bindings:
            await self._binder.release(await self._bind(each, each.placement, None))

    async def drop_placement(self) -> None:
        """Remove our decisions, and our Placement."""
        for part in self._decisions.parts:
            await self._shared.delete(PLACEMENT_DECISION, part.name)
        await self._shared.delete(PLACEMENT, self._placement)

    def check_same_clusters(self) -> None:
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
        head = self._shared.head(PLACEMENT_BINDING, binding.name)
        ref = {"apiGroup": OCM_CLUSTER, "kind": "Placement", "name": placement}
        notes = {PLACEMENT_NOTE: written} if written is not None else {}
        return await self._shared.write({**head, "placementRef": ref}, annotations=notes)
