"""What a write to OpenShift Cluster Manager comes to, told by its path: whoever made it.

Our rules and the existing service's ask for the same things in the same words, so what either of
them would write is shown by one reading of it.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec

from tidegate.kinds.upgrades.core.step import Doing
from tidegate.kinds.upgrades.core.world import Cluster, Gate, World
from tidegate.kinds.upgrades.wire.answer import Write

_BELOW = re.compile(r"/api/clusters_mgmt/v1/clusters/([^/]+)(?:/(.+))?")
_PLANS = re.compile(r"/api/addons_mgmt/v1/clusters/([^/]+)/upgrade_plans(?:/([^/]+))?")
_POOL = re.compile(r"node_pools/([^/]+)/upgrade_policies(?:/([^/]+))?")
_POLICY = re.compile(r"(?:control_plane/)?upgrade_policies(?:/([^/]+))?")
TELL = "tell"
OTHER = "write"


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """One write."""

    # None: of nobody who is known here.
    cluster: Cluster | None
    # What is done, as `Doing` has it; or the owner is told something.
    do: str
    # From what to what: versions, channels; a gate; the summary of what is told.
    before: str = ""
    after: str = ""
    pool: str = ""
    addon: str = ""
    # As it is written; empty: it starts nothing.
    starts_at: str = ""
    # What the owner is told.
    text: str = ""


def described(writes: Iterable[Write], world: World) -> list[Described]:
    """What writes come to, in their order."""
    by_id = {each.ident: each for each in world.clusters}
    by_uuid = {each.uuid: each for each in world.clusters}
    gates = {each.id: each for each in world.gates}
    return [_described(each, by_id, by_uuid, gates) for each in writes]


def _described(
    write: Write,
    by_id: Mapping[str, Cluster],
    by_uuid: Mapping[str, Cluster],
    gates: Mapping[str, Gate],
) -> Described:
    method, path, body = write
    if (plans := _PLANS.fullmatch(path)) is not None:
        return _of_plan(by_id.get(plans[1]), plans[2] or "", body)
    match = _BELOW.fullmatch(path)
    if match is None:
        told = by_uuid.get(str(body.get("cluster_uuid", "")))
        summary, text = str(body.get("summary", "")), str(body.get("description", ""))
        return Described(cluster=told, do=TELL, after=summary, text=text)
    cluster, rest = by_id.get(match[1]), match[2] or ""
    if method == "PATCH" and not rest:
        before = cluster.updates_from if cluster is not None else ""
        after = str(body.get("channel", ""))
        return Described(cluster=cluster, do=Doing.CHANNEL.value, before=before, after=after)
    if rest == "gate_agreements":
        gate = gates.get(str(body.get("version_gate", {}).get("id", "")))
        name = f"{gate.label.rpartition('/')[2]} for {gate.prefix}" if gate is not None else ""
        return Described(cluster=cluster, do=Doing.AGREE.value, after=name)
    return _of_policy(cluster, method, rest, body)


def _of_plan(cluster: Cluster | None, ident: str, body: Mapping[str, object]) -> Described:
    addons = cluster.addons if cluster is not None else ()
    if not ident:
        name = str(body.get("addon_id", ""))
        return Described(
            cluster=cluster,
            do=Doing.ADDON.value,
            before=next((each.version for each in addons if each.id == name), ""),
            after=str(body.get("version", "")),
            addon=name,
            starts_at=str(body.get("next_run", "")),
        )
    pairs = ((each, plan) for each in addons for plan in each.upgrade_plans)
    addon, plan = next((pair for pair in pairs if pair[1].id == ident), (None, None))
    return Described(
        cluster=cluster,
        do=Doing.CANCEL_ADDON.value,
        before=addon.version if addon is not None else "",
        after=plan.version if plan is not None else "",
        addon=addon.id if addon is not None else "",
    )


def _of_policy(
    cluster: Cluster | None, method: str, rest: str, body: Mapping[str, object]
) -> Described:
    pool, policy = _POOL.fullmatch(rest), _POLICY.fullmatch(rest)
    name = pool[1] if pool else ""
    on = cluster.version if cluster is not None else ""
    if cluster is not None and name:
        on = next((each.version for each in cluster.node_pools if each.id == name), "")
    if method == "DELETE" and (pool or policy):
        ident = (pool[2] if pool else "") or (policy[1] if policy else "")
        found = next((e.version for e in cluster.upgrades if e.id == ident), "") if cluster else ""
        do = Doing.CANCEL.value
        return Described(cluster=cluster, do=do, before=on, after=found, pool=name)
    if method == "POST" and (pool or policy):
        return Described(
            cluster=cluster,
            do=(Doing.POOL if pool else Doing.UPGRADE).value,
            before=on,
            after=str(body.get("version", "")),
            pool=name,
            starts_at=str(body.get("next_run", "")),
        )
    return Described(cluster=cluster, do=OTHER, after=f"{method} {rest}")
