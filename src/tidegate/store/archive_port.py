"""What its keeper does with a journal: find, verify, copy and move it. The engine needs none of it.

An archive is a store that can also be maintained. Pieces are what it is made of when it is moved:
a chain, its entries, the next chain, and in the end the claims.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from tidegate.journal.chain import Break, Entry
from tidegate.journal.pieces import Chain, Piece
from tidegate.journal.selection import Wanted
from tidegate.store.port import Store

# Called with how much of a long task is done.
Tell = Callable[[int], None]


class Archive(Store, Protocol):
    """A journal and its care."""

    def chains(self) -> list[Chain]:
        """Every chain from its first kept entry to its last, by name."""
        ...

    def find(self, partition: str, wanted: Wanted, *, after: int = 0) -> Iterator[Entry]:
        """The entries behind a number that are wanted, in order, without judging the chain."""
        ...

    def verify(self, partition: str, tell: Tell | None = None) -> Break | None:
        """The first entry that was changed, is missing or out of order; None if none is."""
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
