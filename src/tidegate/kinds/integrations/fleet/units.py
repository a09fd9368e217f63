"""Gives a unit its workloads, with the image that is its turn."""

import asyncio

from tidegate.kinds.integrations.core.workloads.estate import (
    ManagedPlace,
    Site,
    Unit,
    manifest_of,
    pieces_of,
)
from tidegate.kubernetes.port import Applied, Cluster, Take


async def give(
    cluster: Cluster, site: Site, place: ManagedPlace, unit: Unit, revision: str
) -> list[Applied]:
    """Apply all workloads of a unit at once; the first that failed is raised when all have ended.

    None goes on unseen, whatever becomes of another.
    """
    every = (
        cluster.apply(manifest_of(piece, site, revision=revision), take=Take.BACK)
        for piece in pieces_of(place, unit)
    )
    done = await asyncio.gather(*every, return_exceptions=True)
    for each in done:
        if isinstance(each, BaseException):
            raise each
    return [each for each in done if isinstance(each, Applied)]
