"""The book of owners as an API server shows it: an entry a manager, its fields as a tree."""

from collections.abc import Iterable
from typing import Any

import msgspec

from tidegate.kubernetes.simulated.api import Key, StoredObject
from tidegate.kubernetes.simulated.fields import Path


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
