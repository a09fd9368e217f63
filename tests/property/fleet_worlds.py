"""Fleets from a seed in which much goes on: shared mutexes, sectors, limits, soak, gates, channels.

Organisations inherit from each other, brakes come and go, owners have upgrades of their own; many
clusters have a hosted control plane. Made to be run ahead, so something can move in most.
"""

import random
from typing import Any

NOW = "2026-03-02T08:00:00Z"
VERSIONS = ("4.16.3", "4.16.4", "4.16.6", "4.17.1", "4.17.2")
_SECTORS = ("", "dev", "stage", "prod")
_CLOCKS = ("* * * * *", "* * * * *", "0 9 * * *", "15 */4 * * *", "0 12 * * 1-4", "0 3 * * 6")


def fleet_world(seed: int) -> dict[str, Any]:
    """One or two organisations with a few clusters each."""
    lot = random.Random(seed)
    orgs = ["o", "p"] if lot.random() < 0.4 else ["o"]
    labels = {each: _org_labels(lot) for each in orgs}
    if len(orgs) > 1 and lot.random() < 0.7:
        labels["o"]["version-data.publish"] = "p"
        labels["p"]["version-data.inherit"] = "o"
    gate = {"id": "g", "prefix": "4.17", "label": "api.openshift.com/gate-ocp"}
    return {
        "now": NOW,
        "orgs": [{"id": each, "name": each.upper(), "labels": labels[each]} for each in orgs],
        "clusters": [_cluster(lot, at, orgs) for at in range(lot.randint(2, 9))],
        "gates": [gate] if lot.random() < 0.6 else [],
        "brakes": _brakes(lot),
    }


def _org_labels(lot: random.Random) -> dict[str, str]:
    found = {"sector-deps.stage": "dev", "sector-deps.prod": "stage"}
    for each in ("stage", "prod"):
        if lot.random() < 0.5:
            found[f"sector-max-parallel-upgrades.{each}"] = lot.choice(("1", "50%", "2"))
    return found


def _cluster(lot: random.Random, at: int, orgs: list[str]) -> dict[str, Any]:
    version = lot.choice(VERSIONS[:3])
    hosted = lot.random() < 0.4
    lags = lot.random() < 0.2
    labels = {
        "soak-days": lot.choice("00012"),
        "workloads": lot.choice(("pay", "pay", "maps", "pay,maps")),
        "schedule": lot.choice(_CLOCKS),
        "mutexes": lot.choice(("", "", "m", "n", "m,n")),
        "sector": lot.choice(_SECTORS),
        "blocked-versions": lot.choice(("", "", "", r"^4\.17\.1$")),
        "version-gate-approvals": lot.choice(("", "", "", "none")),
    }
    minor = ".".join(version.split(".")[:2])
    policies = []
    if lot.random() < 0.25:
        policies = [_policy(lot, version)]
    return {
        "name": f"c{at}",
        "org": lot.choice(orgs),
        "version": version,
        "available_upgrades": list(VERSIONS[VERSIONS.index(version) + 1 :]),
        "channel": lot.choice((f"stable-{minor}", "stable-4.17")),
        "available_channels": [f"stable-{minor}", "stable-4.17"],
        "labels": {key: each for key, each in labels.items() if each},
        "product": "rosa" if hosted else "osd",
        "hypershift": hosted,
        "node_pools": [
            {"id": each, "version": VERSIONS[0] if lags else version} for each in ("a", "b")
        ]
        if hosted
        else [],
        "upgrade_policies": policies,
        "alerts": ["Down"] if lot.random() < 0.05 else [],
    }


def _policy(lot: random.Random, version: str) -> dict[str, Any]:
    """An upgrade that OpenShift Cluster Manager knows of."""
    return {
        "id": "p",
        "version": VERSIONS[VERSIONS.index(version) + 1],
        "state": lot.choice(("pending", "scheduled", "started", "started", "failed")),
        "schedule_type": lot.choice(("manual", "manual", "manual", "automatic")),
        "next_run": lot.choice((None, "2026-03-02T07:50:00Z", "2026-03-02T12:30:00Z")),
    }


def _brakes(lot: random.Random) -> dict[str, Any]:
    """Nothing mostly; else one that ends, or one that is shared."""
    base = {"name": "b", "scope": {"everything": True}, "owner": "sre", "reason": "why"}
    night = {"from": "2026-03-03T00:00:00Z", "to": "2026-03-04T06:00:00Z"}
    kinds: list[dict[str, Any]] = [
        {"freezes": [{**base, **night}]},
        {"holds": [{**base, "expires": "2026-03-03T05:00:00Z"}]},
        {"budgets": [{"name": "b", "scope": {"everything": True}, "max": 1}]},
        {"blocks": [{**base, "revision": "4.16.6", "expires": "2026-03-05T00:00:00Z"}]},
        {"expedites": [{**base, "version": "4.16.4", "expires": "2026-03-03T05:00:00Z"}]},
    ]
    return lot.choice(kinds) if lot.random() < 0.35 else {}
