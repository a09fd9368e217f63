"""Which image the manager of an environment hands on: the commit its saas target is deployed at.

The existing manager is told the tag of its own image and gives it to every integration without an
`imageRef`. So the `ref` of the target that deploys the manager is where that image is written; one
that follows a branch names no image.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from tidegate.config.bundle.leaf import Leaf

# What the template of a manager is called, in whatever folder of its repository.
TEMPLATE = "qontract-manager"
HASH_LENGTH = 7
_COMMIT = re.compile(r"[0-9a-f]{40}")


def managers(leaves: Mapping[str, Leaf]) -> tuple[tuple[str, str, str], ...]:
    """For each manager, the files of its environment and its cluster, and the tag it hands on."""
    files = {f"/{path}": leaf.docs[0].data for path, leaf in leaves.items() if len(leaf.docs) == 1}
    docs = [doc for leaf in leaves.values() for doc in leaf.docs]
    lengths = [doc.data.get("hashLength") for doc in docs if doc.kind == "settings" and doc.data]
    length = next((each for each in lengths if isinstance(each, int)), HASH_LENGTH)
    found: dict[tuple[str, str, str], None] = {}
    for doc in docs:
        if doc.kind != "saas-file" or doc.data is None:
            continue
        for target, own in _targets(doc.data, files):
            ref, space = str(target.get("ref")), _data(files, target.get("namespace"))
            own_length = own if isinstance(own, int) else length
            if _COMMIT.fullmatch(ref) and space:
                environment, cluster = (_named(space, at) for at in ("environment", "cluster"))
                found[environment, cluster, ref[:own_length]] = None
    return tuple(found)


def _named(space: Mapping[str, Any], field: str) -> str:
    return str((space.get(field) or {}).get("$ref"))


def _targets(
    saas: Mapping[str, Any], files: Mapping[str, Any]
) -> Iterator[tuple[Mapping[str, Any], Any]]:
    for template in saas.get("resourceTemplates") or ():
        if PurePosixPath(str(template.get("path"))).stem != TEMPLATE:
            continue
        for written in template.get("targets") or ():
            target = _data(files, written) if "$ref" in written else written
            if not (target.get("disable") or target.get("delete")):
                yield target, template.get("hash_length")


def _data(files: Mapping[str, Any], reference: Any) -> Mapping[str, Any]:
    named = files.get(str(reference.get("$ref"))) if isinstance(reference, dict) else None
    return named or {}
