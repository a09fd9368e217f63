"""Between the server's documents and our objects: paths, owners, and whether anything differs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from tidegate.kubernetes.port import ApplyOutcome, Document, Object, ResourceKind
from tidegate.model.json_text import decode_json

# The server writes these by itself; a difference in them is not declared.
_BOOKKEEPING = frozenset({"resourceVersion", "generation", "managedFields"})
# And its controllers these.
_NOTES = frozenset({"deployment.kubernetes.io/revision"})


def path_of(kind: ResourceKind, namespace: str, name: str = "") -> str:
    """Where the server keeps a kind in a namespace, or in all of them, or one object of it."""
    group = f"/apis/{kind.api_version}" if "/" in kind.api_version else f"/api/{kind.api_version}"
    inside = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    path = f"{group}{inside}/{kind.plural}"
    return f"{path}/{quote(name, safe='')}" if name else path


def where_of(kind: ResourceKind, namespace: str, name: str = "") -> str:
    """The same for people."""
    return "/".join(filter(None, (kind.name.lower(), namespace, name)))


def object_of(kind: ResourceKind, document: dict[str, Any], manager: str) -> Object:
    """A document as the server sent it, as an object; its book of owners is taken out."""
    metadata = document["metadata"]
    owners: Sequence[Mapping[str, Any]] = metadata.pop("managedFields", None) or ()
    # In a list the server leaves these two out.
    document.setdefault("apiVersion", kind.api_version)
    document.setdefault("kind", kind.name)
    return Object(
        kind=kind,
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata["uid"],
        version=metadata.get("resourceVersion", ""),
        ours=any(is_ours(owner, manager) for owner in owners),
        document=document,
    )


def is_ours(owner: Mapping[str, Any], manager: str) -> bool:
    """Whether an entry of the book of owners says that we wrote fields of the object itself."""
    return owner.get("manager") == manager and not owner.get("subresource")


def owned_fields(document: Mapping[str, Any], manager: str) -> frozenset[str]:
    """The fields that we applied, by the book of owners, as the server writes them."""
    owners: Sequence[Mapping[str, Any]] = document["metadata"].get("managedFields") or ()
    trees = (each.get("fieldsV1") or {} for each in owners if is_ours(each, manager))
    return frozenset(path for tree in trees for path in _paths(tree, ""))


def _paths(tree: Mapping[str, Any], path: str) -> Iterator[str]:
    """`{"f:env": {'k:{"name":"A"}': {"f:value": {}}}}` is `.env[name="A"].value`."""
    for step, inner in tree.items():
        if step == ".":
            yield path
            continue
        form, _, name = step.partition(":")
        if form == "f":
            here = f"{path}.{name}"
        elif form == "k":
            keys = decode_json(name)
            parts = (f"{key}={msgspec.json.encode(keys[key]).decode()}" for key in sorted(keys))
            here = f"{path}[{','.join(parts)}]"
        else:
            here = f"{path}[={name}]"
        yield here
        yield from _paths(inner, here)


def outcome_of(created: bool, before: Object | None, after: Object) -> ApplyOutcome:
    """What applying did, or would: a dry run leaves the version as it was."""
    if created:
        return ApplyOutcome.CREATED
    if before is not None and alike(before, after):
        return ApplyOutcome.UNCHANGED
    return ApplyOutcome.CONFIGURED


def alike(one: Object, other: Object) -> bool:
    """Whether nothing declared differs: status and bookkeeping do not count."""
    return one.ours == other.ours and _wishes(one.document) == _wishes(other.document)


def _wishes(document: Document) -> dict[str, Any]:
    metadata = document["metadata"]
    wishes = {key: value for key, value in document.items() if key != "status"}
    notes = metadata.get("annotations") or {}
    wishes["metadata"] = {
        **{key: value for key, value in metadata.items() if key not in _BOOKKEEPING},
        "annotations": {key: value for key, value in notes.items() if key not in _NOTES},
    }
    return wishes
