"""What a site lays over our workloads: sidecars, volumes, whatever is its own.

A patch has the shape of what it changes. Objects are merged field by field, `null` takes a field
away, lists whose items have names are merged item by item, all other values are replaced. An item
of a patch that is not there yet comes behind the one before it in the patch, so that a site says
where its own stand: the order of a pod's parts is part of what runs.

`${integration}`, `${shard}` and `${workload}` in a text stand for what is being rendered; any other
`${…}` is left alone, for a shell may want it.
"""

import re
from collections.abc import Mapping
from typing import Any

from tidegate.core.integrations.model import Shard

# What tells the items of a list apart, by the name of the list.
_KEYS = {"volumeMounts": "mountPath", "ports": "containerPort"}
_NAMED = frozenset(
    ("containers", "initContainers", "env", "volumes", "volumeClaimTemplates", "imagePullSecrets")
)
_PLACE = re.compile(r"\$\{(integration|shard|workload)\}")


def lay_over(manifest: Mapping[str, Any], patch: Mapping[str, Any], shard: Shard) -> dict[str, Any]:
    """A manifest with a site's patch over it; neither is changed."""
    words = {
        "integration": shard.integration,
        "shard": shard.name,
        "workload": shard.workload,
    }
    merged = _merged(manifest, _filled(patch, words), "")
    assert isinstance(merged, dict)
    return merged


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _PLACE.sub(lambda found: words[found[1]], value)
    if isinstance(value, Mapping):
        return {key: _filled(each, words) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, words) for each in value]
    return value


def _merged(base: Any, patch: Any, field: str) -> Any:
    if isinstance(base, Mapping) and isinstance(patch, Mapping):
        found = {key: value for key, value in base.items() if patch.get(key, "") is not None}
        for key, value in patch.items():
            if value is not None:
                found[key] = _merged(base.get(key), value, key)
        return found
    key = _KEYS.get(field, "name" if field in _NAMED else "")
    if key and isinstance(base, list) and isinstance(patch, list):
        return _joined(base, patch, key)
    return patch


def _joined(base: list[Any], patch: list[Any], key: str) -> list[Any]:
    """Two lists of items with names; a new one comes behind the one before it in the patch."""
    found = list(base)
    at = -1  # where the last item of the patch went; new ones at its beginning come first
    for item in patch:
        names = [each.get(key) for each in found]
        if item.get(key) in names:
            at = names.index(item[key])
            found[at] = _merged(found[at], item, "")
        else:
            at += 1
            found.insert(at, item)
    return found
