"""The many ways to write how an integration is split, and the one they all mean.

`sharding` may stand under `managed[]` or under its `spec`; the strategy and the count may stand in
`spec` alone; overrides may be `shardSpecOverrides` or `shardSpecOverride`, in any of those places;
and the shard an override is for may be called `shard`, `awsAccount` or `awsAccounts`. What is
written twice must agree. What comes out, put in again, comes out
as it is.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from tidegate.bundle.finding import DocumentFault, Path, path_text
from tidegate.kinds.integrations.bundle.amounts import as_text, overrides_in
from tidegate.kinds.integrations.core.sharding.strategies import ALIASES, STATIC
from tidegate.model.problem import shown

_OF_SHARDING = (
    "sharding",
    "shardingStrategy",
    "shards",
    "shardSpecOverrides",
    "shardSpecOverride",
)
_RESOURCES = ("resources", "fluentdResources")
_SAME = ("imageRef", "disabled", "subSharding")


class CanonicalManaged(msgspec.Struct, frozen=True, kw_only=True):
    """One place an integration runs in, as it is written once and for all."""

    managed: dict[str, Any]
    # Where its sharding, and each of its overrides, stands in the file.
    sharding_at: Path
    overrides_at: tuple[Path, ...]
    faults: tuple[DocumentFault, ...]


def sharding_of(managed: Any, path: Path, wrong: Iterable[Path]) -> dict[str, Any] | None:
    """Only what says how an entry is split, in any spelling; None where that itself is wrong."""
    spec = managed.get("spec") if isinstance(managed, dict) else None
    if not isinstance(spec, dict):
        return None
    for each in wrong:
        inside = each[len(path) :] if each[: len(path)] == path else ()
        if inside[:1] == ("spec",):
            inside = inside[1:]
        if inside and inside[0] in _OF_SHARDING:
            return None
    own = {name: value for name, value in managed.items() if name in _OF_SHARDING}
    kept = {name: spec[name] for name in _OF_SHARDING if name in spec}
    return {**own, "namespace": {"$ref": ""}, "spec": kept}


def spelt(managed: Mapping[str, Any], path: Path) -> CanonicalManaged:
    """The one spelling of an entry of `managed` that stands at a path."""
    faults: list[DocumentFault] = []
    spec = managed["spec"]
    strategy = _agreed(_strategies(managed, path), "strategy", faults)
    count = _agreed(_counts(managed, path), "number of shards", faults)
    lists = _override_lists(managed, path, faults)
    first, (overrides, places) = next(iter(lists.items()), ((), ([], [])))
    for place, (others, _) in lists.items():
        if others != overrides:
            message = f"says something else than {path_text(first)}"
            remedy = f"keep {path_text(first)}, drop {path_text(place)}"
            faults.append(
                DocumentFault(path=place, message=message, rule="spelling", remedy=remedy)
            )
    strategy = strategy or _of_overrides(managed, path, faults)
    _same_strategy(managed, path, strategy or STATIC, faults)
    sharding = {
        name: value
        for name, value in (
            ("strategy", strategy or (STATIC if count is not None or overrides else None)),
            ("shards", count),
            ("shardSpecOverrides", overrides or None),
            ("overlap", _agreed(_overlaps(managed, path), "overlap", faults)),
        )
        if value is not None
    }
    one: dict[str, Any] = {"namespace": managed["namespace"], "spec": _spec(spec)}
    if sharding:
        one["sharding"] = sharding
    if managed.get("rollout") is not None:
        one["rollout"] = managed["rollout"]
    return CanonicalManaged(
        managed=one,
        sharding_at=_sharding_at(managed, path),
        overrides_at=tuple(places),
        faults=tuple(faults),
    )


def _strategies(managed: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Any]]:
    spec = managed["spec"]
    for place, holder in (("sharding",), managed), (("spec", "sharding"), spec):
        written = (holder.get("sharding") or {}).get("strategy")
        if written is not None:
            yield (*path, *place, "strategy"), ALIASES.get(written, written)
    if spec.get("shardingStrategy") is not None:
        written = spec["shardingStrategy"]
        yield (*path, "spec", "shardingStrategy"), ALIASES.get(written, written)


def _overlaps(managed: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Any]]:
    for place, holder in (("sharding",), managed), (("spec", "sharding"), managed["spec"]):
        written = (holder.get("sharding") or {}).get("overlap")
        if written is not None:
            yield (*path, *place, "overlap"), written


def _counts(managed: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Any]]:
    spec = managed["spec"]
    for place, holder in (
        (("sharding",), managed.get("sharding")),
        (("spec", "sharding"), spec.get("sharding")),
        (("spec",), spec),
    ):
        if (holder or {}).get("shards") is not None:
            yield (*path, *place, "shards"), (holder or {})["shards"]


def _agreed(written: Iterator[tuple[Path, Any]], noun: str, faults: list[DocumentFault]) -> Any:
    """What all places say; a fault for each that says something else than the first."""
    first = next(written, None)
    if first is None:
        return None
    for place, value in written:
        if value != first[1]:
            message = f"the {noun} is {shown(value)} here and {shown(first[1])} in "
            remedy = f"keep {path_text(first[0])}, drop this one"
            faults.append(
                DocumentFault(
                    path=place,
                    message=message + path_text(first[0]),
                    rule="spelling",
                    remedy=remedy,
                    value=shown(value),
                )
            )
    return first[1]


def _override_lists(
    managed: Mapping[str, Any], path: Path, faults: list[DocumentFault]
) -> dict[Path, tuple[list[dict[str, Any]], list[Path]]]:
    """Every list of overrides by where it stands, in the one spelling, and where its items do."""
    found: dict[Path, tuple[list[dict[str, Any]], list[Path]]] = {}
    for place, override in overrides_in(managed, path):
        overrides, places = found.setdefault(place[:-1], ([], []))
        for shard in _shards(override, place, faults):
            overrides.append(_override(override, shard))
            places.append(place)
    return found


def _shards(override: Mapping[str, Any], place: Path, faults: list[DocumentFault]) -> list[Any]:
    """The shards an override is for."""
    named: dict[str, list[Any]] = {}
    for field in ("shard", "awsAccount", "awsAccounts"):
        value = override.get(field)
        if value is not None:
            named[field] = value if isinstance(value, list) else [value]
    if not named:
        remedy = "write shard: a name, a number, or {$ref: …}"
        faults.append(
            DocumentFault(path=place, message="for no shard", rule="schema", remedy=remedy)
        )
        return []
    (first, shards), *others = named.items()
    for field, value in others:
        if value != shards:
            message = f"{field} and {first} name different shards"
            faults.append(
                DocumentFault(
                    path=(*place, field), message=message, rule="spelling", remedy="keep one"
                )
            )
    return shards


def _override(override: Mapping[str, Any], shard: Any) -> dict[str, Any]:
    one: dict[str, Any] = {"shard": shard}
    one |= {name: override[name] for name in _SAME if override.get(name) is not None}
    if override.get("resources") is not None:
        one["resources"] = _as_texts(override["resources"])
    return one


def _of_overrides(
    managed: Mapping[str, Any], path: Path, faults: list[DocumentFault]
) -> str | None:
    """The strategy that only overrides name, as they once did."""
    written = (
        (
            (*place, "shardingStrategy"),
            ALIASES.get(each["shardingStrategy"], each["shardingStrategy"]),
        )
        for place, each in overrides_in(managed, path)
        if each.get("shardingStrategy") is not None
    )
    found = _agreed(written, "strategy", faults)
    return found if isinstance(found, str) else None


def _same_strategy(
    managed: Mapping[str, Any], path: Path, strategy: str, faults: list[DocumentFault]
) -> None:
    for place, override in overrides_in(managed, path):
        written = override.get("shardingStrategy")
        if written is not None and ALIASES.get(written, written) != strategy:
            faults.append(
                DocumentFault(
                    path=(*place, "shardingStrategy"),
                    message=f"{shown(written)} here, {shown(strategy)} for all shards",
                    rule="spelling",
                    remedy="drop this one",
                    value=shown(written),
                )
            )


def _spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in spec.items() if name not in _OF_SHARDING}
    for name in _RESOURCES:
        if kept.get(name) is not None:
            kept[name] = _as_texts(kept[name])
    return kept


def _as_texts(resources: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {
        side: {name: as_text(amount) for name, amount in amounts.items()}
        for side, amounts in resources.items()
    }


def _sharding_at(managed: Mapping[str, Any], path: Path) -> Path:
    if managed.get("sharding") is not None:
        return (*path, "sharding")
    if managed["spec"].get("sharding") is not None:
        return (*path, "spec", "sharding")
    return path
