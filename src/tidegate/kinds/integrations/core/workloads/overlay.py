"""What a site lays over our workloads: sidecars, volumes, whatever is its own.

A patch has the shape of what it changes. Objects are merged field by field, `null` takes a field
away, lists whose items have names are merged item by item, all other values are replaced. An item
of a patch that is not there yet comes behind the one before it in the patch, so that a site says
where its own stand: the order of a pod's parts is part of what runs. A container that is nothing
but its name only says where the next one goes, and where it is not there it says nothing.

`${integration}`, `${shard}` and `${workload}` in a text stand for what is being rendered; any other
`${…}` stays as it is, for a shell may use it.
"""

import re
from collections.abc import Mapping
from typing import Any

from tidegate.kinds.integrations.core.sharding.model import WorkloadShard

# What tells the items of a list apart, by the name of the list.
_KEYS = {"volumeMounts": "mountPath", "ports": "containerPort"}
_NAMED = frozenset(
    ("containers", "initContainers", "env", "volumes", "volumeClaimTemplates", "imagePullSecrets")
)
# Of these, one that is only a name could not run.
_MARKED = frozenset(("containers", "initContainers"))
_PLACE = re.compile(r"\$\{(integration|shard|workload)\}")


def lay_over(
    manifest: Mapping[str, Any],
    patch: Mapping[str, Any],
    shard: WorkloadShard,
    resources: Mapping[str, Mapping[str, Any] | None] | None = None,
) -> dict[str, Any]:
    """A manifest with a site's patch over it; neither is changed.

    `resources`: what an integration says one of the site's containers may use, by its name.
    """
    words = {
        "integration": shard.integration,
        "shard": shard.name,
        "workload": shard.workload,
    }
    merged = _merged(manifest, _filled(patch, words), "")
    assert isinstance(merged, dict)
    known = {name: amounts for name, amounts in (resources or {}).items() if amounts}
    return _sized(merged, known) if known else merged


def _sized(manifest: dict[str, Any], known: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    template = manifest["spec"]["template"]
    containers = [
        {**each, "resources": known[each["name"]]} if each["name"] in known else each
        for each in template["spec"]["containers"]
    ]
    template = {**template, "spec": {**template["spec"], "containers": containers}}
    return {**manifest, "spec": {**manifest["spec"], "template": template}}


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
    if key and isinstance(base, list | None) and isinstance(patch, list):
        return _joined(base or [], patch, key, marks=field in _MARKED)
    return patch


def _joined(base: list[Any], patch: list[Any], key: str, *, marks: bool) -> list[Any]:
    """Two lists of items with names; a new one comes behind the one before it in the patch."""
    found = list(base)
    at = -1  # where the last item of the patch went; new ones at its beginning come first
    for item in patch:
        names = [each.get(key) for each in found]
        if item.get(key) in names:
            at = names.index(item[key])
            found[at] = _merged(found[at], item, "")
        elif len(item) > 1 or not marks:
            at += 1
            found.insert(at, item)
    return found
