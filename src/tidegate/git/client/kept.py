"""What was read of commits and contents, by their full names: none of it ever changes.

A command asks the same several times, and a service for months: so much is kept and no more.
"""

from collections.abc import Iterable
from typing import TypeVar

FACTS_MAX = 1_000
# Files that people write are small; what is larger is read again.
BLOB_BYTES_MAX = 64 * 1024
BYTES_MAX = 4 * 1024 * 1024

Key = TypeVar("Key")
Fact = TypeVar("Fact")


class KeptFacts(dict[Key, Fact]):
    """Facts, up to a number."""

    def keep(self, key: Key, fact: Fact) -> None:
        """Keep one; where they are too many, only this."""
        if len(self) >= FACTS_MAX:
            self.clear()
        self[key] = fact


class KeptContents:
    """Contents by the names of their blobs, up to a size."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}
        self._bytes = 0

    def of(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """Those of some blobs that are kept."""
        found = ((blob, self._kept.get(blob)) for blob in blobs)
        return {blob: content for blob, content in found if content is not None}

    def keep(self, blob: str, content: bytes) -> None:
        """Keep one; where they are too many, only this."""
        if blob in self._kept or len(content) > BLOB_BYTES_MAX:
            return
        if self._bytes + len(content) > BYTES_MAX:
            self._kept.clear()
            self._bytes = 0
        self._kept[blob] = content
        self._bytes += len(content)
