"""Upgrades that OpenShift Cluster Manager makes by itself, beside labels that say when to upgrade.

An owner who chose recurring updates has an automatic OCM policy there: of the cluster, of its
hosted control plane, or of a node pool. Nothing is put beside it, so the labels start nothing.
"""

from collections.abc import Iterator

from tidegate.kinds.upgrades.core.lint.findings import LintFinding
from tidegate.kinds.upgrades.core.lint.label_text import owner_of
from tidegate.kinds.upgrades.core.rules.fleet import OrganisationFleet
from tidegate.kinds.upgrades.core.rules.progress import is_automatic
from tidegate.kinds.upgrades.core.world import ManagedCluster, OcmUpgrade


def automatic(fleet: OrganisationFleet) -> Iterator[LintFinding]:
    """Clusters with labels that OpenShift Cluster Manager upgrades by itself."""
    for member in fleet.members:
        parts = [_part(*each) for each in _policies(member.cluster) if is_automatic(each[1])]
        if parts:
            message = (
                f"OpenShift Cluster Manager upgrades {', '.join(parts)} by itself,"
                " and its labels start nothing beside that"
            )
            remedy = (
                "delete the automatic upgrade policy there, or give the labels up:"
                f" tidegate upgrades policy remove {member.cluster.name}"
            )
            yield owner_of(fleet, member).found("automatic-upgrades", "", message, remedy)


def _policies(cluster: ManagedCluster) -> Iterator[tuple[str, OcmUpgrade]]:
    own = "its control plane" if cluster.is_hosted else "it"
    for one in cluster.upgrade_policies:
        yield own, one
    if cluster.is_hosted:
        for pool in sorted(cluster.node_pools, key=lambda each: each.id):
            for one in pool.upgrade_policies:
                yield f"node pool {pool.id}", one


def _part(what: str, upgrade: OcmUpgrade) -> str:
    """What is upgraded, and when as far as it is said."""
    if upgrade.schedule:
        return f"{what} (automatic, at {upgrade.schedule})"
    return f"{what} (automatic, next {upgrade.next_run})" if upgrade.next_run else what
