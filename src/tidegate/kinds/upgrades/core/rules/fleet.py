"""The clusters of an organisation, ready to be decided on: those that take part, and excluded ones.

Excluded is a cluster with a label that cannot be read, one with an incomplete description, or
whose details could not be read this time: alone, with the reason. They still count where others
look at them: for their sector, for the mutexes they hold, and all that they may hold where that
is not known. So do clusters that are not ready.
"""

from collections import Counter
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from tidegate.kinds.upgrades.core.declared.cluster_policy import ClusterPolicy, read_cluster_policy
from tidegate.kinds.upgrades.core.declared.label_error import LabelError
from tidegate.kinds.upgrades.core.declared.organisation_policy import (
    OrganisationPolicy,
    read_organisation_policy,
)
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.rules.progress import UpgradeProgress, progress_of
from tidegate.kinds.upgrades.core.versions import Key, VersionError, key_of
from tidegate.kinds.upgrades.core.world import ManagedCluster, Organisation, UpgradeWorld
from tidegate.model.problem import nearest
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, verdict

SERVICE = "advanced-upgrade-scheduler"
_PRODUCTS = ("osd", "rosa")
READY = "ready"
"""What a cluster is that can be upgraded."""
_HELP = "https://source.redhat.com/groups/public/sre/wiki/advanced_upgrade_service_aus"
# What cannot be done without. Others that the predecessor asks for are not looked at here.
_NEEDED = ("id", "external_id", "name", "state", "product", "version", "channel", "hypershift")


