"""Where two specs of a policy differ: places and values, no deeper than is useful to people."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

# How deep content is looked into; nothing that a hub takes is deeper.
DEPTH_MAX = 200


class Difference(msgspec.Struct, frozen=True):
    """One place, and what it holds on both sides; None: nothing."""

    path: str
    before: Any
    after: Any


def differences(before: Any, after: Any, path: str, depth: int = 0) -> Iterator[Difference]:
    """The places at which two values differ. Lists of other lengths differ as a whole."""
    if before == after:
        return
    if depth < DEPTH_MAX and isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted(before.keys() | after.keys()):
            inner = before.get(key), after.get(key)
            yield from differences(*inner, f"{path}.{key}", depth + 1)
    elif depth < DEPTH_MAX and _alike(before, after):
        for at, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{path}[{at}]", depth + 1)
    else:
        yield Difference(path, before, after)


def _alike(before: Any, after: Any) -> bool:
    lists = isinstance(before, list) and isinstance(after, list)
    return lists and len(before) == len(after)
