"""Clusters that have no label of upgrades: known by name, so that a first label can be requested.

Nothing is decided about them, so they are read seldom, and nothing waits for them.
"""

from collections.abc import Collection, Iterable

import msgspec

from tidegate.kinds.upgrades.core.world import ManagedCluster
from tidegate.kinds.upgrades.ocm.port import ManagedClusters
from tidegate.model.errors import OutsideError


async def unlabelled_clusters(
    manager: ManagedClusters, orgs: Iterable[str], labelled: Collection[str]
) -> tuple[ManagedCluster, ...]:
    """The clusters of organisations, without those of some subscriptions.

    OutsideError if they cannot be read, or are not known to be all.
    """
    subscriptions = await manager.subscriptions((), list(orgs))
    owners = {
        each.id: each.organization_id
        for each in subscriptions.items
        if each.unused is msgspec.UNSET and each.id not in labelled
    }
    clusters = await manager.clusters(sorted(owners))
    if not (subscriptions.complete and clusters.complete):
        raise OutsideError("lists changed while they were read")
    found = (
        ManagedCluster(
            name=each.name,
            org=owners[each.subscription.id],
            version=each.version.raw_id,
            product=each.product.id,
            hypershift=each.hypershift.enabled,
            state=each.state,
            id=each.id,
            external_id=each.external_id,
            subscription=each.subscription.id,
        )
        for each in clusters.items
        if each.subscription.id in owners
    )
    return tuple(sorted(found, key=lambda each: each.uuid))
