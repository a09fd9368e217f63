"""What time does: policies go from pending to completed or failed, versions come out.

    pending ─(1 m)─▶ scheduled ─(next_run)─▶ started ─(takes)─▶ completed ─(kept)─▶ gone
                                   └▶ delayed ─┘         └────▶ failed, until it is deleted

An automatic policy goes back to pending, and comes again when its cron says so; without one, in a
week.
"""

from collections.abc import Mapping

from tidegate.kinds.upgrades.ocm.simulated.events import OcmEventKind
from tidegate.kinds.upgrades.ocm.simulated.state import (
    ADDONS,
    ALL_CLUSTERS,
    VERSIONS,
    DueEvent,
    Json,
    OcmState,
)
from tidegate.kinds.upgrades.ocm.simulated.versions import (
    channels_for,
    channels_of,
    minor,
    released,
    upgrades_from,
    version_key,
)
from tidegate.kinds.upgrades.ocm.simulated.world_doc import SimulatedOutcome
from tidegate.model.cron.cron import next_after
from tidegate.model.cron.cron_text import parse_cron
from tidegate.model.time import SECOND, Duration, Instant, format_second, parse_instant

_WEEK = 7 * 24 * 3600 * SECOND
# An upgrade that was delayed before the simulation began starts after so long.
_DELAY = Duration(10 * 60 * SECOND)
_SAYS: Mapping[str, str] = {
    "pending": "Upgrade policy defined, pending scheduling.",
    "scheduled": "Upgrade scheduled.",
    "started": "Upgrade in progress.",
    "delayed": "Upgrade is delayed: the cluster is not healthy enough to start.",
    "completed": "Upgrade completed.",
    "failed": "Upgrade failed.",
    "cancelled": "Upgrade cancelled.",
}


def live(state: OcmState, now: Instant) -> None:
    """Let everything happen that is due by now."""
    for due in state.fall_due(now):
        if due.path == VERSIONS:
            known = {each.version for each in state.released}
            refresh_versions(state)
            for each in state.released:
                if each.version not in known:
                    state.happen(OcmEventKind.OUT, to=each.version)
        else:
            _step(state, due)


def begin(state: OcmState, path: str, policy: Json) -> Json:
    """A policy is there, in whatever state it says; what follows is foreseen from now."""
    kind, upgrade_type, _ = _kind(path)
    cluster = cluster_of(path)
    policy = {"kind": kind, "upgrade_type": upgrade_type, "cluster_id": cluster, **policy}
    value = policy.get("state", {}).get("value", "pending")
    state.put(path, policy)
    pace, outcome = state.world.pace, _outcome(state, path, policy)
    waits = {
        "pending": state.now + pace.pending,
        "scheduled": parse_instant(policy["next_run"]),
        "delayed": state.now + (outcome.delayed or _DELAY),
        "started": state.now + outcome.takes,
        "completed": state.now + pace.kept,
    }
    _turn(state, policy, value)
    if value in waits:
        state.foresee(waits[value], path, policy["id"])
    return policy


def cluster_of(path: str) -> str:
    """The id of the cluster that a path is below."""
    return path.split("/clusters/", 1)[1].split("/", maxsplit=1)[0]


def refresh_versions(state: OcmState) -> None:
    """What is out now, and where each cluster can go from there."""
    out = state.released = released(state.world.versions, state.now)
    for version in out:
        groups = sorted({channel.partition("-")[0] for channel in channels_of(version)})
        document: Json = {
            "kind": "Version",
            "id": f"openshift-v{version.version}",
            "raw_id": version.version,
            "channel_group": "stable" if "stable" in groups else groups[0] if groups else "",
            "enabled": True,
            "rosa_enabled": True,
            "available_upgrades": [],
            "available_channels": list(channels_of(version)),
        }
        if version.end_of_life:
            document["end_of_life_timestamp"] = version.end_of_life
        major, own = minor(version.version)
        document["available_upgrades"] = upgrades_from(
            version.version, f"stable-{major}.{own}", out
        )
        state.put(VERSIONS, document)
    for cluster in state.world.clusters:
        refresh_cluster(state, cluster.key)
    state.touch()


def refresh_cluster(state: OcmState, key: str) -> None:
    """Where one cluster can go, from its version and its channel."""
    document = state.cluster(key)
    version = document["version"]
    doc = state.declared[key]
    raw, out = version["raw_id"], state.released
    current = version_key(raw)
    if doc.available_upgrades is not None:
        found = [each for each in doc.available_upgrades if version_key(each) > current]
        # As the file has it, in the beginning: odd ones too.
        version["available_upgrades"] = (
            list(doc.available_upgrades) if raw == doc.version else found
        )
    else:
        version["available_upgrades"] = upgrades_from(raw, document.get("channel", ""), out)
    if doc.available_channels is None:
        version["available_channels"] = channels_for(raw, out)
    for each in out:
        if each.version == raw and each.end_of_life:
            version["end_of_life_timestamp"] = each.end_of_life


