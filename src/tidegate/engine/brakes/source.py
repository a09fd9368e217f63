"""Sources of brakes besides the journal: files of the bundle, a file on the worker's own disk.

So that brakes still bind when the server or the database is unreachable.
"""

from collections.abc import Callable
from typing import Any, Protocol

import msgspec


class Written(msgspec.Struct, frozen=True):
    """Brakes as one source has them, or why they cannot be read; then everything is held."""

    origin: str
    # Like `brakes` of a document: holds, freezes, blocks, pins, budgets, mutexes and so on.
    document: dict[str, Any] = {}
    # How files the document names are read; None: they are not.
    files: Callable[[str], str] | None = None
    problem: str = ""
    # What takes its brakes away: the file to change, or a command.
    lift: str = ""
    # Whether it is the journal, so that each brake is lifted by the command of its kind.
    journal: bool = False


class BrakeSource(Protocol):
    """A source of brakes."""

    def read(self) -> tuple[Written, ...]:
        """The brakes there now. The very same objects as before if nothing changed; no raising."""
        ...
