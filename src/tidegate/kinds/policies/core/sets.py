"""Policies of a set that go together: one revision for all of them, and one report of each cluster.

A revision of a set says which revision each of its policies has, and is kept as they are: in a
ConfigMap that is never changed, named by its content. The pointers of a cluster are in one map, so
that one write moves all of them.

    policy   revision of each         all three are the set's revision
    web      r2                       {db: r7, web: r2}
    db       r7

A cluster has succeeded once every policy has, each by its own stamp; what fails in one of them is a
failure of the set.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.kinds.policies.core.compliance import failed
from tidegate.kinds.policies.core.names import POLICY_LABEL, full_name, revision_map
from tidegate.kinds.policies.core.revision import Fields, hash_of
from tidegate.model.json_text import decode_json
from tidegate.model.target import Status, Target

_KEY = "policies"


def set_revision(policies: Mapping[str, str]) -> str:
    """The name of the revision in which each policy has its own; empty: a policy has none."""
    return hash_of({_KEY: dict(policies)})


def set_data(policies: Mapping[str, str]) -> dict[str, str]:
    """What the ConfigMap of a set's revision holds."""
    return {_KEY: msgspec.json.encode(dict(policies), order="sorted").decode()}


def set_object(namespace: str, policy_set: str, policies: Mapping[str, str]) -> dict[str, Any]:
    """The ConfigMap of a set's revision."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "namespace": namespace,
            "name": revision_map(policy_set, set_revision(policies)),
            "labels": {POLICY_LABEL: full_name(namespace, policy_set)},
        },
        "immutable": True,
        "data": set_data(policies),
    }


def is_of_set(document: Fields) -> bool:
    """Whether a ConfigMap says that it holds a revision of a set."""
    return _KEY in (document.get("data") or {})


def read_set_revision(document: Fields) -> dict[str, str]:
    """The revision of each policy; ValueError if it is not what the name of the ConfigMap says."""
    name = str(document["metadata"]["name"])
    found = decode_json(document["data"][_KEY], dict[str, str])
    if set_revision(found) != name.rpartition("-")[2]:
        raise ValueError(f"{name} holds {set_revision(found)}: it was changed")
    return found


def set_report(cluster: str, parts: Mapping[str, Target]) -> Target:
    """What a cluster reports of a set, by what it reports of each policy."""
    if all(each.revision is None for each in parts.values()):
        return Target(cluster)
    revision = set_revision({name: each.revision or "" for name, each in parts.items()})
    waits: list[str] = []
    for name, each in parts.items():
        if each.status is Status.Failed:
            return failed(cluster, revision, _words(name, each.detail or ""))
        if each.revision is None:
            waits.insert(0, f"{name}: it has no pointer")
        elif each.status is not Status.Succeeded:
            waits.append(_words(name, each.detail or ""))
    if waits:
        return Target(cluster, Status.Progressing, revision=revision, detail=waits[0])
    return Target(cluster, Status.Succeeded, revision=revision)


def _words(policy: str, detail: str) -> str:
    """What is said of one policy, under its name."""
    if detail.startswith("not "):
        return f"{policy} is {detail}"
    named = detail.startswith(f"{policy}: ") or " is not evaluated at " in detail
    return detail if named else f"{policy}: {detail}"
