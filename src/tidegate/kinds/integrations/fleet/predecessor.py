"""A stand-in for the existing manager, to rehearse a hand-over on simulated clusters.

It makes everything that a bundle declares, all at once, and again whenever the bundle changes. What
Tidegate owns it leaves alone: so must the real one, which is stopped before anything is adopted.
"""

import asyncio
from collections.abc import Mapping

from tidegate.kinds.integrations.core.workloads.estate import Estate, Piece, Site, manifest_of
from tidegate.kinds.integrations.core.workloads.workloads import Manifest
from tidegate.kinds.integrations.estates_port import Estates
from tidegate.kubernetes.port import Cluster, Take, kind_of

# By this name servers know the fields of the existing manager.
PREDECESSOR = "integrations-manager"
# A change of the bundle is carried out within so long.
EVERY_S = 5.0


class Predecessor:
    """Makes what is declared, on clusters that are known by two names: its own, and Tidegate's."""

    def __init__(
        self, estates: Estates, theirs: Mapping[str, Cluster], ours: Mapping[str, Cluster]
    ) -> None:
        self._estates = estates
        self._theirs, self._ours = theirs, ours

    async def run(self, every_s: float = EVERY_S) -> None:
        """Make what is declared, for good: at the beginning, and whenever the bundle changed."""
        made: Estate | None = None
        while True:
            estate = await self._estates.read()
            if estate is not made:
                await self.make(estate)
            made = estate
            await asyncio.sleep(every_s)

    async def make(self, estate: Estate) -> None:
        """Make what is declared, but for what is Tidegate's."""
        for piece in estate.pieces():
            manifest = made_by_predecessor(piece, estate.site)
            there = await self._ours[piece.cluster].get(
                kind_of(manifest), piece.namespace, piece.name
            )
            if there is None or not there.ours:
                await self._theirs[piece.cluster].apply(manifest, take=Take.OVER)


def made_by_predecessor(piece: Piece, site: Site) -> Manifest:
    """An object as the existing manager makes it: without anything that says that it is ours."""
    manifest = manifest_of(piece, site, adopted=True)
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "annotations"}
    metadata["labels"] = {"app": manifest["metadata"]["labels"]["app"]}
    return {**manifest, "metadata": metadata}
