"""From what was read of OpenShift Cluster Manager to the world that upgrades are decided in.

Clusters come in the order in which they were made, as the predecessor meets them; labels lose the
prefix that all of them have.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress

import msgspec

from tidegate.kinds.upgrades.app.read.gaps import gaps_of
from tidegate.kinds.upgrades.app.read.survey import PREFIX, ClusterDetails, Survey, made_order
from tidegate.kinds.upgrades.core import world as decided
from tidegate.kinds.upgrades.core.history import SoakHistory
from tidegate.kinds.upgrades.ocm.documents import (
    Label,
    OcmCluster,
    OcmPolicy,
    Subscription,
    Version,
)
from tidegate.kinds.upgrades.ocm.port import LabelType
from tidegate.model.time import Instant, parse_instant

CHANGED = "a list changed while it was read"


def world_of(
    survey: Survey,
    orgs: Iterable[decided.Organisation],
    now: Instant,
    kept: Mapping[str, SoakHistory] | None = None,
    prefix: str = PREFIX,
) -> decided.UpgradeWorld:
    """The world of a survey, with the organisations that are served, each with its labels.

    A cluster that could not be read in full is there with what is known of it, and with why; so is
    what follows from documents that could not be used.
    """
    labels = labels_of(survey.labels, prefix)
    subscribed = {each.id: each for each in survey.subscriptions}
    read = tuple(
        _cluster(each, subscribed[each.subscription.id], labels, survey)
        for each in sorted(survey.clusters, key=made_order)
    )
    gaps = gaps_of(survey, labels)
    clusters = (*read, *gaps.clusters)
    unread = {each.uuid: survey.details[each.ident].error for each in read}
    everywhere = gaps.everywhere if survey.complete else CHANGED
    return decided.UpgradeWorld(
        now=now,
        orgs=tuple(
            msgspec.structs.replace(
                org,
                labels=labels[LabelType.ORGANIZATION.value, org.id],
                partial=org.partial or everywhere or gaps.partial.get(org.id, ""),
            )
            for org in orgs
        ),
        clusters=clusters,
        gates=tuple(
            decided.MinorGate(each.id, each.version_raw_id_prefix, each.label, each.sts_only)
            for each in survey.gates
        ),
        kept=kept or {},
        unread={uuid: why for uuid, why in unread.items() if why} | gaps.unread,
        ends=ends_of(survey.versions),
    )


def ends_of(versions: Iterable[Version]) -> dict[str, Instant]:
    """When versions are no longer supported, as far as it is said in a way that can be read."""
    found: dict[str, Instant] = {}
    for each in versions:
        with suppress(ValueError):
            found[each.raw_id] = parse_instant(each.end_of_life_timestamp)
    return found


Labels = Mapping[tuple[str, str], dict[str, str]]


def labels_of(labels: Iterable[Label], prefix: str) -> Labels:
    """The labels of each owner, by type and id."""
    found: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for each in labels:
        owner = each.subscription_id or each.organization_id
        found[each.type, owner][each.key.removeprefix(prefix)] = each.value
    return found


def _cluster(
    cluster: OcmCluster, subscription: Subscription, labels: Labels, survey: Survey
) -> decided.ManagedCluster:
    version, details = cluster.version, survey.details[cluster.id]
    return decided.ManagedCluster(
        name=cluster.name,
        org=subscription.organization_id,
        version=version.raw_id,
        available_upgrades=version.available_upgrades,
        labels=labels[LabelType.SUBSCRIPTION.value, cluster.subscription.id],
        product=cluster.product.id,
        hypershift=cluster.hypershift.enabled,
        sts=cluster.sts,
        channel=cluster.channel,
        available_channels=details.channels,
        node_pools=tuple(
            decided.ClusterPool(
                pool.id, pool.version.raw_id, _upgrades(details.pool_policies.get(pool.id, ()))
            )
            for pool in details.pools
        ),
        upgrade_policies=_upgrades(details.policies),
        gate_agreements=tuple(each.version_gate.id for each in details.agreements or ()),
        addons=_addons(details, survey.newest),
        state=cluster.state,
        id=cluster.id,
        external_id=cluster.external_id,
        subscription=subscription.id,
        subscription_status=subscription.unused,
    )


def _addons(details: ClusterDetails, newest: Mapping[str, str]) -> tuple[decided.ClusterAddon, ...]:
    """The add-ons of a cluster, each with its plans; other plans are dropped."""
    return tuple(
        decided.ClusterAddon(
            id=each.addon.id,
            version=each.addon_version.id,
            latest=newest.get(each.addon.id),
            state=each.state,
            upgrade_plans=tuple(
                decided.OcmUpgrade(
                    id=plan.id,
                    version=plan.version,
                    schedule_type=plan.type or plan.schedule_type or "manual",
                    state=plan.state.value if plan.state else None,
                    next_run=plan.next_run or None,
                )
                for plan in details.plans
                if plan.addon_id == each.addon.id
            ),
        )
        for each in details.addons
    )


def _upgrades(policies: Iterable[OcmPolicy]) -> tuple[decided.OcmUpgrade, ...]:
    return tuple(
        decided.OcmUpgrade(
            id=each.id,
            version=each.version,
            schedule_type=each.schedule_type,
            schedule=each.schedule or None,
            state=each.state.value if each.state else None,
            next_run=each.next_run or None,
            upgrade_type=each.upgrade_type or None,
        )
        for each in policies
    )
