"""The book of owners as an API server shows it: an entry a manager, its fields as a tree."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from tidegate.kubernetes.simulated.api import Key, StoredObject
from tidegate.kubernetes.simulated.fields import Path, Step
from tidegate.model.json_text import decode_json


def managed_fields(key: Key, record: StoredObject) -> list[dict[str, Any]]:
    """Who applied what."""
    return [
        {
            "manager": manager,
            "operation": "Apply",
            "apiVersion": key[0].api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": _tree(paths),
        }
        for manager, paths in sorted(record.owners.items())
    ]


def read_book(entries: Any) -> Iterator[tuple[str, frozenset[Path]]]:
    """Who owns what, by entries as a client wrote them; an empty one stands for none at all."""
    for each in entries or ():
        if each:
            yield str(each["manager"]), frozenset(_paths(each.get("fieldsV1") or {}, ()))


def _paths(tree: Mapping[str, Any], path: Path) -> Iterator[Path]:
    for step, inner in tree.items():
        form, _, name = step.partition(":")
        named: Step = name if form == "f" else tuple(decode_json(name, dict[str, Any]).items())
        if inner:
            yield from _paths(inner, (*path, named))
        else:
            yield (*path, named)


def _tree(paths: Iterable[Path]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for path in sorted(paths, key=str):
        node = root
        for step in path:
            if isinstance(step, str):
                node = node.setdefault(f"f:{step}", {})
            else:
                named = msgspec.json.encode(dict(step)).decode()
                node = node.setdefault(f"k:{named}", {})
    return root
