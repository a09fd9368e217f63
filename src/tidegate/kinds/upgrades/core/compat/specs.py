"""An organisation with its clusters as the predecessor prepares them, and what is wrong with it."""

from collections.abc import Iterable, Mapping
from functools import cached_property

import msgspec

from tidegate.kinds.upgrades.core.compat.discovery import discover, selected
from tidegate.kinds.upgrades.core.compat.record import (
    SERVICE,
    AbortError,
    LegacyRecord,
    cluster_path,
)
from tidegate.kinds.upgrades.core.labels.labels import (
    ClusterLabels,
    OrgLabels,
    read_cluster_labels,
    read_org_labels,
)
from tidegate.kinds.upgrades.core.sectors import Sector, SectorLoopError, check_loops
from tidegate.kinds.upgrades.core.versions import Key, VersionError, key_of
from tidegate.kinds.upgrades.core.world import ManagedCluster, Organisation, UpgradeWorld

_TELEMETER = "telemeter"
_HELP = "https://source.redhat.com/groups/public/sre/wiki/advanced_upgrade_service_aus"


class LegacySpec(msgspec.Struct, dict=True):
    """One cluster and what its labels ask for."""

    cluster: ManagedCluster
    wants: ClusterLabels
    mutexes: tuple[str, ...]  # its own id is one of them; sorted
    key: Key
    health: tuple[tuple[str, tuple[str, ...], bool], ...]  # source, errors, whether enforced

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """What it can go to; its own version too while a node pool lags behind."""
        found, own = self.cluster.available_upgrades, self.cluster.version
        return (own, *found) if own not in found and oldest(self.cluster) != own else found


class OrgSpec(msgspec.Struct):
    """One organisation, ready to be looked at."""

    org: Organisation
    labels: OrgLabels
    sectors: dict[str, Sector]
    sources: tuple[str, ...]  # keys of the histories it inherits from
    specs: list[LegacySpec] = []
    members: dict[str, dict[str, LegacySpec]] = {}  # by sector, then name: equal names are one
    cluster_errors: list[tuple[str, list[str]]] = []
    org_errors: list[str] = []
    not_a_version: str = ""  # what the first cluster runs whose version is none

    @property
    def key(self) -> str:
        """Where its history is kept."""
        return f"{self.org.env}/{self.org.id}"


def prepare(record: LegacyRecord, orgs: Iterable[Organisation]) -> list[OrgSpec]:
    """Every organisation of an environment that has clusters; AbortError loses all of them."""
    mine = selected(every := list(orgs), SERVICE)
    found = {
        ident: kept
        for ident, clusters in discover(record, every).items()
        if (not mine or ident in mine)
        and (kept := [one for one in clusters if not (record.world.ignore_sts and one.sts)])
    }
    for clusters in found.values():
        for cluster in clusters:
            if cluster.is_hosted:
                record.read(cluster_path(cluster.ident, "node_pools"))
    network = {org.id: (org.env, read_org_labels(org.labels)) for org in _networked(record.world)}
    prepared: list[OrgSpec] = []
    for ident, clusters in found.items():
        if ident not in mine:
            raise AbortError("KeyError", f"'{ident}'")
        prepared.append(_organisation(record.world, mine[ident], clusters, network))
    return prepared


def _networked(world: UpgradeWorld) -> Iterable[Organisation]:
    """Organisations that say anything about sharing their history."""
    return (org for org in world.orgs if any(key.startswith("version-data.") for key in org.labels))


def _organisation(
    world: UpgradeWorld,
    org: Organisation,
    clusters: list[ManagedCluster],
    network: Mapping[str, tuple[str, OrgLabels]],
) -> OrgSpec:
    labels = read_org_labels(org.labels)
    try:
        check_loops(labels.sectors)
    except SectorLoopError as error:
        raise AbortError("SectorConfigError", str(error)) from None
    for check in org.health_checks:
        if check.provider != _TELEMETER:
            wants = "requests health data from an unavailable health check provider"
            what = f"organization {org.name} ({org.id}) {wants} {check.provider}"
            raise AbortError("Exception", what)
    inherit = dict.fromkeys(labels.inherit)
    verified = [one for one in inherit if one in network and org.id in network[one][1].publish]
    sources = tuple(f"{network[one][0]}/{one}" for one in verified)
    spec = OrgSpec(org, labels, {sector.name: sector for sector in labels.sectors}, sources)
    for cluster in clusters:
        _add(world, spec, cluster)
    if unverified := sorted(inherit.keys() - set(verified)):
        spec.org_errors.append(
            f"Version data inheritance from organizations {', '.join(unverified)} are unverified."
            " Ask the owner of these organizations to publish version data to the organization ID"
            f" {org.id}. See {_HELP}"
        )
    spec.specs.sort(key=lambda one: (one.key, one.wants.soak_days))
    return spec


def _add(world: UpgradeWorld, spec: OrgSpec, cluster: ManagedCluster) -> None:
    wants, problems = read_cluster_labels(cluster.labels)
    if wants is None:
        spec.cluster_errors.append((cluster.uuid, [problem.text() for problem in problems]))
        return
    if spec.org.health_checks and world.health_fails:
        spec.cluster_errors.append((cluster.uuid, ["telemeter unreachable"]))
        return
    if wants.sector and wants.sector not in spec.sectors:
        unknown = f"cluster {cluster.uuid} references unknown sector {wants.sector}"
        spec.cluster_errors.append((cluster.uuid, [unknown]))
        spec.org_errors.append(f"sector {wants.sector} not found in organization")
        return
    try:
        # Clusters are sorted anew with each one, so a version that is none fails all that follow.
        key = key_of(spec.not_a_version or cluster.version)
    except VersionError as error:
        spec.not_a_version = spec.not_a_version or cluster.version
        spec.cluster_errors.append((cluster.uuid, [str(error)]))
        return
    alerts = tuple(sorted(set(cluster.alerts)))
    one = LegacySpec(
        cluster,
        wants,
        tuple(sorted({*(wants.mutexes or ()), cluster.ident})),
        key,
        tuple((check.provider, alerts, check.enforced) for check in spec.org.health_checks),
    )
    spec.specs.append(one)
    if wants.sector:
        spec.members.setdefault(wants.sector, {})[cluster.name] = one


def oldest(cluster: ManagedCluster) -> str:
    """The lowest version of its control plane and its node pools."""
    pools = cluster.node_pools if cluster.is_hosted else ()
    return min((cluster.version, *(pool.version for pool in pools)), key=key_of)
