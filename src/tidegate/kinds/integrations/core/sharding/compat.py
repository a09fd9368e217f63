"""Which shards the existing integrations manager makes of a line, its silences included.

Frozen: it follows the existing system decision for decision, has no verdicts, and gets no new
features. Its peculiarities, on purpose:

- shards come in the order of the inventory; of two overrides for one shard the last wins, and one
  for a shard that is not there is not looked at
- the arguments of a shard begin with a space where the integration has none of its own
- 0 static shards are none at all; 0 sub-shards leave the shard as it is; one sub-shard is numbered
- only clusters can be sub-sharded, and static shards cannot be overridden
- one integration that cannot be sharded ends the whole run, with the error the system raises
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_LENGTH_MAX = 253
_PREFIX = "qontract-reconcile-"

Line = Mapping[str, Any]
Doc = dict[str, Any]


class CompatError(Exception):
    """The existing system gives up: the kind of its error, and its message."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


def compat_shards(line: Line) -> list[Doc]:
    """The shards of every integration, grouped by namespace file; CompatError ends the run."""
    found: dict[str, list[Doc]] = {}
    options = line.get("cli_args")
    for integration in line.get("integrations") or ():
        name = integration["name"]
        known = None if options is None else options.get(name, ())
        for managed in integration.get("managed") or ():
            shards = _shards(line, name, managed, known)
            kind = "StatefulSet" if managed["spec"].get("cache") else "Deployment"
            workloads = [f"{_PREFIX}{name}{shard['shard_name_suffix']}" for shard in shards]
            for workload in workloads:
                _check(kind, workload)
            one = {"name": name, "workloads": workloads, "shards": shards}
            found.setdefault(managed["namespace"]["path"], []).append(one)
    return [{"namespace": path, "integrations": some} for path, some in found.items()]


def _shards(line: Line, name: str, managed: Line, options: Sequence[str] | None) -> list[Doc]:
    sharding = managed.get("sharding") or {"strategy": "static", "shards": 1}
    extra = managed["spec"].get("extraArgs") or ""
    strategy = sharding["strategy"]
    if strategy == "static":
        return _static(sharding, extra)
    if strategy not in _STRATEGIES:
        raise CompatError("KeyError", f"'{strategy}'")
    inventory, option, refusal, key, suffix, heeds_disable = _STRATEGIES[strategy]
    if options is not None and option not in options:
        raise CompatError("ValueError", refusal.format(name=name, option=option, strategy=strategy))
    overrides = {_named(each["shard"]): each for each in sharding.get("shardSpecOverrides") or ()}
    shards: list[Doc] = []
    for item in line.get(inventory) or ():
        disabled = (item.get("disable") or {}).get("integrations") or ()
        if heeds_disable and name in disabled:
            continue
        override = overrides.get(item.get("name"))
        shard: Doc = {"shards": "", "shard_id": ""}
        if override is not None:
            shard["shard_spec_overrides"] = _pruned(override)
        shard |= {
            "shard_key": key(item),
            "shard_name_suffix": f"-{suffix(item)}",
            "extra_args": f"{extra} {option} {_ARGUMENTS.get(strategy, key)(item)}",
        }
        sub = (override or {}).get("subSharding") if strategy == "per-openshift-cluster" else None
        shards += _sub_shards(shard, sub) if sub else [shard]
    return shards


def _static(sharding: Line, extra: str) -> list[Doc]:
    if sharding.get("shardSpecOverrides"):
        raise CompatError("ValidationError", "1 validation error for StaticShardingV1")
    count = 1 if sharding.get("shards") is None else sharding["shards"]
    return [
        {
            "shards": str(count),
            "shard_id": str(i),
            "shard_key": "",
            "shard_name_suffix": f"-{i}" if count > 1 else "",
            "extra_args": extra,
        }
        for i in range(count)
    ]


def _sub_shards(shard: Doc, sub: Line) -> list[Doc]:
    if sub.get("strategy") != "static":
        message = "Subsharding strategy not allowed by {self.__class__.__name__}"
        raise CompatError("ValueError", message)
    count = sub.get("shards") or 0
    override = {k: v for k, v in shard["shard_spec_overrides"].items() if k != "subSharding"}
    suffix = shard["shard_name_suffix"]
    found = [
        {
            "shards": str(count),
            "shard_id": str(i),
            "shard_spec_overrides": override,
            "shard_key": shard["shard_key"],
            "shard_name_suffix": f"{suffix}-{i}",
            "extra_args": shard["extra_args"],
        }
        for i in range(count)
    ]
    return found or [shard]


def _named(shard: Line) -> str:
    """What an override calls its shard; for a zone it is a name no shard has."""
    if "identifier" in shard:
        return f"{shard.get('zone')}-{shard['identifier']}"
    return str(shard["name"])


def _pruned(value: Any) -> Any:
    """A document without its nulls."""
    if isinstance(value, Mapping):
        return {key: _pruned(each) for key, each in value.items() if each is not None}
    return value


def _check(kind: str, name: str) -> None:
    if len(name) <= _NAME_LENGTH_MAX and _NAME.fullmatch(name):
        return
    raise CompatError(
        "ConstructResourceError",
        f'error constructing openshift resource: The {kind} "{name}" is invalid: '
        f'metadata.name: Invalid value: "{name}". This field must adhere to DNS-1123 subdomain '
        "names spec.More info can be found at "
        "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/.",
    )


def _zone(item: Line) -> str:
    return f"{item['account']['name']}-{item['identifier']}"


_PROVIDED = (
    "integration {name} does not support the provided argument. {space}{option} is required by "
    "the '{strategy}' sharding strategy."
)
_TWO, _ONE = (_PROVIDED.replace("{space}", space) for space in (" ", ""))
_OCM = (
    "the integration {name} does not support the required argument  {option} for the "
    "'{strategy}' sharding strategy."
)
# Strategy: inventory, option, refusal, key, suffix, whether an item can be disabled.
_STRATEGIES: dict[str, tuple[str, str, str, Any, Any, bool]] = {
    "per-aws-account": (
        "aws_accounts",
        "--account-name",
        _TWO,
        lambda item: item["name"],
        lambda item: item["name"],
        True,
    ),
    "per-openshift-cluster": (
        "clusters",
        "--cluster-name",
        _TWO,
        lambda item: item["name"],
        lambda item: item["name"],
        True,
    ),
    "per-ocm-organization": (
        "ocm_organizations",
        "--org-id",
        _OCM,
        lambda item: item["orgId"],
        lambda item: item["orgId"].lower(),
        False,
    ),
    "per-cloudflare-dns-zone": ("cloudflare_zones", "--zone-name", _ONE, _zone, _zone, False),
}
# What the option is given, where it is not the key.
_ARGUMENTS: dict[str, Any] = {"per-cloudflare-dns-zone": lambda item: item["identifier"]}
