"""The port of a cache: results that can be computed again; losing them costs only time."""

from collections.abc import Iterable, Mapping
from typing import Protocol


class Cache(Protocol):
    """Bytes by key. It may forget anything at any time, and never returns what was not put."""

    @property
    def shared(self) -> bool:
        """Whether other processes are given what one of them put."""
        ...

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """What is known of these keys."""
        ...

    def put(self, values: Mapping[bytes, bytes]) -> None:
        """Remember these, if possible."""
        ...
