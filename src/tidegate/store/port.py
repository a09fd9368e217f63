"""The port of the journal: append-only chains, a lease for each, and the claims they share.

One unit of work is one call; every implementation keeps the same contract (tests/contract).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from tidegate.journal.chain import Break, JournalEntry, JournalNote
from tidegate.journal.lease import KeptLease, Lease, LeaseRequest, Look
from tidegate.model.errors import OutsideError, StaleError, UserError
from tidegate.model.problem import Problem
from tidegate.model.time import Duration, Instant

# Called with how much of a long task is done.
Tell = Callable[[int], None]


class Head(msgspec.Struct, frozen=True):
    """The end of a partition's chain: the number and the hash of its last entry."""

    seq: int
    hash: bytes


class TakenPlace(msgspec.Struct, frozen=True):
    """One place of something that several partitions share, taken by a task."""

    name: str  # mutex/db, budget/eu
    place: int  # 0 for a mutex; 0 … N-1 for a budget of N
    partition: str
    key: str
    at: Instant


class LostClaimError(StaleError):
    """Another task has what was claimed: `held` are its claims, for a verdict to name."""

    def __init__(self, held: tuple[TakenPlace, ...]) -> None:
        self.held = held
        taken = (f"{c.name}: place {c.place} is held by {c.partition} ({c.key})" for c in held)
        super().__init__("; ".join(taken))


class NoJournalError(UserError):
    """There is no journal at an address, and none is to be made."""

    def __init__(self, place: str, what: str) -> None:
        self.place = place
        self.what = what
        super().__init__((Problem(place, what, "name the journal that a worker writes"),))


class BrokenChainError(OutsideError):
    """A chain does not hold: what follows from it may never have happened."""

    def __init__(self, partition: str, broken: Break) -> None:
        self.broken = broken
        remedy = "nothing is acted on; restore the journal from a backup"
        super().__init__(f"{partition}: its chain is broken: {broken.what}; {remedy}")


class Append(msgspec.Struct, frozen=True):
    """One append of many, as `Store.append` has it."""

    partition: str
    notes: tuple[JournalNote, ...]
    after: Head | None = None
    token: int | None = None
    claims: tuple[TakenPlace, ...] = ()
    frees: tuple[str, ...] = ()


class Store(Protocol):
    """A journal. StaleError wherever the caller acts on an outdated state of it."""

    def append(
        self,
        partition: str,
        notes: Sequence[JournalNote],
        *,
        after: Head | None = None,
        token: int | None = None,
        claims: Sequence[TakenPlace] = (),
        frees: Sequence[str] = (),
    ) -> Head:
        """Write facts behind the chain's end, all or none.

        `after`: only if the chain ends there. `token`: only if no newer lease was given out.
        `frees`: keys whose claims end. `claims`: taken after that in the same transaction, all or
        none; LostClaimError if another task has one.
        """
        ...

    def append_many(self, appends: Sequence[Append]) -> list[Head | StaleError]:
        """Several appends in one transaction; each is written or refused by itself.

        What `append` would return or raise as StaleError, in their order. Anything else that goes
        wrong is raised, and none is written.
        """
        ...

    def read(
        self, partition: str, *, after: int = 0, limit: int | None = None
    ) -> Iterator[JournalEntry]:
        """The entries of a partition behind a number, in order."""
        ...

    def head(self, partition: str) -> Head:
        """The end of a chain; of an empty one, number 0 and the genesis hash."""
        ...

    def heads(self) -> dict[str, int]:
        """The last number of every partition, in order of names; cheap: read twice a second."""
        ...

    def partitions(self) -> list[str]:
        """The names of all partitions, in order."""
        ...

    def save(self, partition: str, seq: int, state: bytes) -> None:
        """Keep a projection: the state after an entry, so that a restart need not fold it all."""
        ...

    def load(self, partition: str) -> tuple[int, bytes] | None:
        """The projection kept last, with the number of the entry it includes."""
        ...

    def lease(
        self,
        partition: str,
        holder: str,
        now: Instant,
        term: Duration,
        look: Look | None = None,
    ) -> Lease | None:
        """Take or renew a lease; None if another holder has it, which writes nothing.

        `look`: what the holder saw last, kept beside the lease; without it, that of before stays.
        """
        ...

    def release(self, lease: Lease, look: Look | None = None) -> None:
        """Give a lease back; the token stays used, and so does the last look."""
        ...

    def renew(
        self, holder: str, looks: Mapping[str, Look], now: Instant, term: Duration
    ) -> dict[str, KeptLease]:
        """Renew many leases at once, each with its last look; one that is missing is lost."""
        ...

    def take_many(
        self, holder: str, looks: Mapping[str, Look], now: Instant, term: Duration
    ) -> dict[str, Lease]:
        """Take many leases at once, as `lease` does; one that is missing has another holder."""
        ...

    def release_many(self, leases: Sequence[tuple[Lease, Look]]) -> None:
        """Give many leases back at once, as `release` does."""
        ...

    def wish(self, partitions: Sequence[str], wish: LeaseRequest, now: Instant) -> None:
        """Ask the holders of some leases for them; one that another asked for stays as it is."""
        ...

    def leases(self) -> dict[str, KeptLease]:
        """Every lease that was ever given out, by partition, in order of names."""
        ...

    def claims(self) -> list[TakenPlace]:
        """All claims there are."""
        ...

    def verify(self, partition: str, tell: Tell | None = None) -> Break | None:
        """The first entry that was changed, is missing or out of order; None if none is."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...

    def compact(
        self,
        partition: str,
        note: JournalNote,
        *,
        keep_after: int,
        after: Head | None = None,
        token: int | None = None,
    ) -> Head:
        """Append a Folded fact, then drop the entries up to `keep_after`; the chain stays
        verifiable from the hash of the last dropped one, which is kept.

        `after` and `token` as for append: without them, a fact written after the state was folded
        would be lost.
        """
        ...


def last_entries(store: Store, partition: str, count: int) -> Iterator[JournalEntry]:
    """So many entries at the end of a chain, in order: what they tell costs the same for ever."""
    return store.read(partition, after=max(0, store.head(partition).seq - count))


class Appends(Protocol):
    """What appends facts."""

    def append(
        self,
        partition: str,
        notes: Sequence[JournalNote],
        *,
        after: Head | None = None,
        token: int | None = None,
        claims: Sequence[TakenPlace] = (),
        frees: Sequence[str] = (),
    ) -> Head:
        """As `Store.append`."""
        ...


def append_each(store: Appends, appends: Sequence[Append]) -> list[Head | StaleError]:
    """Several appends, one after the other; each is written or refused by itself."""
    found: list[Head | StaleError] = []
    for one in appends:
        try:
            head = store.append(
                one.partition,
                one.notes,
                after=one.after,
                token=one.token,
                claims=one.claims,
                frees=one.frees,
            )
        except StaleError as error:
            found.append(error)
        else:
            found.append(head)
    return found
