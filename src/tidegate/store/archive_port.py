"""What its keeper does with a journal: find, copy and move it. The engine needs none of it.

An archive is a store that can also be maintained. Pieces are what it is made of when it is moved:
a chain, its entries, the next chain, and in the end the claims.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, Protocol

import msgspec

from tidegate.journal.chain import JournalEntry
from tidegate.journal.lease import KeptLease
from tidegate.journal.pieces import Chain, Piece
from tidegate.journal.selection import EntryFilter
from tidegate.store.port import Store, TakenPlace, Tell

# Entries of one chain in one look; of one that grew by more, none are.
LOOK_ENTRIES_MAX = 512


class SeenPartition(msgspec.Struct, frozen=True):
    """A partition at one moment."""

    chain: Chain
    record: KeptLease


class JournalSnapshot(msgspec.Struct, frozen=True):
    """A journal at one moment, as far as one look goes."""

    # All there are, those with a lease and no entry among them, in order of names.
    partitions: dict[str, SeenPartition]
    # What was asked for: the entries behind a number, up to the present end of the chain.
    entries: dict[str, list[JournalEntry]]
    # None: they were not asked for.
    claims: list[TakenPlace] | None = None


class Archive(Store, Protocol):
    """A journal and its care."""

    def chains(self) -> list[Chain]:
        """Every chain from its first kept entry to its last, by name."""
        ...

    def look(self, after: Mapping[str, int], *, claims: bool = False) -> JournalSnapshot:
        """All partitions, and the entries behind these numbers, in as few questions as can be.

        A chain that grew by more than LOOK_ENTRIES_MAX, or is shorter than that, has no entries.
        """
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


class ReadOnlyArchive:
    """For archives that are read only: everything that would change one is refused."""

    def refusal(self) -> Exception:
        """What a caller is told that writes to it."""
        raise NotImplementedError

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise self.refusal()

    append = append_many = save = lease = release = renew = take_many = release_many = _refuse
    wish = compact = dump = adopt = backup = look = _refuse
