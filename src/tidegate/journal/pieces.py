"""What a journal is made of when it is moved: a chain, its entries, the next one; then the claims.

Pieces are checked while they pass, each against the one before: tampering on the way is noticed at
the first piece that does not hold, and the journal never needs to be in memory as a whole.
"""

from collections.abc import Iterable, Iterator

import msgspec

from tidegate.journal.chain import JournalEntry, genesis, verify
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.model.time import Instant


class Chain(msgspec.Struct, frozen=True):
    """One partition's chain: what its first kept entry follows, and its last."""

    partition: str
    # The last entry that was dropped: its number and hash; 0 and the genesis hash where none was.
    base_seq: int
    base_hash: bytes
    seq: int
    hash: bytes
    # The newest fencing token that was given out; 0: none ever was.
    token: int = 0

    @property
    def kept(self) -> int:
        """How many entries are there."""
        return self.seq - self.base_seq


class Claimed(msgspec.Struct, frozen=True):
    """One place that is taken of something several rollouts share."""

    name: str
    place: int
    partition: str
    key: str
    at: Instant


Piece = Chain | JournalEntry | Claimed


def check_pieces(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The same pieces, as long as they hold; UserError at the first that does not."""
    course = JournalCursor()
    try:
        for piece in pieces:
            course.take(piece)
            yield piece
        course.close()
    except ValueError as error:
        raise UserError((Problem("", str(error), "nothing was imported"),)) from None


class JournalCursor:
    """Where in a journal we are, and what has to come next."""

    def __init__(self) -> None:
        self.partitions: set[str] = set()
        self.entries = 0
        # The chain under way; None before the first and behind the last.
        self._chain: Chain | None = None
        self._seq, self._hash = 0, b""

    def take(self, piece: Piece) -> None:
        """Hold a piece against what came before; ValueError says what is wrong with it."""
        if isinstance(piece, JournalEntry):
            self._follow(piece)
            return
        self.close()
        if isinstance(piece, Chain):
            self._open(piece)

    def _open(self, chain: Chain) -> None:
        name = chain.partition
        if name in self.partitions:
            raise ValueError(f"partition {name} is there twice")
        if chain.base_seq == 0 and chain.base_hash != genesis(name):
            raise ValueError(f"partition {name} does not start from its name: it was renamed")
        self.partitions.add(name)
        self._chain, self._seq, self._hash = chain, chain.base_seq, chain.base_hash

    def _follow(self, entry: JournalEntry) -> None:
        if self._chain is None:
            raise ValueError("an entry without a partition before it")
        broken = verify(self._hash, self._seq + 1, (entry,))
        if broken is not None:
            raise ValueError(f"partition {self._chain.partition}: {broken.what}")
        self._seq, self._hash = entry.seq, entry.hash
        self.entries += 1

    def close(self) -> None:
        """The chain under way has to end where it said it would."""
        chain, self._chain = self._chain, None
        if chain is None or (self._seq, self._hash) == (chain.seq, chain.hash):
            return
        what = f"entry {self._seq + 1} is missing: the chain goes to {chain.seq}"
        if self._seq >= chain.seq:
            what = f"it goes on behind entry {chain.seq}, where it should end"
        raise ValueError(f"partition {chain.partition}: {what}")
