"""What is written to a hub for the policies of a set, in the order in which nothing can be lost.

As for one policy (`writer.py`), with one write of a cluster's pointers for all of them.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable

from tidegate.kinds.policies.core.names import manager_of, revision_map
from tidegate.kinds.policies.core.sets import set_data, set_object, set_revision
from tidegate.kinds.policies.hub.set_view import SetView, Together
from tidegate.kinds.policies.hub.shelves import HubShelves
from tidegate.kinds.policies.hub.writer import HubWriter, PointerWriter
from tidegate.kinds.policies.wire.hub_doc import BindingState
from tidegate.kubernetes.port import CONFIG_MAP, Cluster
from tidegate.model.errors import OutsideError, StaleError


class SetWriter:
    """Writes the objects of all policies of a set."""

    def __init__(self, cluster: Cluster, shelves: HubShelves, view: SetView) -> None:
        rollout = view.rollout
        self._view = view
        self._shelves = shelves
        self._namespace, self._set = rollout.namespace, rollout.policy_set
        self._cluster = cluster.under(manager_of(self._namespace, self._set))
        self._pointers = PointerWriter(cluster, shelves, self._namespace)
        self._writers = {
            name: HubWriter(cluster, shelves, each) for name, each in view.policies.items()
        }
        # For what all of them share.
        self._any = next(iter(self._writers.values()))

    async def adopt(self, settle_s: float) -> None:
        """Have every root look its content up; what any cluster has stays the same."""
        view = self._view
        if not view.reading.complete:
            raise OutsideError("; ".join(view.reading.gaps))
        plain = {name: each for name, each in view.policies.items() if not each.staged}
        there: defaultdict[str, dict[str, str | None]] = defaultdict(dict)
        for name, each in plain.items():
            if each.baseline is not None:
                await self._writers[name].keep(each.baseline)
                for cluster in sorted(each.reached):
                    there[cluster][name] = each.baseline.name
        if view.baseline is not None:
            await self._keep(view.baseline)
        await self._pointers.point_all(there)
        await self.keep_placement()
        await self.place(there)
        await asyncio.sleep(settle_s if there else 0)
        await self.bind(view.bindings)
        for name in plain:
            await self._writers[name].write_root()

    async def keep_named(self, revision: str) -> None:
        """Have the ConfigMaps of a revision of the set that is known, and of its policies."""
        together = self._view.known[revision]
        for name, each in together.items():
            if each not in self._view.policies[name].known:
                raise StaleError(
                    f"revision {each} of {name} is neither the author's nor kept on the hub"
                )
            await self._writers[name].keep_named(each)
        await self._keep(together)

    async def _keep(self, together: Together) -> None:
        """Have the ConfigMap of one of the set; another's content under its name is refused."""
        name = set_revision(together)
        if name in self._view.kept and name in self._view.pointed:
            return
        document = set_object(self._namespace, self._set, together)
        found = await self._cluster.get(
            CONFIG_MAP, self._namespace, str(document["metadata"]["name"])
        )
        if found is not None and found.document.get("data") != set_data(together):
            raise StaleError(f"{found.where}: holds something else; delete it")
        if found is None:
            found = (await self._cluster.apply(document)).object
        self._shelves.revision_maps.put(found)

    async def forget(self, revision: str) -> None:
        """Delete the ConfigMap of a revision of the set, if it is as Tidegate wrote it."""
        name = revision_map(self._set, revision)
        found = await self._cluster.get(CONFIG_MAP, self._namespace, name)
        if found is not None:
            await self._cluster.delete(found)
            self._shelves.revision_maps.drop(found)

    async def forget_of(self, policy: str, revision: str) -> None:
        """The same of a revision of one of its policies."""
        await self._writers[policy].forget(revision)

    async def keep_placement(self) -> None:
        """Have our Placement, which the scheduler leaves alone."""
        await self._any.keep_placement()

    async def bind(self, bindings: Iterable[BindingState]) -> None:
        """Point bindings at our decisions."""
        await self._any.bind(bindings)

    async def point(self, cluster: str, revision: str | None) -> None:
        """Give a cluster a revision of every policy, or none, with one write."""
        none: dict[str, str | None] = dict.fromkeys(self._view.policies)
        together = self._view.known[revision] if revision is not None else none
        await self._pointers.point(cluster, together)

    async def place(self, clusters: Iterable[str]) -> None:
        """Have clusters in our decisions."""
        await self._any.place(clusters)

    async def displace(self, cluster: str) -> bool:
        """Take a cluster out of our decisions; whether it was there."""
        return await self._any.displace(cluster)

    async def leave(self) -> str:
        """Hand all of them back: plain roots with what all clusters have, bound as before."""
        view = self._view
        for writer in self._writers.values():
            writer.check_same_clusters()
        given = set(view.pointers.values())
        if len(given) > 1 or not given <= view.known.keys():
            raise StaleError(
                f"{view.rollout.name}: clusters have {len(given)} revisions; finish the rollout, "
                "or have all return to one"
            )
        revision = given.pop() if given else view.revision_name
        for name, each in view.known[revision].items():
            await self._writers[name].write_plain(each)
        await self._any.unbind()
        gone: dict[str, str | None] = dict.fromkeys(view.policies)
        await self._pointers.point_all(dict.fromkeys(view.pointers, gone))
        await self._any.drop_placement()
        return revision
