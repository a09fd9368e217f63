"""What writes do to a state, and which of them are refused, as OpenShift Cluster Manager refuses.

Each rule is a function of the state, the names in the path and the body; the table at the end says
which is for which path.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from tidegate.kinds.upgrades.ocm.simulated.answers import CallRefusedError
from tidegate.kinds.upgrades.ocm.simulated.events import OcmEventKind
from tidegate.kinds.upgrades.ocm.simulated.start import hosted_plane, put_agreement, put_label
from tidegate.kinds.upgrades.ocm.simulated.state import (
    ACCOUNTS,
    ADDONS,
    ALL_CLUSTERS,
    CLUSTER_LOGS,
    GATES,
    LABELS,
    Json,
    OcmState,
)
from tidegate.kinds.upgrades.ocm.simulated.upgrades import begin, happen, next_time, refresh_cluster
from tidegate.kinds.upgrades.ocm.simulated.versions import minor, version_key
from tidegate.model.time import SECOND, Instant, format_instant, parse_instant

# A policy must be at least so far ahead.
LEAD_MIN = 5 * 60 * SECOND
# What a service log may be.
SEVERITIES = frozenset(
    "Debug Info Warning Error Fatal Major Critical Important Moderate Low".split()  # noqa: SIM905
)
_LABEL_KEY = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?")

Write = Callable[[OcmState, str, tuple[str, ...], Json], tuple[int, Json | None]]


def create_policy(
    state: OcmState, path: str, names: tuple[str, ...], body: Json
) -> tuple[int, Json | None]:
    """A cluster's or a control plane's upgrade: one at a time, ahead, agreed to, and possible."""
    cluster = state.cluster(names[0])
    if cluster.get("state") != "ready":
        raise CallRefusedError(400, f"Cluster '{names[0]}' is in state '{cluster.get('state')}'")
    policy = _policy(state, path, body)
    if policy["schedule_type"] == "manual":
        if policy["version"] not in cluster["version"]["available_upgrades"]:
            raw = cluster["version"]["raw_id"]
            raise CallRefusedError(
                400, f"Version '{policy['version']}' is not available for upgrade from '{raw}'"
            )
        _need_agreements(state, cluster, policy["version"])
    return 201, _asked(state, path, policy)


def create_pool_policy(
    state: OcmState, path: str, names: tuple[str, ...], body: Json
) -> tuple[int, Json | None]:
    """A node pool's upgrade: newer than it is, and no newer than its control plane."""
    cluster = state.cluster(names[0])
    pool = state.collections[f"{ALL_CLUSTERS}/{names[0]}/node_pools"][names[1]]
    policy = _policy(state, path, body)
    wanted = version_key(policy["version"])
    if wanted > version_key(cluster["version"]["raw_id"]):
        raise CallRefusedError(
            400, f"Version '{policy['version']}' is higher than the control plane's version"
        )
    if wanted <= version_key(pool["version"]["raw_id"]):
        raise CallRefusedError(400, f"Node pool '{names[1]}' is at or above '{policy['version']}'")
    return 201, _asked(state, path, policy)


def create_plan(
    state: OcmState, path: str, names: tuple[str, ...], body: Json
) -> tuple[int, Json | None]:
    """An add-on's upgrade, to its newest version."""
    addon, version = _text(body, "addon_id"), _text(body, "version")
    installed = state.collections[f"{ADDONS}/clusters/{names[0]}/addons"].get(addon)
    if installed is None:
        raise CallRefusedError(400, f"Add-on '{addon}' is not installed on cluster '{names[0]}'")
    newest = state.collections[f"{ADDONS}/addons"].get(addon)
    if newest is None or version != newest["version"]["id"]:
        raise CallRefusedError(400, f"Version '{version}' of '{addon}' does not exist")
    for other in state.collections[path].values():
        if other.get("addon_id") == addon:
            raise CallRefusedError(400, f"There is already an upgrade of add-on '{addon}'")
    next_run = _text(body, "next_run", format_instant(state.now + LEAD_MIN))
    _moment(next_run)
    kinds: Json = {each: _text(body, each) for each in ("type", "schedule_type") if each in body}
    plan = {"id": _new_id(state), "addon_id": addon, "version": version, "next_run": next_run}
    return 201, _asked(state, path, {**plan, **kinds})


def delete_policy(
    state: OcmState, path: str, names: tuple[str, ...], _: Json
) -> tuple[int, Json | None]:
    """Call an upgrade off, unless it is under way."""
    below, key = path.rpartition("/")[0], names[-1]
    if key not in state.collections.get(below, {}):
        raise CallRefusedError(404, f"Upgrade policy '{key}' not found")
    value = state.collections[below][key]["state"]["value"]
    if value in ("started", "delayed"):
        raise CallRefusedError(400, f"Upgrade policy '{key}' is {value} and can not be deleted")
    happen(state, OcmEventKind.CALLED_OFF, below, state.collections[below][key])
    state.remove(below, key)
    return 204, None


