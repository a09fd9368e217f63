"""Requests that change something in OpenShift Cluster Manager, each built in one place.

The client sends them, plans show them, the simulator receives them: all three use these functions,
so that what is shown is what is sent. The path is kept as segments; only the client escapes them.
"""

from typing import Any

import msgspec

from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.core.world import ManagedCluster
from tidegate.model.time import Instant, format_second

CLUSTERS = ("api", "clusters_mgmt", "v1", "clusters")
ADDONS = ("api", "addons_mgmt", "v1", "clusters")
SERVICE_LOGS = ("api", "service_logs", "v1", "cluster_logs")
SERVICE_NAME = "advanced-upgrade-scheduler"
"""The author of service logs; the predecessor's, so that one of its own counts as ours."""
SEVERITY = "Moderate"
MANUAL = "manual"

Write = tuple[str, str, dict[str, Any]]
"""A request as `decide upgrades` prints it: method, path, body."""


class OcmRequest(msgspec.Struct, frozen=True):
    """One request that changes something."""

    method: str
    segments: tuple[str, ...]
    body: dict[str, Any] = {}

    @property
    def path(self) -> str:
        """The path as people read it, nothing escaped."""
        return "/" + "/".join(self.segments)

    def write(self) -> Write:
        """Method, path and body."""
        return (self.method, self.path, self.body)


def request_of(cluster: ManagedCluster, step: UpgradeStep) -> OcmRequest:
    """The request that a step takes; a step without a start has the earliest moment there is.

    Labels are several requests, one each (`app/label_edits.py`), and part of no plan of upgrades.
    """
    ident, version = cluster.ident, step.revision or ""
    starts_at = format_second(step.starts_at if step.starts_at is not None else Instant(0))
    match step.doing:
        case StepKind.CHANNEL:
            return switch_channel(ident, version)
        case StepKind.AGREE:
            return agree_to_gate(ident, step.ident)
        case StepKind.CANCEL:
            where = ocm_policies(ident, hosted=cluster.is_hosted, pool=step.pool)
            return OcmRequest("DELETE", (*where, step.ident))
        case StepKind.CANCEL_ADDON:
            return OcmRequest("DELETE", (*addon_plans(ident), step.ident))
        case StepKind.ADDON:
            return create_addon_plan(ident, step.addon, version, starts_at)
        case StepKind.UPGRADE | StepKind.POOL:
            return create_ocm_policy(
                ident, version, starts_at, hosted=cluster.is_hosted, pool=step.pool
            )
        case StepKind.LABELS:
            raise AssertionError("labels are no single request")


def ocm_policies(cluster: str, *, hosted: bool = False, pool: str = "") -> tuple[str, ...]:
    """The OCM policies of a cluster, of its hosted control plane, or of one of its node pools."""
    if pool:
        return (*CLUSTERS, cluster, "node_pools", pool, "upgrade_policies")
    between = ("control_plane",) if hosted else ()
    return (*CLUSTERS, cluster, *between, "upgrade_policies")


def create_ocm_policy(
    cluster: str, version: str, next_run: str, *, hosted: bool = False, pool: str = ""
) -> OcmRequest:
    """Have a cluster, its hosted control plane or a node pool upgraded at a moment."""
    body = {"version": version, "schedule_type": MANUAL}
    if hosted or pool:
        body["upgrade_type"] = "NodePool" if pool else "ControlPlane"
        body["cluster_id"] = cluster
    where = ocm_policies(cluster, hosted=hosted, pool=pool)
    return OcmRequest("POST", where, {**body, "next_run": next_run})


def addon_plans(cluster: str, *, service: int = 2) -> tuple[str, ...]:
    """The upgrade plans of a cluster's add-ons, in the newer of the two services or the older."""
    if service == 2:
        return (*ADDONS, cluster, "upgrade_plans")
    return (*CLUSTERS, cluster, "addon_upgrade_policies")


def create_addon_plan(
    cluster: str, addon: str, version: str, next_run: str, *, service: int = 2
) -> OcmRequest:
    """Have an add-on upgraded; the older service starts at once and takes no moment."""
    what = {"version": version, "addon_id": addon, "cluster_id": cluster}
    when = {"type": MANUAL, "next_run": next_run}
    if service != 2:
        when = {"schedule_type": MANUAL, "upgrade_type": "ADDON"}
    return OcmRequest("POST", addon_plans(cluster, service=service), {**what, **when})


def agree_to_gate(cluster: str, gate: str) -> OcmRequest:
    """Agree to a version gate."""
    body = {"version_gate": {"id": gate}}
    return OcmRequest("POST", (*CLUSTERS, cluster, "gate_agreements"), body)


def switch_channel(cluster: str, channel: str) -> OcmRequest:
    """Put a cluster on a channel."""
    return OcmRequest("PATCH", (*CLUSTERS, cluster), {"channel": channel})


def post_service_log(
    uuid: str,
    summary: str,
    description: str,
    service_name: str = SERVICE_NAME,
    severity: str = SEVERITY,
) -> OcmRequest:
    """Write a service log for the owner of a cluster."""
    body = {
        "cluster_uuid": uuid,
        "service_name": service_name,
        "summary": summary,
        "description": description,
        "severity": severity,
    }
    return OcmRequest("POST", SERVICE_LOGS, body)


def label_body(key: str, value: str) -> dict[str, str]:
    """A label as it is created and changed."""
    return {"kind": "Label", "key": key, "value": value}
