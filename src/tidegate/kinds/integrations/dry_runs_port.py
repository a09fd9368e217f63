"""Runners of an image, once and changing nothing: a command here, a container, a Job elsewhere.

A runner that is cancelled ends what it began: nothing it started goes on without it.
"""

from collections.abc import Callable
from typing import Protocol

import msgspec

from tidegate.kinds.integrations.core.review.affected import Input
from tidegate.model.errors import OutsideError

# Called with a line.
Tell = Callable[[str], None]


class DryRunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One run to be."""

    integration: str
    shard: str
    input: Input
    # The directory with the bundle it is to read; empty: it is not on disk.
    data: str = ""
    # What tells it from all other runs there are.
    key: str = ""


class MissingError(OutsideError):
    """The runner itself is not there, or cannot be used: the setup must be fixed."""


class Runner(Protocol):
    """One way to run things."""

    @property
    def reads_data(self) -> bool:
        """Whether what it runs reads the bundle it is handed, and not one that is live."""
        ...

    async def run(self, dry_run: DryRunRequest, said: Tell, noted: Tell) -> int:
        """Run it to its end, and tell every line as it is said; its exit code.

        What the runner has to say itself is `noted`: it is kept, and compared with nothing.
        OutsideError if it could not be begun, as where an image cannot be had.
        """
        ...

    async def close(self) -> None:
        """Let go of whatever it holds open."""
        ...