def agree(
    state: OcmState, path: str, names: tuple[str, ...], body: Json
) -> tuple[int, Json | None]:
    """Agree to a gate; once."""
    link = body.get("version_gate")
    gate = _text(link, "id") if isinstance(link, dict) else ""
    if gate not in state.collections[GATES]:
        raise CallRefusedError(404, f"Version gate '{gate}' not found")
    if any(each["version_gate"]["id"] == gate for each in state.collections[path].values()):
        raise CallRefusedError(409, f"Version gate '{gate}' is already agreed to")
    state.happen(OcmEventKind.AGREED, cluster=names[0], to=gate)
    return 201, put_agreement(state, names[0], gate)


def change_cluster(
    state: OcmState, _: str, names: tuple[str, ...], body: Json
) -> tuple[int, Json | None]:
    """Put a cluster on another channel; nothing else of it can be changed here."""
    cluster = state.cluster(names[0])
    odd = sorted(body.keys() - {"channel"})
    if odd:
        raise CallRefusedError(400, f"Attribute '{odd[0]}' can not be changed in a simulation")
    channel = _text(body, "channel")
    if channel not in cluster["version"]["available_channels"]:
        raise CallRefusedError(
            400, f"Channel '{channel}' is not available for the cluster's version"
        )
    state.happen(OcmEventKind.CHANNEL, cluster=names[0], to=channel, was=cluster.get("channel", ""))
    cluster["channel"] = channel
    cluster["version"]["channel_group"] = channel.partition("-")[0]
    refresh_cluster(state, names[0])
    state.touch()
    return 200, cluster


def write_log(state: OcmState, _: str, __: tuple[str, ...], body: Json) -> tuple[int, Json | None]:
    """A service log of a cluster."""
    for name in ("service_name", "summary", "severity"):
        if not _text(body, name):
            raise CallRefusedError(400, f"The field '{name}' is required")
    if body["severity"] not in SEVERITIES:
        raise CallRefusedError(400, f"Severity '{body['severity']}' is not known")
    clusters = state.collections[ALL_CLUSTERS].values()
    uuid = body.get("cluster_uuid")
    cluster = next((each for each in clusters if each.get("external_id") == uuid), None)
    if cluster is None:
        raise CallRefusedError(404, f"Cluster '{uuid}' not found")
    key = _new_id(state)
    log = {
        "kind": "ClusterLog",
        "id": key,
        "event_stream_id": f"stream-{key}",
        "username": "service-account-tidegate",
        "internal_only": False,
        "description": "",
        **body,
        "cluster_id": cluster["id"],
        "timestamp": state.stamp(),
        "created_at": format_instant(state.now),
    }
    text = str(log["description"])
    state.happen(OcmEventKind.TOLD, cluster=cluster["id"], summary=log["summary"], text=text)
    return 201, state.put(CLUSTER_LOGS, log)


def create_label(
    state: OcmState, path: str, _: tuple[str, ...], body: Json
) -> tuple[int, Json | None]:
    """A label of a subscription or an organisation; a key is there once."""
    key = _text(body, "key")
    if not _LABEL_KEY.fullmatch(key):
        raise CallRefusedError(400, f"Label key '{key}' is not valid")
    if key in state.collections[path]:
        raise CallRefusedError(409, f"Label '{key}' already exists")
    return 201, put_label(state, path.removesuffix("/labels"), key, _text(body, "value"))


def change_label(
    state: OcmState, path: str, names: tuple[str, ...], body: Json
) -> tuple[int, Json | None]:
    """Another value for a label."""
    label = _label(state, path, names)
    label["value"] = _text(body, "value")
    label["updated_at"] = state.stamp()
    state.touch()
    return 200, label


def delete_label(
    state: OcmState, path: str, names: tuple[str, ...], _: Json
) -> tuple[int, Json | None]:
    """Take a label away."""
    label = _label(state, path, names)
    state.remove(path.rpartition("/labels/")[0] + "/labels", label["key"])
    state.remove(LABELS, label["id"])
    return 204, None


def _label(state: OcmState, path: str, names: tuple[str, ...]) -> Json:
    owned = state.collections.get(path.rpartition("/labels/")[0] + "/labels", {})
    if names[-1] not in owned:
        raise CallRefusedError(404, f"Label '{names[-1]}' not found")
    return owned[names[-1]]


def _asked(state: OcmState, path: str, policy: Json) -> Json:
    """An upgrade that was requested."""
    happen(state, OcmEventKind.ASKED, path, policy)
    return begin(state, path, policy)


