"""Shard lines: integrations and inventories in, the shards of every namespace out.

strict answers for every integration that can be sharded and lists what is wrong with the others;
compat answers as the existing integrations manager does, which gives up at the first of them.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tidegate.documents.line import decoded_fields, fields_of
from tidegate.documents.reader import Reader
from tidegate.kinds.integrations.core.sharding.compat import CompatError, compat_shards
from tidegate.kinds.integrations.core.sharding.model import (
    Integration,
    Managed,
    Namespace,
    Override,
    Sharding,
    ShardKey,
    WorkloadShard,
)
from tidegate.kinds.integrations.core.sharding.shards import (
    Inventories,
    Options,
    collisions,
    shards_of,
)
from tidegate.kinds.integrations.core.sharding.strategies import STRATEGIES, key_of
from tidegate.model.errors import UserError
from tidegate.model.problem import Problems, shown


class ShardQuestion(msgspec.Struct, frozen=True):
    """A line that can be answered."""

    id: Any
    integrations: tuple[Integration, ...]
    inventories: Inventories
    options: Options


def answer_strict(raw: bytes | Mapping[str, Any]) -> dict[str, Any]:
    """Our rules."""
    problems = Problems()
    question = decode(raw, problems)
    if problems.errors:
        raise UserError(tuple(problems.errors))
    found: dict[str, list[dict[str, Any]]] = {}
    every: list[WorkloadShard] = []
    for integration in question.integrations:
        for managed in integration.managed:
            shards = shards_of(
                integration, managed, question.inventories, question.options, problems
            )
            every += shards
            one = {"name": integration.name, "shards": [_written(shard) for shard in shards]}
            found.setdefault(managed.namespace.path, []).append(one)
    collisions(every, problems)
    answer: dict[str, Any] = {} if question.id is None else {"id": question.id}
    answer["namespaces"] = [
        {"namespace": path, "integrations": some} for path, some in found.items()
    ]
    answer["errors"] = [problem.text() for problem in problems.errors]
    answer["warnings"] = [problem.text() for problem in problems.warnings]
    return answer


def answer_compat(raw: bytes | Mapping[str, Any]) -> Any:
    """The existing manager's shards, or the error it gives up with."""
    line = decoded_fields(raw)
    decode(line, problems := Problems())
    if problems.errors:
        raise UserError(tuple(problems.errors))
    try:
        return compat_shards(line)
    except CompatError as error:
        return {"error": error.kind, "message": str(error)}


def answer_both(raw: bytes | Mapping[str, Any]) -> dict[str, Any]:
    """Both answers, and the workloads only one of them has."""
    ours, theirs = answer_strict(raw), answer_compat(raw)
    mine = {
        (space["namespace"], shard["workload"])
        for space in ours["namespaces"]
        for one in space["integrations"]
        for shard in one["shards"]
    }
    others = {
        (space["namespace"], workload)
        for space in (theirs if isinstance(theirs, list) else ())
        for one in space["integrations"]
        for workload in one["workloads"]
    }
    differences = [
        {
            "namespace": path,
            "workload": name,
            "only": "strict" if (path, name) in mine else "compat",
        }
        for path, name in sorted(mine ^ others)
    ]
    return {"strict": ours, "compat": theirs, "differences": differences}


MODES: dict[str, Callable[[bytes], Any]] = {
    "strict": answer_strict,
    "compat": answer_compat,
    "both": answer_both,
}


def decode(raw: bytes | Mapping[str, Any], problems: Problems) -> ShardQuestion:
    """Read a whole line."""
    reader = Reader(fields_of(raw), "", problems)
    if not reader.has("integrations"):
        problems.add("integrations", "missing", "write a list of {name, managed}")
    return ShardQuestion(
        reader.raw("id"),
        tuple(_integration(each) for each in reader.children("integrations")),
        {row.inventory: _inventory(reader, name) for name, row in STRATEGIES.items()},
        reader.raw("cli_args"),
    )


def _inventory(reader: Reader, strategy: str) -> tuple[ShardKey, ...]:
    row = STRATEGIES[strategy]
    found: list[ShardKey] = []
    for at, item in enumerate(reader.raw(row.inventory) or ()):
        path = f"{row.inventory}[{at}]"
        try:
            found.append(key_of(row, item))
        except KeyError as error:
            reader.problems.add(path, f"{error.args[0]} is missing", f"write its {error.args[0]}")
        except (TypeError, AttributeError):
            reader.problems.add(path, f"{shown(item)} is not a {row.noun}", "write its fields")
    return tuple(found)


def _integration(reader: Reader) -> Integration:
    name = reader.text("name") or ""
    if not name:
        reader.problems.add(reader.at("name"), "missing", "name the integration")
    return Integration(
        name=name,
        upstream=reader.text("upstream"),
        managed=tuple(_managed(each) for each in reader.children("managed")),
        where=reader.path,
    )


def _managed(reader: Reader) -> Managed:
    namespace = reader.child("namespace")
    path = namespace.text("path") or ""
    if not path:
        namespace.problems.add(namespace.at("path"), "missing", "write the path of its file")
    environment = namespace.child("environment")
    spec = reader.raw("spec")
    if not isinstance(spec, dict):
        reader.problems.add(reader.at("spec"), "missing", "write at least {resources: …}")
        spec = {}
    return Managed(
        namespace=Namespace(
            path=path,
            name=namespace.text("name") or "",
            cluster=namespace.child("cluster").text("name") or "",
            environment=environment.text("name") or "",
            parameters=environment.raw("parameters") or {},
        ),
        spec=spec,
        sharding=_sharding(reader.child("sharding")) if reader.has("sharding") else Sharding(),
        where=reader.path,
    )


def _sharding(reader: Reader) -> Sharding:
    strategy = reader.text("strategy")
    if not strategy:
        reader.problems.add(reader.at("strategy"), "missing", "write static or per-…")
    return Sharding(
        strategy=strategy or "",
        shards=_count(reader, "shards"),
        overrides=tuple(_override(each) for each in reader.children("shardSpecOverrides")),
        where=reader.path,
    )


def _override(reader: Reader) -> Override:
    shard = reader.raw("shard")
    name = shard
    if isinstance(shard, dict):
        name = shard.get("name") or shard.get("identifier")
    if name in (None, ""):
        reader.problems.add(reader.at("shard"), "missing", "say which shard it is for")
    sub = reader.child("subSharding")
    return Override(
        shard=str(name),
        image_ref=reader.text("imageRef"),
        resources=reader.raw("resources"),
        disabled=reader.flag("disabled"),
        sub_shards=_count(sub, "shards") if reader.has("subSharding") else None,
        where=reader.path,
    )


def _count(reader: Reader, field: str) -> int | None:
    """A count as it stands: what is too small is said where it matters."""
    value = reader.raw(field)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    reader.problems.add(reader.at(field), f"{shown(value)} is no count", "write a whole number")
    return None


def _written(shard: WorkloadShard) -> dict[str, Any]:
    override = shard.override
    return {
        "workload": shard.workload,
        "shard": shard.name,
        "key": shard.key,
        "index": shard.index,
        "count": shard.count,
        "arguments": shard.arguments,
        "imageRef": override.image_ref if override is not None else None,
        "disabled": override.disabled if override is not None else False,
        "labels": shard.labels,
    }
