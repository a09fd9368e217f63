"""Reads what upgrades are decided from: lists in pages, clusters at once, and nothing that cannot
matter.

    labels → subscriptions → clusters        in pages, whatever there is of them
    then of each cluster, all at once:
      node pools → their policies            only where a control plane is hosted
      policies                               after the node pools
      agreements to gates                    only where a way leads to a minor that has gates
      plans → add-ons                        only in organisations that ask for them
      the cluster itself, again              its version, and the channels it may be put on

Time passes between two requests. An upgrade that finishes in between is neither in the policies nor
in a version that was read before them, so a version counts only if it is the same before and after:
then no upgrade finished, and what the policies did not show was not under way at that moment. Node
pools are read before policies, because they fall behind only when the version changes; plans are
read before the versions of add-ons. What changed is read again, a few times; then it counts as not
read. A cluster that cannot be read is reported, and the others are used.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tidegate.kinds.upgrades.ocm.documents import (
    Addon,
    AddonPlan,
    GateAgreement,
    InstalledAddon,
    Label,
    NodePool,
    OcmCluster,
    OcmPolicy,
    Subscription,
    Version,
    VersionGate,
)
from tidegate.kinds.upgrades.ocm.port import (
    LabelType,
    ManagedClusters,
    OcmList,
    UnreadableDocument,
    Upgradable,
)
from tidegate.model.errors import OutsideError

PREFIX = "sre-capabilities.aus."
# How often a cluster that changes while it is read is read. One upgrade finishes once.
READ_MAX = 3
CHANGED = "its version changed while it was read"


class ClusterDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of one cluster by itself."""

    policies: tuple[OcmPolicy, ...] = ()
    pools: tuple[NodePool, ...] = ()
    pool_policies: Mapping[str, tuple[OcmPolicy, ...]] = {}
    # None: nothing it can be upgraded to has gates, so it was not read.
    agreements: tuple[GateAgreement, ...] | None = None
    # Empty where it was not read.
    addons: tuple[InstalledAddon, ...] = ()
    plans: tuple[AddonPlan, ...] = ()
    # The channels it may be put on.
    channels: tuple[str, ...] = ()
    # Why it could not be read; empty: it was.
    error: str = ""


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """All that was read."""

    labels: tuple[Label, ...]
    subscriptions: tuple[Subscription, ...]
    clusters: tuple[OcmCluster, ...]
    # By the id of the cluster.
    details: Mapping[str, ClusterDetails]
    gates: tuple[VersionGate, ...]
    versions: tuple[Version, ...]
    unreadable: tuple[UnreadableDocument, ...]
    # Whether all lists are known to be whole.
    complete: bool
    # The newest version of each add-on, by its id; empty where they were not read.
    newest: Mapping[str, str] = {}


async def survey(
    manager: ManagedClusters,
    prefix: str = PREFIX,
    organizations: Iterable[str] = (),
    addons: Iterable[str] = (),
) -> Survey:
    """Read everything that upgrades are decided from; OutsideError if a list cannot be had.

    Of some organisations only, if any are named; with the add-ons of some of them.
    """
    wanted, equipped = frozenset(organizations), frozenset(addons)
    labels, gates, versions, newest = await asyncio.gather(
        manager.labels(prefix), manager.gates(), manager.versions(), _newest(manager, equipped)
    )
    ids = {each.subscription_id for each in labels.items if _of(each, LabelType.SUBSCRIPTION)}
    subscriptions = await manager.subscriptions(sorted(ids))
    ours = tuple(
        each for each in subscriptions.items if not wanted or each.organization_id in wanted
    )
    clusters = await manager.clusters([each.id for each in ours])
    minors = frozenset(each.version_raw_id_prefix for each in gates.items)
    owners = {each.id: each.organization_id for each in ours}

    def asks(cluster: OcmCluster) -> OcmList[Addon] | str | None:
        return newest if owners.get(cluster.subscription.id) in equipped else None

    read = await asyncio.gather(
        *(_read(manager, each, minors, asks(each)) for each in clusters.items)
    )
    readings: tuple[OcmList[Any], ...] = (labels, gates, versions, subscriptions, clusters)
    excluded = [item for reading in readings for item in reading.unreadable]
    return Survey(
        labels=labels.items,
        subscriptions=ours,
        clusters=tuple(cluster for cluster, _ in read),
        details={cluster.id: details for cluster, details in read},
        gates=gates.items,
        versions=versions.items,
        newest=_by_id(newest),
        unreadable=tuple(excluded),
        complete=all(reading.complete for reading in readings),
    )


