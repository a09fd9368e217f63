"""Fields of documents as a server that knows owners sees them: paths to values, and back.

Mappings are merged key by key. Lists of things that have a name (containers, variables, volumes)
are merged by that name; every other list is one value. Worked: `{"env": [{"name": "A",
"value": "1"}]}` is `.env[name="A"].name` → A and `.env[name="A"].value` → 1.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
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


def flatten(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every field of a document, in order."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from flatten(inner, (*path, key))
        return
    items = _named(path, value)
    if items is None:
        yield path, value
        return
    for step, item in items:
        yield from flatten(item, (*path, step))


def unflatten(fields: Mapping[Path, Any]) -> dict[str, Any]:
    """The document whose fields these are."""
    root: dict[Step, Any] = {}
    for path, value in fields.items():
        node = root
        for step in path[:-1]:
            inner = node.get(step)
            # What one manager calls empty and another fills is filled.
            node[step] = inner if isinstance(inner, dict) else {}
            node = node[step]
        if not isinstance(node.get(path[-1]), dict) or value:
            node[path[-1]] = _Leaf(value)
    document: dict[str, Any] = _plain(root)
    return document


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
    """A value that is not looked into."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _named(path: Path, value: Any) -> list[tuple[Step, Any]] | None:
    """The things of a list by what tells them apart; None for one that is a value."""
    if not path or not isinstance(path[-1], str) or not isinstance(value, list) or not value:
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
    if isinstance(node, _Leaf):
        # The reader may change the document.
        return deepcopy(node.value) if isinstance(node.value, list | dict) else node.value
    if all(isinstance(step, str) for step in node):
        return {step: _plain(inner) for step, inner in node.items()}
    return [_plain(inner) for inner in node.values()]
