"""Where brakes stand besides the journal: files of the bundle, a file on the worker's own disk.

So that nothing moves against anybody's word when the server or the database is not to be had.
"""

from collections.abc import Callable
from typing import Any, Protocol

import msgspec


class Written(msgspec.Struct, frozen=True):
    """Brakes as they stand somewhere, or why they cannot be read; then everything is held."""

    origin: str
    # Like `brakes` of a document: holds, freezes, blocks, pins, budgets, mutexes and so on.
    document: dict[str, Any] = {}
    # How files the document names are read; None: they are not.
    files: Callable[[str], str] | None = None
    problem: str = ""


class BrakeSource(Protocol):
    """A place where brakes stand."""

    def read(self) -> tuple[Written, ...]:
        """What stands there now. The very same objects as before if nothing changed; no raising."""
        ...
