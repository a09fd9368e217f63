"""Which image the manager of an environment hands on: the commit its saas target is deployed at.

The predecessor knows the tag of its own image and gives it to every integration without an
`imageRef`. So the `ref` of the target that deploys the manager is where that image is written; one
that follows a branch names no image.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from tidegate.bundle.leaf import Doc
from tidegate.bundle.places import DocumentPlace

# What the template of a manager is called, in whatever folder of its repository.
TEMPLATE = "qontract-manager"
HASH_LENGTH = 7
# From `{$ref: …}` to what the file says that it names; nothing where there is none.
Lookup = Callable[[Mapping[str, Any]], Mapping[str, Any]]
_COMMIT = re.compile(r"[0-9a-f]{40}")


def managers(
    documents: Iterable[tuple[DocumentPlace, Doc]], data_of: Lookup
) -> tuple[tuple[str, str, str], ...]:
    """For each manager, the files of its environment and its cluster, and the tag it hands on."""
    kept = [doc for _, doc in documents if doc.data is not None]
    lengths = [(doc.data or {}).get("hashLength") for doc in kept if doc.kind == "settings"]
    length = next((each for each in lengths if isinstance(each, int)), HASH_LENGTH)
    found: dict[tuple[str, str, str], None] = {}
    for doc in kept:
        for target, own in _targets(doc.data or {}, data_of) if doc.kind == "saas-file" else ():
            ref, space = str(target.get("ref")), data_of(target.get("namespace") or {})
            own_length = own if isinstance(own, int) else length
            if _COMMIT.fullmatch(ref) and space:
                environment, cluster = (_named(space, at) for at in ("environment", "cluster"))
                found[environment, cluster, ref[:own_length]] = None
    return tuple(found)


def _named(space: Mapping[str, Any], field: str) -> str:
    return str((space.get(field) or {}).get("$ref"))


def _targets(saas: Mapping[str, Any], data_of: Lookup) -> Iterator[tuple[Mapping[str, Any], Any]]:
    for template in saas.get("resourceTemplates") or ():
        if PurePosixPath(str(template.get("path"))).stem != TEMPLATE:
            continue
        for written in template.get("targets") or ():
            target = data_of(written) if "$ref" in written else written
            if not (target.get("disable") or target.get("delete")):
                yield target, template.get("hash_length")
