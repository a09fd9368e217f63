"""Small worlds of clusters that upgrade, and what is said of them."""

import json
from pathlib import Path
from typing import Any

import msgspec

from tidegate.documents.reader import Reader
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.kinds.upgrades.wire.line import decode
from tidegate.kinds.upgrades.wire.modes import answer_strict
from tidegate.kinds.upgrades.wire.state import read_ledger
from tidegate.model.problem import Problems

WISHES = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *"}
NOW = "2023-05-10T10:00:00Z"
_RECORDED = Path(__file__).parent / "vectors" / "upgrades" / "worlds.jsonl"


def recorded() -> dict[str, dict[str, Any]]:
    """Every recorded world, by its number."""
    read = map(json.loads, _RECORDED.read_bytes().splitlines())
    return {line["name"].partition("_")[0]: line["world"] for line in read}


def world(*clusters: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One organisation and its clusters."""
    base = {"org": "o", "version": "4.12.17", "available_upgrades": ["4.12.18"]}
    return {
        "now": NOW,
        "orgs": [{"id": "o", "name": "O", "labels": more.pop("labels", {})}],
        "clusters": [
            {**base, **cluster, "labels": {**WISHES, **cluster.get("labels", {})}}
            for cluster in clusters
        ],
        **more,
    }


def hosted(name: str, pools: dict[str, str], **more: Any) -> dict[str, Any]:
    """A cluster with node pools, by id and version."""
    some = [{"id": ident, "version": version} for ident, version in pools.items()]
    return {"name": name, "product": "rosa", "hypershift": True, "node_pools": some, **more}


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """The answer by our rules, as it travels."""
    found: dict[str, Any] = json.loads(msgspec.json.encode(answer_strict(asked)))
    return found


def acts(asked: dict[str, Any]) -> list[str]:
    """What is asked of OCM, without service logs."""
    return [
        f"{method} {path.removeprefix('/api/clusters_mgmt/v1/clusters/')} "
        f"{body.get('version', '')}".strip()
        for method, path, body in answer(asked)["writes"]
        if "service_logs" not in path
    ]


def told(asked: dict[str, Any]) -> list[str]:
    """What owners find in their service logs."""
    return [body["description"] for _, path, body in answer(asked)["writes"] if "logs" in path]


def shut(asked: dict[str, Any], name: str, version: str | None = None) -> list[str]:
    """Reasons that hold a cluster, in its first option or in that of a version."""
    target = next(each for each in answer(asked)["targets"] if each["cluster"] == name)
    options = target["options"]
    mine = [each for each in options if version is None or each.get("version") == version]
    return [each["reason"] for each in mine[0]["verdicts"] if each["outcome"] != "pass"]


def brake(field: str, **more: Any) -> dict[str, Any]:
    """One brake on everything."""
    base = {"name": "b", "scope": {"everything": True}, "owner": "sre", "reason": "why"}
    return {field: [{**base, **more}]}


def kept(soak: float, check_in: str, **more: Any) -> dict[str, Any]:
    """A history: w has soaked on 4.12.18, where `a` reported."""
    one = {"soak_days": soak, "reporting": ["a"]}
    versions = {"4.12.18": {"workloads": {"w": one}}}
    return {"prod/o": {"check_in": check_in, "versions": versions, **more}}


def decided(asked: dict[str, Any]) -> tuple[UpgradeWorld, UpgradePlan]:
    """A world and what our rules make of it, with what was kept of it."""
    problems = Problems()
    read = decode(Reader(asked, "", problems))
    assert not problems.errors
    ledgers = {key: read_ledger(value) for key, value in asked.get("state", {}).items()}
    read = msgspec.structs.replace(read, ledgers=ledgers)
    return read, decide(read, read.now)
