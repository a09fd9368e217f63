"""Fields of documents as a server that knows owners sees them: paths to values, and back.

Mappings are merged key by key. Lists of things that have a name (containers, variables, volumes)
are merged by that name; every other list is one value. Worked: `{"env": [{"name": "A",
"value": "1"}]}` is `.env[name="A"].name` → A and `.env[name="A"].value` → 1.
"""

from collections.abc import Mapping
from typing import Any

Step = str | tuple[tuple[str, Any], ...]
Path = tuple[Step, ...]

# By which fields the things of a list are distinguished; a port without a protocol is TCP.
_NAMED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "containers": (("name",),),
    "initContainers": (("name",),),
    "env": (("name",),),
    "volumes": (("name",),),
    "volumeMounts": (("mountPath",),),
    "ports": (("containerPort", "protocol"), ("port", "protocol")),
}
_DEFAULTS = {"protocol": "TCP"}
# Most fields are one of these, and nothing in them can be changed: they are never looked into.
_SCALARS = frozenset({str, int, bool, float, type(None)})


def flatten(value: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    """Every field of a document, in order, with values of its own."""
    found: list[tuple[Path, Any]] = []
    _collect(value, path, found)
    return found


def _collect(value: Any, path: Path, found: list[tuple[Path, Any]]) -> None:
    if type(value) in _SCALARS:
        found.append((path, value))
    elif isinstance(value, dict) and value:
        for key, inner in value.items():
            _collect(inner, (*path, key), found)
    elif isinstance(value, list) and (items := _named(path, value)) is not None:
        for step, item in items:
            _collect(item, (*path, step), found)
    else:
        found.append((path, copied(value)))


def copied(value: Any) -> Any:
    """A document that may be changed; nothing in it but mappings and lists can be."""
    if isinstance(value, dict):
        return {
            key: inner if type(inner) in _SCALARS else copied(inner) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [copied(inner) for inner in value]
    return value


def unflatten(fields: Mapping[Path, Any]) -> dict[str, Any]:
    """The document whose fields these are."""
    root: dict[Step, Any] = {}
    # Fields of one mapping mostly follow each other: the way to it is gone once.
    known: Path | None = None
    node = root
    for path, value in fields.items():
        way, last = path[:-1], path[-1]
        if way != known:
            node, known = _node_at(root, way), way
        replaced = isinstance(node.get(last), dict)
        if not replaced or value:
            node[last] = _Leaf(value) if isinstance(value, dict) else value
            if replaced:
                known = None  # it may have been on the way
    document: dict[str, Any] = _plain(root)
    return document


def _node_at(root: dict[Step, Any], way: Path) -> dict[Step, Any]:
    """The mapping at the end of a way; what one manager calls empty and another fills is filled."""
    node = root
    for step in way:
        inner = node.get(step)
        if not isinstance(inner, dict):
            inner = node[step] = {}
        node = inner
    return node


def text_of(path: Path) -> str:
    """A path as the server writes it."""
    return "".join(
        f".{step}"
        if isinstance(step, str)
        else "["
        + ",".join(f'{k}="{v}"' if isinstance(v, str) else f"{k}={v}" for k, v in step)
        + "]"
        for step in path
    )


class _Leaf:
    """A mapping that is not looked into."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _named(path: Path, value: list[Any]) -> list[tuple[Step, Any]] | None:
    """The things of a list by what tells them apart; None for one that is a value."""
    if not path or not isinstance(path[-1], str) or not value:
        return None
    for keys in _NAMED.get(path[-1], ()):
        if all(isinstance(item, dict) and _tells_apart(item, keys) for item in value):
            return [
                (tuple((key, item.get(key, _DEFAULTS.get(key))) for key in keys), item)
                for item in value
            ]
    return None


def _tells_apart(item: Mapping[str, Any], keys: tuple[str, ...]) -> bool:
    return keys[0] in item and all(isinstance(item.get(key, ""), str | int) for key in keys)


def _plain(node: Any) -> Any:
    if not isinstance(node, dict):
        # The reader may change the document.
        return copied(node.value if isinstance(node, _Leaf) else node)
    for step in node:
        if type(step) is not str:
            return [_plain(inner) for inner in node.values()]
    return {
        step: inner if type(inner) in _SCALARS else _plain(inner) for step, inner in node.items()
    }
