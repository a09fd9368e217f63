"""From a world document to the state a simulation begins with."""

from collections.abc import Iterator, Mapping
from typing import Any

from tidegate.kinds.upgrades.ocm.simulated.state import (
    ADDONS,
    ALL_CLUSTERS,
    CLUSTER_LOGS,
    CLUSTERS,
    GATES,
    LABELS,
    ORGANIZATIONS,
    SUBSCRIPTIONS,
    VERSIONS,
    Json,
    OcmState,
)
from tidegate.kinds.upgrades.ocm.simulated.upgrades import begin, refresh_versions
from tidegate.kinds.upgrades.ocm.simulated.versions import minor
from tidegate.kinds.upgrades.ocm.simulated.world_doc import (
    LABEL_PREFIX,
    AddonDoc,
    OcmClusterDoc,
    OcmPolicyDoc,
    OcmWorld,
)
from tidegate.model.time import SECOND, format_instant, format_second, parse_instant

_HOUR = 3600 * SECOND


def found(world: OcmWorld) -> OcmState:
    """The state of a world at its beginning."""
    state = OcmState(world)
    for path in (LABELS, SUBSCRIPTIONS, ORGANIZATIONS, ALL_CLUSTERS, GATES, VERSIONS, CLUSTER_LOGS):
        state.below(path)
    for path in (f"{CLUSTERS}/addons", f"{ADDONS}/addons"):
        state.below(path)
        for addon in (*_newest(world), *world.addons):
            newest = {"kind": "AddOnVersionLink", "id": addon.version}
            name = addon.name or addon.id
            state.put(path, {"kind": "AddOn", "id": addon.id, "name": name, "version": newest})
    for org in world.orgs:
        base = {"kind": "Organization", "id": org.id, "name": org.name or org.id}
        state.put(ORGANIZATIONS, {**base, "external_id": org.id, "created_at": _born(state, 0)})
        put_labels(state, f"{ORGANIZATIONS}/{org.id}", org.labels)
    for gate in world.gates:
        state.put(
            GATES,
            {
                "kind": "VersionGate",
                "id": gate.id,
                "version_raw_id_prefix": gate.prefix,
                "label": gate.label,
                "value": gate.value or gate.prefix,
                "description": gate.description,
                "warning_message": "",
                "documentation_url": "",
                "sts_only": gate.sts_only,
                "cluster_condition": "aws.sts.enabled is 'true'" if gate.sts_only else "",
            },
        )
    for i, cluster in enumerate(world.clusters):
        _found_cluster(state, cluster, i)
    refresh_versions(state)
    for version in world.versions:
        if version.released_at and parse_instant(version.released_at) > world.now:
            state.foresee(parse_instant(version.released_at), VERSIONS)
    return state


def _newest(world: OcmWorld) -> Iterator[AddonDoc]:
    """The newest versions of add-ons, as far as clusters that have them say it."""
    for cluster in world.clusters:
        for each in cluster.addons:
            if each.latest is not None:
                yield AddonDoc(each.id, each.latest)


def put_labels(state: OcmState, owner: str, labels: Mapping[str, str]) -> None:
    """Labels on a subscription or an organisation, by their short names."""
    state.below(f"{owner}/labels")
    for name, value in labels.items():
        put_label(state, owner, LABEL_PREFIX + name, value)


def put_label(state: OcmState, owner: str, key: str, value: str) -> Json:
    """One label: it is found at its owner's, and among all."""
    plural, owner_id = owner.split("/")[-2:]
    kind = plural.removesuffix("s")
    label = {
        "kind": "Label",
        "id": f"label-{state.number()}",
        "href": f"{owner}/labels/{key}",
        "key": key,
        "value": value,
        "type": kind.title(),
        "internal": False,
        f"{kind}_id": owner_id,
        "created_at": state.stamp(),
        "updated_at": state.stamp(),
    }
    state.put(f"{owner}/labels", label, key)
    return state.put(LABELS, label)


def _found_cluster(state: OcmState, doc: OcmClusterDoc, number: int) -> None:
    path, key = f"{ALL_CLUSTERS}/{doc.key}", doc.key
    subscription = doc.subscription or (f"{doc.name}-sub" if doc.id is None else f"{key}-sub")
    external = doc.external_id or f"{doc.name}-uuid"
    born = _born(state, number)
    state.put(
        SUBSCRIPTIONS,
        {
            "kind": "Subscription",
            "id": subscription,
            "display_name": doc.name,
            "cluster_id": key,
            "external_cluster_id": external,
            "organization_id": doc.org,
            "managed": True,
            "status": doc.subscription_status,
            "created_at": born,
            "capabilities": [],
        },
    )
    put_labels(state, f"{SUBSCRIPTIONS}/{subscription}", doc.labels)
    cluster = _cluster(doc, subscription, external, born)
    for name in doc.omit:
        cluster.pop(name, None)
    state.put(ALL_CLUSTERS, cluster)
    hosted = hosted_plane(cluster)
    policies = f"{path}/control_plane/upgrade_policies" if hosted else f"{path}/upgrade_policies"
    for name in ("node_pools", "gate_agreements", "addon_upgrade_policies"):
        state.below(f"{path}/{name}")
    state.below(policies)
    state.below(f"{ADDONS}/clusters/{key}/upgrade_plans")
    for gate in doc.gate_agreements:
        put_agreement(state, key, gate)
    for pool in doc.node_pools:
        version = {"id": f"openshift-v{pool.version}", "raw_id": pool.version}
        state.put(f"{path}/node_pools", {"kind": "NodePool", "id": pool.id, "version": version})
        state.below(f"{path}/node_pools/{pool.id}/upgrade_policies")
        for policy in pool.upgrade_policies:
            _found_policy(state, f"{path}/node_pools/{pool.id}/upgrade_policies", policy)
    for policy in doc.upgrade_policies:
        _found_policy(state, policies, policy)
    for base in (path, f"{ADDONS}/clusters/{key}"):
        state.below(f"{base}/addons")
        for addon in doc.addons:
            state.put(f"{base}/addons", _installed(addon.id, addon.version, addon.state))
    for addon in doc.addons:
        for plan in addon.upgrade_plans:
            _found_policy(state, f"{ADDONS}/clusters/{key}/upgrade_plans", plan, addon.id)


