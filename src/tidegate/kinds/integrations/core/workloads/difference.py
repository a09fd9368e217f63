"""What differs between two documents of a cluster, field by field, as people read it.

Items of a list that have names are shown by name: `spec.template.spec.containers[int].image`. What
a server writes by itself, and what we stamp on every object, is no difference; neither is an amount
written another way (1000m and 1), nor a text that is empty and one that is not there, for servers
drop empty texts.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import msgspec

from tidegate.kinds.integrations.core.sharding.quantity import parse_quantity
from tidegate.kinds.integrations.core.workloads.estate import ADOPTED, DECLARED_AT, RENDERED, UNIT
from tidegate.model.document import Part
from tidegate.model.problem import shown

Document = Mapping[str, Any]

# What tells the items of a list apart, by the name of the list; of all others, their name.
_KEYS: Mapping[str, tuple[str, ...]] = {
    "volumeMounts": ("mountPath",),
    "ports": ("containerPort", "port"),
}
# Amounts stand under these.
_AMOUNTS = frozenset(("limits", "requests"))
# Written by servers and controllers, or by us on everything: not declared.
_NOISE = frozenset(
    ("resourceVersion", "uid", "generation", "managedFields", "creationTimestamp", "selfLink")
)
_NOTES = frozenset(
    (
        RENDERED,
        DECLARED_AT,
        ADOPTED,
        UNIT,
        "deployment.kubernetes.io/revision",
        "kubectl.kubernetes.io/last-applied-configuration",
    )
)
_EMPTY: tuple[Any, ...] = (None, "", {}, [])
# Kinds whose pods are replaced when their template changes; a CronJob's next run has the new one.
_RESTARTING = frozenset(("Deployment", "StatefulSet"))
_TEMPLATE = "spec.template."


class ObjectDifference(Part, frozen=True):
    """One field that differs."""

    field: str
    # None: it is not there.
    before: Any
    after: Any


def differences(before: Document, after: Document) -> tuple[ObjectDifference, ...]:
    """What differs, in the order of the fields."""
    return tuple(_differing(_plain(before), _plain(after), "", ""))


def restarts(before: Document, found: tuple[ObjectDifference, ...]) -> bool:
    """Whether pods that run now are replaced because of these."""
    if before.get("kind") not in _RESTARTING or (before.get("spec") or {}).get("replicas") == 0:
        return False
    return any(each.field.startswith(_TEMPLATE) for each in found)


def laid_over(live: Document, manifest: Document) -> dict[str, Any]:
    """A live document with everything a manifest says; as near as possible without a server."""
    merged = _merged(live, manifest, "")
    assert isinstance(merged, dict)
    return merged


def is_unchanged(live: Document, manifest: Document) -> bool:
    """Whether a live object was made from this very manifest, and still has everything it says.

    Where in a file it is declared does not count: a line added above moves everything below.
    """
    return made_from(live) == made_from(manifest) and _has(live, _plain(manifest), "")


def made_from(document: Document) -> str:
    """What a document was made from; empty: not by us."""
    return note(document, RENDERED)


def note(document: Document, name: str) -> str:
    """An annotation; empty if there is none."""
    return str(((document.get("metadata") or {}).get("annotations") or {}).get(name) or "")


def _plain(document: Document) -> dict[str, Any]:
    """A document without what is not declared."""
    metadata = document.get("metadata") or {}
    notes = metadata.get("annotations") or {}
    wishes = {key: value for key, value in metadata.items() if key not in _NOISE}
    wishes["annotations"] = {key: value for key, value in notes.items() if key not in _NOTES}
    return {**{k: v for k, v in document.items() if k != "status"}, "metadata": wishes}


def _has(live: Any, wanted: Any, field: str) -> bool:
    """Whether everything that is wanted is there; more may be."""
    # Most parts of most objects are as they were given, and comparing those is quick.
    if live == wanted:
        return True
    if isinstance(wanted, dict) and isinstance(live, dict):
        return all(_has(live.get(key), value, _under(field, key)) for key, value in wanted.items())
    items, there = _items(wanted, field), _items(live, field)
    named = bool(items) and bool(_names(wanted, field))
    if items and (items.keys() <= there.keys() if named else _match(live, wanted)):
        return all(_has(there[name], item, "") for name, item in items.items())
    return _same(live, wanted, field)


def _differing(before: Any, after: Any, path: str, field: str) -> Iterator[ObjectDifference]:
    """Every field in which two values differ; what is on one side only is shown as a whole."""
    if _same(before, after, field):
        return
    old, new = _items(before, field), _items(after, field)
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            step = f"{path}[{key}]" if "." in key or "/" in key else f"{path}.{key}".lstrip(".")
            yield from _differing(before.get(key), after.get(key), step, _under(field, key))
    elif old and new:
        for name in dict.fromkeys((*old, *new)):
            yield from _differing(old.get(name), new.get(name), f"{path}[{name}]", "")
    else:
        yield ObjectDifference(path, before, after)


def _merged(base: Any, patch: Any, field: str) -> Any:
    if base == patch:
        return base
    if isinstance(base, dict) and isinstance(patch, dict):
        return {**base, **{key: _merged(base.get(key), value, key) for key, value in patch.items()}}
    old, new = _items(base, field), _items(patch, field)
    if old and new and (_are_named(patch, field) or _match(base, patch)):
        laid = {name: _merged(old.get(name), item, "") for name, item in new.items()}
        return list({**old, **laid}.values())
    return patch


def _under(field: str, key: str) -> str:
    """What a value is called that stands under a key: whatever is below amounts is one."""
    return field if field in _AMOUNTS else key


def _items(value: Any, field: str) -> dict[str, Any]:
    """The items of a list by name, or else by number; none where they are no documents."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return {}
    names = _names(value, field) or [str(at) for at in range(len(value))]
    return dict(zip(names, value, strict=True))


def _are_named(value: Any, field: str) -> bool:
    """Whether a server merges a list item by item."""
    return bool(_names(value, field))


def _match(one: Any, other: Any) -> bool:
    """Whether two lists of documents without names can be compared item by item."""
    return isinstance(one, list) and isinstance(other, list) and len(one) == len(other)


def _names(value: list[Any], field: str) -> list[str]:
    for key in _KEYS.get(field, ("name",)):
        names = [str(item[key]) for item in value if key in item]
        if len(set(names)) == len(value):
            return names
    return []


def _same(one: Any, other: Any, field: str) -> bool:
    if one == other or (one in _EMPTY and other in _EMPTY):
        return True
    if field in _AMOUNTS or field == "storage":
        return _amount(one) == _amount(other) is not None
    return False


def _amount(value: Any) -> Fraction | None:
    try:
        return parse_quantity(str(value))
    except ValueError:
        return None


def difference_text(one: ObjectDifference, cut: bool = False) -> str:
    """A difference on one line: what is there, and what will be."""
    text = shown if cut else _whole
    if one.before is None:
        return f"+ {one.field}: {text(one.after)}"
    if one.after is None:
        return f"- {one.field}: {text(one.before)}"
    return f"~ {one.field}: {text(one.before)} → {text(one.after)}"


def _whole(value: Any) -> str:
    if isinstance(value, str) and "\n" not in value:
        return value
    return msgspec.json.encode(value).decode()