async def _read(
    manager: ManagedClusters,
    cluster: OcmCluster,
    minors: frozenset[str],
    newest: OcmList[Addon] | str | None,
) -> tuple[OcmCluster, ClusterDetails]:
    """A cluster with its details, which is the same before and after they were read."""
    details = ClusterDetails()
    for _ in range(READ_MAX):
        details = await _details(manager, cluster, minors, newest)
        if details.error:
            return cluster, details
        try:
            again = await manager.cluster(cluster.id)
        except OutsideError as error:
            return cluster, msgspec.structs.replace(details, error=str(error))
        if again is None:
            return cluster, msgspec.structs.replace(details, error="it is gone by now")
        before, cluster = cluster, again
        if _versions(before) == _versions(again):
            channels = again.version.available_channels or ()
            return again, msgspec.structs.replace(details, channels=channels)
    return cluster, msgspec.structs.replace(details, error=CHANGED)


def _versions(cluster: OcmCluster) -> tuple[str, frozenset[str]]:
    """What an upgrade that finished has changed, and what its details depend on."""
    return cluster.version.raw_id, frozenset(cluster.version.available_upgrades)


def made_order(cluster: OcmCluster) -> tuple[str, str]:
    """The order in which clusters were made."""
    return cluster.creation_timestamp, cluster.id


def _of(label: Label, type_: LabelType) -> bool:
    return label.type == type_.value


async def _newest(manager: ManagedClusters, equipped: frozenset[str]) -> OcmList[Addon] | str:
    """All add-ons, if they are wanted; why not, if they cannot be read."""
    if not equipped:
        return OcmList()
    try:
        return await manager.addons()
    except OutsideError as error:
        return str(error)


def _by_id(newest: OcmList[Addon] | str) -> dict[str, str]:
    return {} if isinstance(newest, str) else {each.id: each.version.id for each in newest.items}


async def _details(
    manager: ManagedClusters,
    cluster: OcmCluster,
    minors: frozenset[str],
    newest: OcmList[Addon] | str | None,
) -> ClusterDetails:
    """What there is of one cluster; why not, if it cannot be read.

    `newest`: all add-ons, or why they are not known; None: they are not wanted.
    """
    try:
        (policies, pools, found), agreements, (installed, plans) = await asyncio.gather(
            _policies(manager, cluster),
            _agreements(manager, cluster, minors),
            _addons(manager, cluster, newest),
        )
    except OutsideError as error:
        return ClusterDetails(error=str(error))
    readings: list[OcmList[Any]] = [policies, pools, *found, installed, plans]
    if agreements is not None:
        readings.append(agreements)
    return ClusterDetails(
        policies=policies.items,
        pools=pools.items,
        pool_policies={
            pool.id: reading.items for pool, reading in zip(pools.items, found, strict=True)
        },
        agreements=None if agreements is None else agreements.items,
        addons=installed.items,
        plans=plans.items,
        error=_doubt(readings) or (f"add-ons: {newest}" if isinstance(newest, str) else ""),
    )


async def _policies(
    manager: ManagedClusters, cluster: OcmCluster
) -> tuple[OcmList[OcmPolicy], OcmList[NodePool], list[OcmList[OcmPolicy]]]:
    """The policies of a cluster, its node pools, and the policies of each of them."""
    pools: OcmList[NodePool] = OcmList()
    if cluster.hosted:
        pools = await manager.node_pools(cluster.id)
    policies, *found = await asyncio.gather(
        manager.policies(Upgradable(cluster.id, cluster.hosted)),
        *(manager.policies(Upgradable(cluster.id, pool=each.id)) for each in pools.items),
    )
    return policies, pools, found


async def _addons(
    manager: ManagedClusters, cluster: OcmCluster, newest: OcmList[Addon] | str | None
) -> tuple[OcmList[InstalledAddon], OcmList[AddonPlan]]:
    if newest is None or isinstance(newest, str):
        return OcmList(), OcmList()
    plans = await manager.addon_plans(cluster.id)
    return await manager.installed_addons(cluster.id), plans


async def _agreements(
    manager: ManagedClusters, cluster: OcmCluster, minors: frozenset[str]
) -> OcmList[GateAgreement] | None:
    own = _minor(cluster.version.raw_id)
    ahead = {_minor(each) for each in cluster.version.available_upgrades} - {own}
    return await manager.agreements(cluster.id) if ahead & minors else None


def _minor(version: str) -> str:
    """The part of a version that gates are for: 4.12.17 is 4.12."""
    return ".".join(version.split(".")[:2])


def _doubt(readings: Iterable[OcmList[Any]]) -> str:
    """Why what was read of a cluster cannot be relied on; empty: it can."""
    for reading in readings:
        for each in reading.unreadable:
            return f"{each.kind} {each.id}: {each.why}"
        if not reading.complete:
            return "a list changed while it was read"
    return ""
