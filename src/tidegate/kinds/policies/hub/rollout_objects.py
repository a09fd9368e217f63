"""The Rollout objects of a hub: which there are of a policy, and what is written on them."""

from tidegate.kinds.policies.core.names import full_name
from tidegate.kinds.policies.core.revision import Fields
from tidegate.kinds.policies.hub.shelves import HubShelves
from tidegate.kinds.policies.wire.event_doc import RolloutEvent, event_name, event_object
from tidegate.kubernetes.port import EVENT, ROLLOUT, Cluster, Take
from tidegate.model.time import Instant


class RolloutObjects:
    """Says on each object how its rollout goes."""

    def __init__(self, cluster: Cluster, shelves: HubShelves) -> None:
        self._cluster = cluster
        self._shelves = shelves

    def of(self, name: str) -> list[Fields]:
        """Those of a policy or a set, as they were read last: one, unless that is wrong."""
        return [
            document
            for (namespace, _), document in sorted(self._shelves.rollouts.items.items())
            if full_name(namespace, _subject(document)) == name
        ]

    async def write_status(self, document: Fields, status: Fields) -> None:
        """Have an object say how its rollout goes; one that is gone needs no status."""
        if document.get("status") == status:
            return
        metadata = document["metadata"]
        found = await self._cluster.get(ROLLOUT, metadata["namespace"], metadata["name"])
        if found is not None:
            self._shelves.rollouts.put(await self._cluster.write_status(found, status))

    async def write_event(
        self, document: Fields, event: RolloutEvent, mark: str, worker: str, now: Instant
    ) -> None:
        """Have an object's Events say what happened, once."""
        place = document["metadata"]["namespace"], event_name(document, event)
        known = await self._cluster.get(EVENT, *place)
        told = known.document if known is not None else None
        wanted = event_object(document, event, told, mark=mark, worker=worker, now=now)
        if wanted is not None:
            await self._cluster.apply(wanted, take=Take.OVER)


def _subject(document: Fields) -> str:
    spec = document.get("spec") or {}
    return str(spec.get("policySet") or spec.get("policy"))
