"""JSON patches as an API server carries them out, all of their steps or none."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from tidegate.kubernetes.simulated.server.refusals import RefusalError
from tidegate.model.problem import shown

_Tree = dict[str, Any]


def patched(document: Mapping[str, Any], patch: Sequence[_Tree]) -> _Tree:
    """A document after a patch; RefusalError if a test fails, or a path leads nowhere."""
    new = deepcopy(dict(document))
    for step in patch:
        op, path = step.get("op"), str(step.get("path"))
        *way, last = [each.replace("~1", "/").replace("~0", "~") for each in path[1:].split("/")]
        node: Any = new
        for each in way:
            node = node.get(each) if isinstance(node, dict) else None
        if not isinstance(node, dict):
            raise _rejected(f"{op} operation does not apply: doc is missing path: {path}")
        if op == "test":
            if node.get(last) != step.get("value"):
                raise _rejected(f"testing value {path} failed")
        elif op in ("replace", "remove") and last not in node:
            raise _rejected(f"{op} operation does not apply: doc is missing key: {path}")
        elif op == "remove":
            del node[last]
        elif op in ("add", "replace"):
            node[last] = step.get("value")
        else:
            raise _rejected(f"{shown(step)}: no step of a patch that a simulated server knows")
    return new


def _rejected(why: str) -> RefusalError:
    return RefusalError(
        422, f"the server rejected our request due to an error in our request: {why}"
    )