class FleetMember(msgspec.Struct, frozen=True):
    """One cluster that takes part."""

    cluster: ManagedCluster
    policy: ClusterPolicy
    unique: bool  # no other cluster of the organisation has its name
    # Of the older of its control plane and its node pools; None: not readable, or not read.
    key: Key | None
    # Of the cluster, or its control plane, alone; None: not readable.
    on: Key | None
    progress: UpgradeProgress
    sector: str = ""  # empty: none
    excluded: Verdict | None = None  # why it is excluded; None: it is not
    label_errors: tuple[LabelError, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Whether it can be upgraded at all."""
        return self.cluster.state == READY and self.cluster.is_subscribed

    @property
    def called(self) -> str:
        """Its name; with its external id where the name alone would not tell."""
        name = self.cluster.name
        return name if self.unique else f"{name} ({self.cluster.uuid})"

    @property
    def mutexes(self) -> tuple[str, ...]:
        """What it alone may have while it is upgraded."""
        return self.policy.mutexes


class OrganisationFleet(msgspec.Struct, frozen=True):
    """One organisation with its clusters, in the order they are looked at."""

    org: Organisation
    org_policy: OrganisationPolicy
    members: tuple[FleetMember, ...]
    sources: tuple[str, ...]  # keys of the ledgers it inherits from
    unverified: tuple[str, ...]  # organisations that do not publish to it
    label_errors: tuple[LabelError, ...]
    warnings: tuple[str, ...]
    # The add-on whose versions are meant, and not those of clusters; empty: clusters.
    addon: str = ""

    @property
    def key(self) -> str:
        """Where its ledger is kept."""
        own = f"{self.org.env}/{self.org.id}"
        return f"{own}/{self.addon}" if self.addon else own


def brake_labels(org: Organisation, cluster: ManagedCluster) -> dict[str, str]:
    """What brakes select a cluster by: its labels, its organisation and its environment."""
    return {**cluster.labels, "org": org.id, "env": org.env}


def gather(world: UpgradeWorld, now: Instant, service: str = SERVICE) -> list[OrganisationFleet]:
    """Every organisation that is served, by environment and id, with its clusters."""
    org_policy = {org.id: read_organisation_policy(org.labels, org.id) for org in world.orgs}
    clusters: dict[str, list[ManagedCluster]] = {}
    for each in world.clusters:
        if each.labels and each.product in _PRODUCTS and not (world.ignore_sts and each.sts):
            clusters.setdefault(each.org, []).append(each)
    uuids = Counter(each.uuid for each in world.clusters)
    served = [org for org in world.orgs if org.registered and service not in org.disabled]
    return [
        _fleet(world, org, org_policy, mine, uuids, now)
        for org in sorted(served, key=lambda one: (one.env, one.id))
        if (mine := clusters.get(org.id))
    ]


def _fleet(
    world: UpgradeWorld,
    org: Organisation,
    org_policy: Mapping[str, OrganisationPolicy],
    clusters: list[ManagedCluster],
    uuids: Mapping[str, int],
    now: Instant,
) -> OrganisationFleet:
    own = org_policy[org.id]
    if not org.addons:
        clusters = [each if not each.addons else replace(each, addons=()) for each in clusters]
    names = Counter(each.name for each in clusters)
    members = [
        member_of(
            each,
            own,
            names[each.name] == 1,
            wrong_of(each, uuids),
            world.unread.get(each.uuid),
            now,
        )
        for each in clusters
    ]
    members.sort(key=priority)
    envs = {each.id: each.env for each in world.orgs}
    unverified = tuple(
        each
        for each in own.inherit
        if each not in org_policy or org.id not in org_policy[each].publish
    )
    label_errors = own.label_errors
    # Where an organisation was not read whole, it may well publish.
    unread = {each.id for each in world.orgs if each.partial}
    if blamed := tuple(each for each in unverified if each not in unread):
        label_errors = (*label_errors, _unverified(org.id, blamed))
    found_warnings = [f"organisation {org.id}: {text}" for text in own.warnings]
    found_warnings += [
        f"cluster {one.called}: {text}" for one in members for text in one.policy.warnings
    ]
    return OrganisationFleet(
        org,
        own,
        tuple(members),
        () if unverified else tuple(f"{envs[each]}/{each}" for each in own.inherit),
        unverified,
        label_errors,
        tuple(found_warnings),
    )


def priority(member: FleetMember) -> tuple[bool, Key | tuple[()], int, str, str]:
    """Lowest version, then fewest soak days, then name; excluded clusters come last."""
    cluster = member.cluster
    try:
        key: Key | tuple[()] = key_of(cluster.version)
    except VersionError:
        key = ()
    days = member.policy.soak_days or 0
    return (member.excluded is not None, key, days, cluster.name, cluster.uuid)


def member_of(
    cluster: ManagedCluster,
    org_policy: OrganisationPolicy,
    unique: bool,
    wrong: str,
    unread: str | None,
    now: Instant,
) -> FleetMember:
    """A cluster as it takes part: `wrong` with it, or `unread` of it, excludes it."""
    policy = read_cluster_policy(cluster.labels)
    label_errors = policy.label_errors
    sector = policy.sector if policy.sector in org_policy.sectors else ""
    if policy.sector and not sector:
        known = f"cluster {cluster.uuid} references unknown sector {policy.sector}"
        hint = nearest(policy.sector, org_policy.sectors) or "declare it with sector-deps"
        words = f'"{policy.sector}" is no sector of the organisation; {hint}'
        label_errors = (*label_errors, LabelError("sector", words, known))
    excluded: Verdict | None = None
    if label_errors:
        excluded = verdict(
            UpgradeReason.LabelsUnreadable, len(label_errors), label_errors[0].text()
        )
    on, key, odd = _read_versions(cluster)
    if wrong := wrong or odd:
        excluded = verdict(UpgradeReason.ClusterUnreadable, wrong)
    if unread is not None:
        excluded = verdict(UpgradeReason.ClusterUnread, unread)
        key = None if cluster.is_hosted else key  # its node pools may be behind
    progress = progress_of(cluster, now, readable=key is not None, unread=unread is not None)
    return FleetMember(cluster, policy, unique, key, on, progress, sector, excluded, label_errors)


def wrong_of(cluster: ManagedCluster, uuids: Mapping[str, int]) -> str:
    """What is wrong with how OpenShift Cluster Manager describes it, versions apart."""
    if uuids[cluster.uuid] != 1:
        return f"external id {cluster.uuid} stands there twice"
    missing = [name for name in _NEEDED if name in cluster.omit]
    return f"{', '.join(missing)} missing" if missing else ""


def _read_versions(cluster: ManagedCluster) -> tuple[Key | None, Key | None, str]:
    """Its own version, the lowest of it and its node pools, and what is wrong with them."""
    if "version" in cluster.omit:
        return None, None, ""
    pools = cluster.node_pools if cluster.is_hosted else ()
    keys: list[Key] = []
    for version in (cluster.version, *(pool.version for pool in pools)):
        try:
            keys.append(key_of(version))
        except VersionError:
            return keys[0] if keys else None, None, f'"{version}" is no version'
    return keys[0], min(keys), ""


def _unverified(own: str, orgs: tuple[str, ...]) -> LabelError:
    """In the predecessor's words, so that no owner gets it twice."""
    known = (
        f"Version data inheritance from organizations {', '.join(orgs)} are unverified."
        " Ask the owner of these organizations to publish version data to the organization ID"
        f" {own}. See {_HELP}"
    )
    words = (
        f"{', '.join(orgs)} do not publish their version data to {own};"
        " ask their owners to add it to version-data.publish"
    )
    return LabelError("version-data.inherit", words, known)
