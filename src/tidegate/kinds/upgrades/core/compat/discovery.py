"""Which clusters take part, and in which order they are met.

Subscriptions that are in use come in the order of their ids, a hundred at a time; within each
hundred clusters come in the order they were made, which is the order they stand in.
"""

from collections.abc import Iterable

from tidegate.kinds.upgrades.core.compat.record import AbortError, LegacyRecord
from tidegate.kinds.upgrades.core.world import ManagedCluster, Organisation, UpgradeWorld

_CHUNK = 100
_PRODUCTS = ("osd", "rosa")
_SUBSCRIPTIONS = "/api/accounts_mgmt/v1/subscriptions"
_CLUSTERS = "/api/clusters_mgmt/v1/clusters"
# Without one of these the predecessor cannot read a cluster, and so reads none.
# fmt: off
_REQUIRED = frozenset((
    "id", "external_id", "name", "display_name", "managed", "state", "subscription", "region",
    "cloud_provider", "product", "identity_providers", "version", "channel", "hypershift",
))
# fmt: on


def environments(world: UpgradeWorld) -> dict[str, list[Organisation]]:
    """The organisations of each environment, environments by name."""
    found: dict[str, list[Organisation]] = {
        env: [] for env in sorted({org.env for org in world.orgs})
    }
    for org in world.orgs:
        found[org.env].append(org)
    return found


def selected(orgs: Iterable[Organisation], service: str) -> dict[str, Organisation]:
    """The organisations that a service manages."""
    return {org.id: org for org in orgs if org.registered and service not in org.disabled}


def discover(
    record: LegacyRecord, orgs: Iterable[Organisation], *, by_org: bool = False
) -> dict[str, list[ManagedCluster]]:
    """The clusters that have labels, by organisation; by_org: labels of their organisation do."""
    every = {org.id: org for org in orgs}
    mine = [
        cluster
        for cluster in record.world.clusters
        if cluster.org in every
        and cluster.is_subscribed
        and (cluster.labels or (by_org and every[cluster.org].labels))
    ]
    if not mine:
        return {}
    record.read(_SUBSCRIPTIONS)
    record.read(_CLUSTERS)
    found: dict[str, list[ManagedCluster]] = {}
    for cluster in _in_chunks(mine):
        if cluster.state == "ready" and cluster.product in _PRODUCTS:
            missing = [name for name in cluster.omit if name in _REQUIRED]
            if missing:
                raise AbortError("ValidationError", _invalid(missing))
            found.setdefault(cluster.org, []).append(cluster)
    return found


def _in_chunks(clusters: list[ManagedCluster]) -> list[ManagedCluster]:
    if len(clusters) <= _CHUNK:
        return clusters
    ranked = sorted({cluster.subscribed_as for cluster in clusters})
    chunk_of = {name: at // _CHUNK for at, name in enumerate(ranked)}
    return sorted(clusters, key=lambda cluster: chunk_of[cluster.subscribed_as])


def _invalid(missing: list[str]) -> str:
    count = f"{len(missing)} validation error{'s' if len(missing) > 1 else ''} for OCMCluster"
    return "\n".join((count, *(f"{name}\n  Field required" for name in missing)))
