"""What its keeper does with a journal: find, copy and move it. The engine needs none of it.

An archive is a store that can also be maintained. Pieces are what it is made of when it is moved:
a chain, its entries, the next chain, and in the end the claims.
"""

from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from tidegate.journal.chain import JournalEntry
from tidegate.journal.pieces import Chain, Piece
from tidegate.journal.selection import EntryFilter
from tidegate.store.port import Store, Tell


class Archive(Store, Protocol):
    """A journal and its care."""

    def chains(self) -> list[Chain]:
        """Every chain from its first kept entry to its last, by name."""
        ...

    def find(
        self, partition: str, wanted: EntryFilter, *, after: int = 0
    ) -> Iterator[JournalEntry]:
        """The entries behind a number that are wanted, in order, without judging the chain."""
        ...

    def dump(self) -> Generator[Piece, None, None]:
        """The whole journal at one moment; a caller that does not read all of it closes it."""
        ...

    def adopt(self, pieces: Iterable[Piece]) -> None:
        """Take in what another journal dumped, all or nothing.

        UserError if one of its partitions has entries here already.
        """
        ...

    def backup(self, path: Path, tell: Tell | None = None) -> None:
        """Copy the journal into a new file while it is written to.

        UserError where the database has a better way of its own.
        """
        ...