def _step(state: OcmState, due: DueEvent) -> None:
    """One policy goes one step further, unless it is gone or was put off."""
    policy = state.collections[due.path].get(due.id)
    if policy is None:
        return
    value = policy["state"]["value"]
    starts_at = parse_instant(policy["next_run"])
    outcome = _outcome(state, due.path, policy)
    if value == "pending":
        _turn(state, policy, "scheduled")
        state.foresee(max(starts_at, state.now), due.path, due.id)
    elif value == "scheduled" and starts_at > state.now:
        state.foresee(starts_at, due.path, due.id)
    elif value == "scheduled" and outcome.delayed:
        _turn(state, policy, "delayed")
        happen(state, OcmEventKind.DELAYED, due.path, policy)
        state.foresee(state.now + outcome.delayed, due.path, due.id)
    elif value in ("scheduled", "delayed"):
        _turn(state, policy, "started")
        happen(state, OcmEventKind.STARTED, due.path, policy)
        state.foresee(state.now + outcome.takes, due.path, due.id)
    elif value == "started" and outcome.fails:
        _turn(state, policy, "failed")
        happen(state, OcmEventKind.FAILED, due.path, policy)
    elif value == "started":
        was = _version_at(state, due.path, policy)
        _upgrade(state, due.path, policy)
        happen(state, OcmEventKind.DONE, due.path, policy, was)
        _turn(state, policy, "completed")
        state.foresee(state.now + state.world.pace.kept, due.path, due.id)
    elif value == "completed":
        _end(state, due.path, policy)


def happen(state: OcmState, what: OcmEventKind, path: str, policy: Json, was: str = "") -> None:
    """Something happened to an upgrade, of whatever has its policies at a path."""
    state.happen(
        what,
        cluster=cluster_of(path),
        pool=path.split("/")[-2] if "/node_pools/" in path else "",
        addon=policy.get("addon_id", ""),
        # An automatic one did not say to which.
        to=policy["version"] or (_version_at(state, path, policy) if was else ""),
        was=was or _version_at(state, path, policy),
        starts_at=parse_instant(policy["next_run"]),
    )


def _version_at(state: OcmState, path: str, policy: Json) -> str:
    """The version of whatever has its policies at a path."""
    key, addon = cluster_of(path), policy.get("addon_id", "")
    if addon:
        installed = state.collections[f"{ADDONS}/clusters/{key}/addons"].get(addon, {})
        return str(installed.get("addon_version", {}).get("id", ""))
    document = state.cluster(key)
    if "/node_pools/" in path:
        document = state.collections[f"{ALL_CLUSTERS}/{key}/node_pools"][path.split("/")[-2]]
    return str(document["version"]["raw_id"])


def _end(state: OcmState, path: str, policy: Json) -> None:
    if policy.get("schedule_type", policy.get("type")) != "automatic":
        state.remove(path, policy["id"])
        return
    _turn(state, policy, "pending")
    policy["next_run"] = format_second(next_time(policy.get("schedule", ""), state.now))
    state.foresee(state.now + state.world.pace.pending, path, policy["id"])


def next_time(schedule: str, now: Instant) -> Instant:
    """When an automatic policy runs next; ValueError if its schedule is none."""
    if not schedule:
        return Instant(now + _WEEK)
    found = next_after(parse_cron(schedule), now)
    if found is None:
        raise ValueError("it never fires")
    return found


def _upgrade(state: OcmState, path: str, policy: Json) -> None:
    """The version is there."""
    key, version = cluster_of(path), policy["version"]
    if path.endswith(("/upgrade_plans", "/addon_upgrade_policies")):
        for base in (f"{ALL_CLUSTERS}/{key}", f"{ADDONS}/clusters/{key}"):
            installed = state.collections[f"{base}/addons"].get(policy.get("addon_id", ""))
            if installed is not None:
                installed["addon_version"]["id"] = version
    elif "/node_pools/" in path:
        pools, _, pool = path.removesuffix("/upgrade_policies").rpartition("/")
        _set_version(state.collections[pools][pool]["version"], version)
    else:
        cluster = state.cluster(key)
        automatic = policy.get("schedule_type") == "automatic"
        upgrades = cluster["version"]["available_upgrades"]
        if automatic:
            own = minor(cluster["version"]["raw_id"])
            upgrades = [each for each in upgrades if minor(each) == own]
            version = max(upgrades, key=version_key, default="")
        if version:
            _set_version(cluster["version"], version)
            refresh_cluster(state, key)


def _set_version(document: Json, version: str) -> None:
    document["raw_id"] = version
    document["id"] = f"openshift-v{version}"


def _turn(state: OcmState, policy: Json, value: str) -> None:
    policy["state"] = {
        "kind": "UpgradePolicyState",
        "value": value,
        "description": _SAYS.get(value, ""),
    }
    policy["last_update_timestamp"] = state.stamp()
    state.touch()


# By how its path ends: the kind of a policy, its type, and how long such an upgrade usually takes.
_KINDS = (
    ("/control_plane/upgrade_policies", "ControlPlaneUpgradePolicy", "ControlPlane", "takes"),
    ("/addon_upgrade_policies", "AddonUpgradePolicy", "ADDON", "addon_takes"),
    ("/upgrade_plans", "UpgradePlan", "ADDON", "addon_takes"),
)


def _kind(path: str) -> tuple[str, str, str]:
    for end, kind, upgrade_type, takes in _KINDS:
        if path.endswith(end):
            return kind, upgrade_type, takes
    if "/node_pools/" in path:
        return "NodePoolUpgradePolicy", "NodePool", "pool_takes"
    return "UpgradePolicy", "OSD", "takes"


def _outcome(state: OcmState, path: str, policy: Json) -> SimulatedOutcome:
    takes: Duration = getattr(state.world.pace, _kind(path)[2])
    name = state.cluster(cluster_of(path)).get("name", "")
    return state.world.outcome(name, policy["version"], takes)