def _cluster(doc: OcmClusterDoc, subscription: str, external: str, born: str) -> Json:
    major, own = minor(doc.version)
    channel = doc.channel or f"stable-{major}.{own}"
    href = f"{ALL_CLUSTERS}/{doc.key}"
    domain = f"{doc.name}.example.com"
    cluster: Json = {
        "kind": "Cluster",
        "id": doc.key,
        "href": href,
        "name": doc.name,
        "display_name": doc.name,
        "external_id": external,
        "managed": True,
        "state": doc.state,
        "creation_timestamp": born,
        "subscription": {
            "kind": "SubscriptionLink",
            "id": subscription,
            "href": f"{SUBSCRIPTIONS}/{subscription}",
        },
        "region": {"kind": "CloudRegionLink", "id": "us-east-1"},
        "cloud_provider": {"kind": "CloudProviderLink", "id": "aws"},
        "product": {"kind": "ProductLink", "id": doc.product},
        "identity_providers": {
            "kind": "IdentityProviderListLink",
            "href": f"{href}/identity_providers",
        },
        "version": {
            "kind": "Version",
            "id": f"openshift-v{doc.version}",
            "raw_id": doc.version,
            "channel_group": channel.partition("-")[0],
            "available_upgrades": list(doc.available_upgrades or ()),
            "available_channels": list(doc.available_channels or ()),
        },
        "channel": channel,
        "hypershift": {"enabled": doc.hypershift},
        "console": {"url": f"https://console.{domain}"},
        "api": {"url": f"https://api.{domain}:6443", "listening": "external"},
        "dns": {"base_domain": "example.com"},
    }
    if doc.sts:
        cluster["aws"] = {
            "sts": {
                "enabled": True,
                "role_arn": "arn:aws:iam::000000000000:role/Installer",
                "support_role_arn": "arn:aws:iam::000000000000:role/Support",
                "operator_iam_roles": [],
                "instance_iam_roles": {},
                "operator_role_prefix": doc.name,
            }
        }
    return cluster


def hosted_plane(cluster: Mapping[str, Any]) -> bool:
    """Whether its control plane is hosted: of product rosa, with hypershift."""
    product = cluster.get("product", {}).get("id")
    return product == "rosa" and bool(cluster.get("hypershift", {}).get("enabled"))


def put_agreement(state: OcmState, cluster: str, gate: str) -> Json:
    """An agreement to a gate for a cluster."""
    path = f"{ALL_CLUSTERS}/{cluster}/gate_agreements"
    return state.put(
        path,
        {
            "kind": "VersionGateAgreement",
            "id": f"agreement-{state.number()}",
            "version_gate": {"kind": "VersionGateLink", "id": gate, "href": f"{GATES}/{gate}"},
            "agreed_timestamp": state.stamp(),
        },
    )


def _found_policy(state: OcmState, path: str, doc: OcmPolicyDoc, addon: str = "") -> None:
    at = parse_instant(doc.next_run) if doc.next_run else state.now + _HOUR
    policy: Json = {
        "id": doc.id or f"policy-{state.number()}",
        "version": doc.version,
        "type" if addon else "schedule_type": doc.schedule_type,
        "next_run": format_instant(at),
        "state": {"value": doc.state},
    }
    if addon:
        policy["addon_id"] = addon
    if doc.schedule:
        policy["schedule"] = doc.schedule
    if doc.upgrade_type:
        policy["upgrade_type"] = doc.upgrade_type
    begin(state, path, policy)


def _installed(addon: str, version: str, status: str) -> Json:
    return {
        "kind": "AddOnInstallation",
        "id": addon,
        "addon": {"kind": "AddOnLink", "id": addon},
        "addon_version": {"kind": "AddOnVersionLink", "id": version},
        "state": status,
    }


def _born(state: OcmState, number: int) -> str:
    """Long before the beginning, the first in the document first."""
    return format_second(state.now - 30 * 24 * _HOUR + number * SECOND)
