"""What no schema can say of an integration's values: amounts, their order, and schedules.

What has the wrong shape is passed over here: the schema tells of it.
"""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from tidegate.bundle.finding import DocumentFault, Path
from tidegate.kinds.integrations.core.sharding.quantity import REMEDY, parse_quantity
from tidegate.model.problem import shown

_CRON_FIELD = re.compile(r"\*(/[0-9]+)?|[0-9]+([-/][0-9]+)?(,[0-9]+([-/][0-9]+)?)*")
_MACROS = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")
_RESOURCES = ("resources", "fluentdResources")
_OVERRIDES = ("shardSpecOverrides", "shardSpecOverride")


def value_faults(integration: Mapping[str, Any]) -> list[DocumentFault]:
    """Every value of an integration that cannot be used."""
    found: list[DocumentFault] = []
    for at, managed in enumerate(_items(integration, "managed")):
        path: Path = ("managed", at)
        spec = _fields(managed, "spec")
        for name in _RESOURCES:
            found += _resources(spec.get(name), (*path, "spec", name))
        found += _amount(spec.get("storage"), (*path, "spec", "storage"))[1]
        found += _cron(spec.get("cron"), (*path, "spec", "cron"))
        found += _fractions(managed, path)
        for place, override in overrides_in(managed, path):
            found += _resources(override.get("resources"), (*place, "resources"))
    return found


def overrides_in(managed: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every override, wherever it may stand, and where it does."""
    spec = _fields(managed, "spec")
    places: tuple[tuple[Path, Any], ...] = (
        (path, managed),
        ((*path, "sharding"), _fields(managed, "sharding")),
        ((*path, "spec"), spec),
        ((*path, "spec", "sharding"), _fields(spec, "sharding")),
    )
    for place, holder in places:
        for name in _OVERRIDES:
            for at, each in enumerate(_items(holder, name)):
                yield (*place, name, at), each


def _fields(holder: Any, name: str) -> dict[str, Any]:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else {}


def _items(holder: Any, name: str) -> list[dict[str, Any]]:
    value = holder.get(name) if isinstance(holder, dict) else None
    # What is no object counts, so that the others keep their number.
    listed = value if isinstance(value, list) else []
    return [each if isinstance(each, dict) else {} for each in listed]


def as_text(amount: str | int | float) -> str:
    """An amount as Kubernetes takes it, however it was written."""
    return amount if isinstance(amount, str) else repr(amount)


def _fractions(node: Any, path: Path) -> list[DocumentFault]:
    """To a schema 3.0 is a whole number; it is not a count as people write it."""
    if isinstance(node, dict):
        steps: Any = ((name, each) for name, each in node.items() if name not in _RESOURCES)
    else:
        steps = enumerate(node)
    found: list[DocumentFault] = []
    for step, value in steps:
        if isinstance(value, dict | list):
            found += _fractions(value, (*path, step))
        elif isinstance(value, float):
            message = f"{shown(value)} is not a whole number"
            remedy = f"write {int(value)}, or quote it" if value.is_integer() else "quote it"
            found.append(
                DocumentFault(
                    path=(*path, step),
                    message=message,
                    rule="value",
                    remedy=remedy,
                    value=shown(value),
                )
            )
    return found


def _resources(resources: Any, path: Path) -> list[DocumentFault]:
    found: list[DocumentFault] = []
    amounts: dict[tuple[str, str], Fraction] = {}
    for side in ("requests", "limits"):
        for name, written in _fields(resources, side).items():
            amount, faults = _amount(written, (*path, side, name))
            found += faults
            if amount is not None:
                amounts[side, name] = amount
    for name in ("cpu", "memory"):
        least, most = amounts.get(("requests", name)), amounts.get(("limits", name))
        if least is not None and most is not None and least > most:
            asked, limit = (as_text(resources[side][name]) for side in ("requests", "limits"))
            message = f"asks for {asked} {name} and may have {limit} at most"
            found.append(
                DocumentFault(
                    path=(*path, "requests", name),
                    message=message,
                    rule="value",
                    remedy="raise the limit, or ask for less",
                    value=shown(asked),
                )
            )
    return found


def _amount(written: Any, path: Path) -> tuple[Fraction | None, list[DocumentFault]]:
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        return None, []
    try:
        return parse_quantity(as_text(written)), []
    except ValueError as error:
        message = f"{shown(written)} is {error}"
        fault = DocumentFault(
            path=path, message=message, rule="value", remedy=REMEDY, value=shown(written)
        )
        return None, [fault]


def _cron(written: Any, path: Path) -> list[DocumentFault]:
    if not isinstance(written, str) or written in _MACROS:
        return []
    fields = written.split()
    if len(fields) == 5 and all(_CRON_FIELD.fullmatch(each) for each in fields):
        return []
    remedy = 'write minute, hour, day, month and weekday, like "0 6 * * 1-5"'
    message = f"{shown(written)} is no schedule"
    return [
        DocumentFault(path=path, message=message, rule="value", remedy=remedy, value=shown(written))
    ]
