"""The journal in memory: for rehearsals and tests, with the contract of the databases.

It is gone with the process, and written to be read: what the databases do with locks and statements
is done here with plain lists and dictionaries.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import RLock

from tidegate.journal.chain import Break, JournalEntry, JournalNote, genesis, link, verify
from tidegate.journal.lease import KeptLease, Lease, LeaseRequest, Look
from tidegate.journal.pieces import Chain, Claimed, Piece
from tidegate.journal.selection import EntryFilter, matches
from tidegate.model.errors import StaleError, UserError
from tidegate.model.problem import Problem
from tidegate.model.time import Duration, Instant
from tidegate.store.archive_port import LOOK_ENTRIES_MAX, JournalSnapshot, SeenPartition
from tidegate.store.client import rules
from tidegate.store.port import Append, Head, LostClaimError, TakenPlace, Tell, append_each

_Places = dict[tuple[str, int], TakenPlace]


class _Partition:
    """One chain, its start, its lease, and the last projection."""

    def __init__(self, name: str, base: Head | None = None, token: int = 0) -> None:
        self.base = base or Head(0, genesis(name))
        self.entries: list[JournalEntry] = []
        self.record = KeptLease(Lease(name, "", token, Instant(0)))
        self.projection: tuple[int, bytes] | None = None

    @property
    def lease(self) -> Lease:
        return self.record.lease

    @property
    def head(self) -> Head:
        if not self.entries:
            return self.base
        return Head(self.entries[-1].seq, self.entries[-1].hash)

    def chain(self, name: str) -> Chain:
        base, head = self.base, self.head
        return Chain(name, base.seq, base.hash, head.seq, head.hash, self.lease.token)


class MemoryStore:
    """A journal in memory, and its care."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._partitions: dict[str, _Partition] = {}
        self._claims: _Places = {}

    def _partition(self, name: str) -> _Partition:
        return self._partitions.setdefault(name, _Partition(name))

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
        """Write facts behind the chain's end, all or none."""
        rules.check_names(partition)
        rules.check_notes(notes)
        rules.check_claims(claims, frees)
        with self._lock:
            found = self._partition(partition)
            rules.check_after(partition, found.head, after)
            rules.check_token(partition, found.lease, token)
            left = {k: c for k, c in self._claims.items() if c.key not in frees}
            taken = _taken(left, claims)
            written = list(link(found.head.hash, found.head.seq + 1, notes))
            self._claims = taken
            found.entries += written
            return found.head

    def append_many(self, appends: Sequence[Append]) -> list[Head | StaleError]:
        """Several appends, one after the other; each is written or refused by itself."""
        return append_each(self, appends)

    def read(
        self, partition: str, *, after: int = 0, limit: int | None = None
    ) -> Iterator[JournalEntry]:
        """The entries of a partition behind a number, in order, up to its present end."""
        with self._lock:
            found = self._partitions.get(partition)
            first = max(after - found.base.seq, 0) if found else 0
            last = None if limit is None else first + max(limit, 0)
            page = found.entries[first:last] if found else []
        yield from page

    def head(self, partition: str) -> Head:
        """The end of a chain; of an empty one, number 0 and the genesis hash."""
        with self._lock:
            found = self._partitions.get(partition)
            return found.head if found else Head(0, genesis(partition))

    def heads(self) -> dict[str, int]:
        """The number of the last entry of every partition."""
        with self._lock:
            ends = {name: found.head.seq for name, found in self._partitions.items()}
        return {name: seq for name, seq in sorted(ends.items()) if seq}

    def partitions(self) -> list[str]:
        """The names of all partitions, in order."""
        return sorted(self.heads())

    def save(self, partition: str, seq: int, state: bytes) -> None:
        """Keep a projection, unless one of a later entry is kept."""
        rules.check_names(partition)
        with self._lock:
            found = self._partition(partition)
            rules.check_projection(partition, found.head.seq, seq)
            if found.projection is None or found.projection[0] <= seq:
                found.projection = (seq, state)

    def load(self, partition: str) -> tuple[int, bytes] | None:
        """The projection kept last, with the number of the entry it includes."""
        with self._lock:
            found = self._partitions.get(partition)
            return found.projection if found else None

    def lease(
        self,
        partition: str,
        holder: str,
        now: Instant,
        term: Duration,
        look: Look | None = None,
    ) -> Lease | None:
        """Take or renew a lease; None if another holder has it."""
        rules.check_names(partition, holder)
        with self._lock:
            found = self._partition(partition)
            record = rules.next_record(found.record, holder, now, term, look)
            found.record = record or found.record
            return None if record is None else record.lease

    def release(self, lease: Lease, look: Look | None = None) -> None:
        """Give a lease back; the token stays used, and so does the last look."""
        with self._lock:
            found = self._partition(lease.partition)
            found.record = rules.released(found.record, lease, look) or found.record

    def renew(
        self, holder: str, looks: Mapping[str, Look], now: Instant, term: Duration
    ) -> dict[str, KeptLease]:
        """Renew many leases at once; one that is missing is lost."""
        done: dict[str, KeptLease] = {}
        with self._lock:
            for name, look in looks.items():
                found = self._partition(name)
                record = rules.renewed(found.record, holder, now, term, look)
                if record is not None:
                    found.record = done[name] = record
        return done

    def take_many(
        self, holder: str, looks: Mapping[str, Look], now: Instant, term: Duration
    ) -> dict[str, Lease]:
        """Take many leases at once; one that is missing has another holder."""
        with self._lock:
            found = (
                (name, self.lease(name, holder, now, term, look)) for name, look in looks.items()
            )
            return {name: lease for name, lease in found if lease is not None}

    def release_many(self, leases: Sequence[tuple[Lease, Look]]) -> None:
        """Give many leases back at once."""
        with self._lock:
            for lease, look in leases:
                self.release(lease, look)

    def wish(self, partitions: Sequence[str], wish: LeaseRequest, now: Instant) -> None:
        """Ask the holders of some leases for them."""
        rules.check_names(wish.by)
        with self._lock:
            for name in partitions:
                found = self._partition(name)
                found.record = rules.wished(found.record, wish, now) or found.record

    def leases(self) -> dict[str, KeptLease]:
        """Every lease that was ever given out."""
        with self._lock:
            every = sorted(self._partitions.items())
            return {name: found.record for name, found in every if found.lease.token}

    def claims(self) -> list[TakenPlace]:
        """All claims there are."""
        with self._lock:
            return [self._claims[place] for place in sorted(self._claims)]

    def compact(
        self,
        partition: str,
        note: JournalNote,
        *,
        keep_after: int,
        after: Head | None = None,
        token: int | None = None,
    ) -> Head:
        """Append a Folded fact, then drop the entries up to `keep_after`."""
        with self._lock:
            found = self._partition(partition)
            rules.check_after(partition, found.head, after)
            rules.check_token(partition, found.lease, token)
            rules.check_compaction(partition, note, found.head.seq, keep_after)
            head = self.append(partition, (note,))
            dropped = max(keep_after - found.base.seq, 0)
            if dropped:
                last = found.entries[dropped - 1]
                found.base = Head(last.seq, last.hash)
                found.entries = found.entries[dropped:]
            return head

    def chains(self) -> list[Chain]:
        """Every chain from its first kept entry to its last, by name."""
        with self._lock:
            return [self._partitions[name].chain(name) for name in self.partitions()]

    def look(self, after: Mapping[str, int], *, claims: bool = False) -> JournalSnapshot:
        """All partitions, and the entries behind these numbers."""
        with self._lock:
            seen = {
                name: SeenPartition(each.chain(name), each.record)
                for name, each in sorted(self._partitions.items())
            }
            found = {name: list(self.read(name, after=seq)) for name, seq in after.items()}
            held = self.claims() if claims else None
        few = {name: some for name, some in found.items() if 0 < len(some) <= LOOK_ENTRIES_MAX}
        whole = {name: some for name, some in few.items() if some[0].seq == after[name] + 1}
        return JournalSnapshot(seen, whole, held)

    def find(
        self, partition: str, wanted: EntryFilter, *, after: int = 0
    ) -> Iterator[JournalEntry]:
        """The entries behind a number that are wanted, in order."""
        return (entry for entry in self.read(partition, after=after) if matches(wanted, entry))

    def verify(self, partition: str, tell: Tell | None = None) -> Break | None:
        """The first entry that was changed, is missing or out of order; None if none is."""
        with self._lock:
            found = self._partition(partition)
            base, entries = found.base, list(found.entries)
        if tell is not None:
            tell(len(entries))
        return verify(base.hash, base.seq + 1, entries)

    def dump(self) -> Generator[Piece, None, None]:
        """The whole journal as it is at one moment."""
        with self._lock:
            held = [Claimed(c.name, c.place, c.partition, c.key, c.at) for c in self.claims()]
            chains = [(each, list(self.read(each.partition))) for each in self.chains()]
        for each, entries in chains:
            yield each
            yield from entries
        yield from held

    def adopt(self, pieces: Iterable[Piece]) -> None:
        """Take in what another journal dumped, all or nothing."""
        with self._lock:
            chains: dict[str, _Partition] = {}
            claims = self._claims
            name = ""
            for piece in pieces:
                if isinstance(piece, Chain):
                    name = piece.partition
                    chains[name] = self._adopt_chain(piece)
                elif isinstance(piece, JournalEntry):
                    chains[name].entries.append(piece)
                else:
                    claim = TakenPlace(
                        piece.name, piece.place, piece.partition, piece.key, piece.at
                    )
                    claims = _taken(claims, (claim,))
            self._partitions |= chains
            self._claims = claims

    def _adopt_chain(self, chain: Chain) -> _Partition:
        rules.check_names(chain.partition)
        here = self._partitions.get(chain.partition)
        rules.check_adoption(chain.partition, here.head.seq if here else 0)
        token = max(chain.token, here.lease.token if here else 0)
        return _Partition(chain.partition, Head(chain.base_seq, chain.base_hash), token)

    def backup(self, path: Path, tell: Tell | None = None) -> None:  # noqa: ARG002
        """There is no file to copy."""
        raise UserError((Problem(str(path), "memory cannot be copied", "export it"),))

    def close(self) -> None:
        """Nothing is held open."""


def _taken(places: _Places, wanted: Sequence[TakenPlace]) -> _Places:
    """The places with the wanted ones added; LostClaimError if another task has one."""
    places = dict(places)
    held = [places.setdefault((claim.name, claim.place), claim) for claim in wanted]
    mine = zip(held, wanted, strict=True)
    lost = [has for has, wants in mine if (has.partition, has.key) != (wants.partition, wants.key)]
    if lost:
        raise LostClaimError(tuple(lost))
    return places
