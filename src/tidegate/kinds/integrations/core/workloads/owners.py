"""Who would own the same keys for a while, if everything were applied as it is declared.

Workloads of one integration in a namespace share its keys, by SHARD_KEY and SHARDS. While they are
split another way, or run as another kind, an old one and a new one would own one key, so the old
ones have to end first. This module only detects it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from tidegate.kinds.integrations.core.waves.reshape import WHOLE, Share, clash, share_of_workload
from tidegate.kinds.integrations.core.workloads.change import FoundObject, Key
from tidegate.kinds.integrations.core.workloads.live import LiveWorkload, workload_of

# The cluster, the namespace and the integration.
Owners = tuple[str, str, str]


def moving(
    wanted: Mapping[Key, Mapping[str, Any]], found: Mapping[Key, FoundObject]
) -> tuple[dict[Key, str], dict[Key, str]]:
    """Objects that are to be split another way, and those that own what another one owns: why."""
    asked = _shares(wanted)
    there = _shares({key: each.document for key, each in found.items()})
    resplit: dict[Key, str] = {}
    doubled: dict[Key, str] = {}
    for owners, members in asked.items():
        live = {key: share for key, share in there.get(owners, {}).items() if share is not None}
        mine = {key: share for key, share in members.items() if share is not None}
        resplit |= _resplit(mine, live)
        doubled |= _doubled(mine, live)
    return resplit, {key: why for key, why in doubled.items() if key not in resplit}


def _resplit(wanted: Mapping[Key, Share], live: Mapping[Key, Share]) -> dict[Key, str]:
    """Every object whose keys are split another way than declared."""
    shares, keys = set(wanted.values()), {share[0] for share in wanted.values()}
    old = {k: share for k, share in live.items() if share not in shares and clash(share[0], keys)}
    if not old:
        return {}
    gone = {share[0] for share in old.values()}
    new = {key: share for key, share in wanted.items() if clash(share[0], gone)}
    why = f"{_ways(old.values())} now, {_ways(new.values())} wanted"
    return dict.fromkeys((*old, *new), why)


def _doubled(wanted: Mapping[Key, Share], live: Mapping[Key, Share]) -> dict[Key, str]:
    """Every object to be created while another that is declared no more owns the same."""
    found: dict[Key, str] = {}
    for old, share in live.items():
        fresh = [key for key, each in wanted.items() if each == share and key not in live]
        if old not in wanted and fresh:
            found |= dict.fromkeys((old, *fresh), f"{old[2].lower()}/{old[3]} owns the same")
    return found


def _ways(shares: Iterable[Share]) -> str:
    """How keys are split, in words."""
    counts = sorted({count for _, count in shares}, key=lambda each: (len(each), each))
    words = (f"{each} shard" + ("" if each == "1" else "s") if each else WHOLE for each in counts)
    return " and ".join(words)


def _shares(documents: Mapping[Key, Mapping[str, Any]]) -> dict[Owners, dict[Key, Share | None]]:
    """What each workload owns a share of; None for one that is stopped and owns nothing."""
    found: defaultdict[Owners, dict[Key, Share | None]] = defaultdict(dict)
    for key, document in documents.items():
        workload = workload_of(document)
        integration = workload.env.get("INTEGRATION_NAME", "")
        if integration:
            share = None if _is_stopped(workload, document) else share_of_workload(workload)
            found[key[0], key[1], integration][key] = share
    return found


def _is_stopped(workload: LiveWorkload, document: Mapping[str, Any]) -> bool:
    """Whether a workload has no pods, and none that still end."""
    if workload.kind == "CronJob":
        busy = (document.get("status") or {}).get("active")
        return bool((document.get("spec") or {}).get("suspend")) and not busy
    return workload.replicas == 0 and workload.total == 0
