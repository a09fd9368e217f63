"""Who owns which keys: workloads of one integration that split the same things between them.

A set is all workloads of an integration in a namespace that have the same SHARD_KEY, or none. While
a set is split another way, an old and a new member would own one key, so the old ones have to end
first; that is not done here, only seen.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tidegate.core.integrations.change import Found, Key
from tidegate.core.integrations.live import workload_of


class OwnerSet(NamedTuple):
    """Those who split the same things."""

    cluster: str
    namespace: str
    integration: str
    key: str


def set_of(cluster: str, namespace: str, document: Mapping[str, Any]) -> OwnerSet | None:
    """The set a workload is in; None if it owns nothing."""
    workload = workload_of(document)
    integration = workload.env.get("INTEGRATION_NAME", "")
    return OwnerSet(cluster, namespace, integration, workload.key) if integration else None


def moving_sets(
    wanted: Mapping[Key, Mapping[str, Any]], found: Mapping[Key, Found]
) -> dict[OwnerSet | None, str]:
    """Sets that are to be split another way while somebody of them runs, and why that is so."""
    asked = _members(wanted)
    there = _members({key: each.document for key, each in found.items()})
    moving: dict[OwnerSet | None, str] = {}
    for each, members in asked.items():
        live = {key: count for key, count in there.get(each, {}).items() if count is not None}
        if live:
            why = _why(members, live)
            if why:
                moving[each] = why
    return moving


def _why(wanted: Mapping[Key, str | None], live: Mapping[Key, str | None]) -> str:
    counts = {count for count in wanted.values() if count is not None}
    others = {count for count in live.values() if count is not None and count not in counts}
    if counts and others:
        return f"{_ways(others)} now, {_ways(counts)} wanted: {_ENDS}"
    extra = [key for key in live if key not in wanted]
    fresh = [key for key in wanted if key not in live and wanted[key] is not None]
    if extra and fresh:
        kind, name = extra[0][2:]
        return f"{kind.lower()}/{name} owns the same: {_ENDS}"
    return ""


_ENDS = "the engine lets the old ones end first, so that no key has two owners"


def _ways(counts: set[str]) -> str:
    shards = (f"{each} shard" + ("" if each == "1" else "s") for each in sorted(counts) if each)
    return " and ".join((*(["whole"] if "" in counts else []), *shards))


def _members(documents: Mapping[Key, Mapping[str, Any]]) -> dict[OwnerSet, dict[Key, str | None]]:
    """Workloads by set, each with its count; None for one that is stopped and owns nothing."""
    found: dict[OwnerSet, dict[Key, str | None]] = {}
    for key, document in documents.items():
        each = set_of(key[0], key[1], document)
        if each is not None:
            shape = None if _is_stopped(document) else workload_of(document).shape
            found.setdefault(each, {})[key] = shape
    return found


def _is_stopped(document: Mapping[str, Any]) -> bool:
    """Whether a workload has no pods, and none that still end."""
    workload = workload_of(document)
    if workload.kind == "CronJob":
        busy = (document.get("status") or {}).get("active")
        return bool((document.get("spec") or {}).get("suspend")) and not busy
    return workload.replicas == 0 and workload.total == 0
