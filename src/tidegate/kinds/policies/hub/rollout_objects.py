"""The Rollout objects of a hub: which there are of a policy, and what is written on them."""

from contextlib import suppress

from tidegate.kinds.policies.core.revision import Fields
from tidegate.kinds.policies.hub.shelves import HubShelves
from tidegate.kinds.policies.wire.event_doc import RolloutEvent, event_name, event_object
from tidegate.kubernetes.port import EVENT, ROLLOUT, Cluster, Object, Take
from tidegate.model.errors import StaleError
from tidegate.model.time import Instant


class RolloutObjects:
    """Says on each object how its rollout goes."""

    def __init__(self, cluster: Cluster, shelves: HubShelves) -> None:
        self._cluster = cluster
        self._shelves = shelves

    def of(self, name: str) -> list[Fields]:
        """Those of a policy or a set, as they were read last: one, unless that is wrong."""
        return [
            item.document
            for _, item in sorted(self._shelves.rollouts.items.items(), key=lambda each: each[0])
            if item.policy == name
        ]

    async def write_status(self, document: Fields, status: Fields) -> None:
        """Have an object say how its rollout goes; one that is gone needs no status."""
        if document.get("status") == status:
            return
        metadata = document["metadata"]
        place = (ROLLOUT, metadata["namespace"], metadata["name"], metadata["uid"])
        with suppress(StaleError):
            found = Object(*place, version="", ours=False, document=document)
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