def _policy(state: OcmState, path: str, body: Json) -> Json:
    """A policy that is well formed, early enough, and the only one."""
    kind, version = _text(body, "schedule_type", "manual"), _text(body, "version")
    if kind not in ("manual", "automatic"):
        raise CallRefusedError(400, f"Schedule type '{kind}' is not known")
    if kind == "manual" and not version:
        raise CallRefusedError(400, "The field 'version' is required")
    if state.collections[path]:
        raise CallRefusedError(
            400, "There is already an upgrade policy for this cluster or node pool"
        )
    asked = _text(body, "next_run")
    if kind == "automatic":
        asked = format_instant(_automatic(state, _text(body, "schedule")))
    elif not asked:
        raise CallRefusedError(400, "The field 'next_run' is required")
    if _moment(asked) < state.now + LEAD_MIN:
        raise CallRefusedError(400, f"The next run '{asked}' must be at least 5 minutes from now")
    fields = {"version": version, "schedule_type": kind, "next_run": asked}
    if kind == "automatic":
        fields["schedule"] = _text(body, "schedule")
    return {"id": _new_id(state), **fields}


def _automatic(state: OcmState, schedule: str) -> Instant:
    try:
        return next_time(schedule, Instant(state.now + LEAD_MIN))
    except ValueError as error:
        raise CallRefusedError(400, f"Schedule '{schedule}' is not valid: {error}") from None


def _need_agreements(state: OcmState, cluster: Mapping[str, Any], version: str) -> None:
    """A newer minor needs an agreement to each of its gates that is for such a cluster."""
    if minor(version) <= minor(cluster["version"]["raw_id"]):
        return
    path = f"{ALL_CLUSTERS}/{cluster['id']}/gate_agreements"
    agreed = {each["version_gate"]["id"] for each in state.collections[path].values()}
    sts = bool(cluster.get("aws", {}).get("sts", {}).get("enabled"))
    missing = sorted(
        gate["label"]
        for gate in state.collections[GATES].values()
        if minor(gate["version_raw_id_prefix"]) == minor(version)
        and gate["id"] not in agreed
        and (sts or not gate["sts_only"])
    )
    if missing:
        raise CallRefusedError(
            400, f"There are missing version gate agreements for this cluster: {', '.join(missing)}"
        )


def _text(body: Json, name: str, default: str = "") -> str:
    """A field that is a text, or not there."""
    value = body.get(name, default)
    if not isinstance(value, str):
        raise CallRefusedError(400, f"The field '{name}' is not a text")
    return value


def _moment(text: str) -> Instant:
    try:
        return parse_instant(text)
    except ValueError:
        raise CallRefusedError(400, f"'{text}' is not a time") from None


def _new_id(state: OcmState) -> str:
    return f"made-{state.number()}"


def _only(hosted: bool) -> Write:
    """A policy where clusters of one kind have theirs; the others have none such."""

    def create(
        state: OcmState, path: str, names: tuple[str, ...], body: Json
    ) -> tuple[int, Json | None]:
        if hosted_plane(state.cluster(names[0])) != hosted:
            kind = "a hosted control plane" if hosted else "a control plane of its own"
            raise CallRefusedError(400, f"Cluster '{names[0]}' does not have {kind}")
        return create_policy(state, path, names, body)

    return create


_OWNER = rf"{ACCOUNTS}/(?:subscriptions|organizations)/([^/]+)/labels"
_ONE = rf"{ALL_CLUSTERS}/([^/]+)"
_POLICIES = r"(?:/upgrade_policies|/control_plane/upgrade_policies|/addon_upgrade_policies)"
WRITES: tuple[tuple[str, re.Pattern[str], Write], ...] = tuple(
    (method, re.compile(pattern), rule)
    for method, pattern, rule in (
        ("POST", rf"{_ONE}/upgrade_policies", _only(hosted=False)),
        ("POST", rf"{_ONE}/control_plane/upgrade_policies", _only(hosted=True)),
        ("POST", rf"{_ONE}/node_pools/([^/]+)/upgrade_policies", create_pool_policy),
        ("POST", rf"{_ONE}/addon_upgrade_policies", create_plan),
        ("POST", rf"{ADDONS}/clusters/([^/]+)/upgrade_plans", create_plan),
        ("DELETE", rf"{_ONE}{_POLICIES}/([^/]+)", delete_policy),
        ("DELETE", rf"{_ONE}/node_pools/([^/]+)/upgrade_policies/([^/]+)", delete_policy),
        ("DELETE", rf"{ADDONS}/clusters/([^/]+)/upgrade_plans/([^/]+)", delete_policy),
        ("POST", rf"{_ONE}/gate_agreements", agree),
        ("PATCH", _ONE, change_cluster),
        ("POST", CLUSTER_LOGS, write_log),
        ("POST", _OWNER, create_label),
        ("PATCH", rf"{_OWNER}/(.+)", change_label),
        ("DELETE", rf"{_OWNER}/(.+)", delete_label),
    )
)
