"""Objects that Tidegate writes to a namespace of a hub, and the shelves that know of them."""

from typing import Any

from tidegate.kinds.policies.hub.mirror import Shelf
from tidegate.kinds.policies.hub.shelves import HubShelves
from tidegate.kubernetes.port import (
    PLACEMENT,
    PLACEMENT_BINDING,
    PLACEMENT_DECISION,
    POLICY,
    Cluster,
    Object,
    ResourceKind,
    Take,
)


class OwnObjects:
    """Writes and deletes objects of one namespace, under one manager."""

    def __init__(self, cluster: Cluster, shelves: HubShelves, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._shelves: dict[ResourceKind, Shelf[Any]] = {
            POLICY: shelves.policies,
            PLACEMENT: shelves.placements,
            PLACEMENT_BINDING: shelves.bindings,
            PLACEMENT_DECISION: shelves.decisions,
        }

    def head(self, kind: ResourceKind, name: str) -> dict[str, Any]:
        """How a document begins."""
        return {
            "apiVersion": kind.api_version,
            "kind": kind.name,
            "metadata": {"namespace": self._namespace, "name": name},
        }

    async def write(
        self, document: dict[str, Any], *, annotations: dict[str, str] | None = None
    ) -> Object:
        """Have an object with these fields, whichever manager wrote them before."""
        if annotations:
            document["metadata"]["annotations"] = annotations
        found = (await self._cluster.apply(document, take=Take.OVER)).object
        self._shelves[found.kind].put(found)
        return found

    async def delete(self, kind: ResourceKind, name: str) -> None:
        """Have no object of this name."""
        found = await self._cluster.get(kind, self._namespace, name)
        if found is not None:
            await self._cluster.delete(found)
            self._shelves[kind].drop(found)
