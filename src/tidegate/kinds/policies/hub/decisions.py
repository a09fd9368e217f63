"""The decisions of a Placement of ours: the clusters in it, each with a note.

A decision holds a hundred clusters at most. A cluster that is in one stays in it, so that writing
one decision changes no other cluster: a propagator looks only at what a decision gained or lost.
"""

from collections.abc import Iterable, Mapping

from tidegate.kinds.policies.core.groups import DecisionPart
from tidegate.kinds.policies.core.names import DECISION_GROUP, DECISION_INDEX, DECISION_PLACEMENT
from tidegate.kinds.policies.core.placement import DECISION_CLUSTERS_MAX
from tidegate.kinds.policies.hub.shelves import HubShelves
from tidegate.kubernetes.port import PLACEMENT_DECISION, Cluster


class OwnDecisions:
    """Writes the decisions of one Placement."""

    def __init__(
        self, cluster: Cluster, shelves: HubShelves, namespace: str, placement: str
    ) -> None:
        self._cluster = cluster
        self._shelves = shelves
        self._namespace = namespace
        self._placement = placement

    @property
    def parts(self) -> tuple[DecisionPart, ...]:
        """The decisions as they are."""
        return self._shelves.decisions_of(self._namespace, self._placement)

    async def place(self, clusters: Mapping[str, str]) -> None:
        """Have clusters in the first decisions that have room, each with its note.

        One that is there already stays as it is.
        """
        parts = {each.name: _noted(each) for each in self.parts}
        placed = {cluster for members in parts.values() for cluster in members}
        changed: set[str] = set()
        for cluster, note in clusters.items():
            if cluster in placed:
                continue
            room = (name for name, members in parts.items() if len(members) < DECISION_CLUSTERS_MAX)
            name = next(room, "") or f"{self._placement}-decision-{len(parts) + 1}"
            parts.setdefault(name, {})[cluster] = note
            changed.add(name)
        for name in sorted(changed):
            await self._write(name, parts[name])

    async def displace(self, clusters: Iterable[str]) -> bool:
        """Take clusters out of the decisions; whether any was there."""
        gone = set(clusters)
        mine = [each for each in self.parts if gone & set(each.clusters)]
        for part in mine:
            kept = {name: note for name, note in _noted(part).items() if name not in gone}
            await self._write(part.name, kept)
        return bool(mine)

    async def _write(self, name: str, clusters: Mapping[str, str]) -> None:
        """Write one decision: its labels, and then its clusters."""
        labels = {DECISION_PLACEMENT: self._placement, DECISION_GROUP: "", DECISION_INDEX: "0"}
        head = {
            "apiVersion": PLACEMENT_DECISION.api_version,
            "kind": PLACEMENT_DECISION.name,
            "metadata": {"namespace": self._namespace, "name": name, "labels": labels},
        }
        made = (await self._cluster.apply(head)).object
        decisions = [{"clusterName": each, "reason": note} for each, note in clusters.items()]
        written = await self._cluster.write_status(made, {"decisions": decisions})
        self._shelves.decisions.put(written)


def _noted(part: DecisionPart) -> dict[str, str]:
    notes = part.notes or ("",) * len(part.clusters)
    return dict(zip(part.clusters, notes, strict=True))
