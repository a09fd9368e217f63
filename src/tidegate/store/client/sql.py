"""The journal in SQLite or PostgreSQL: one unit of work is one transaction.

An append locks its partition's row, compares what the caller believes with what is there, takes the
claims, writes the entries and moves the row on. The second of two writers sees the row moved. In
SQLite the lock is the database's own; in PostgreSQL it is `FOR UPDATE`, and one more lock for all
claims, so that two writers cannot wait for each other.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from tidegate.journal.chain import Break, JournalEntry, JournalNote, genesis, link
from tidegate.journal.lease import KeptLease, Lease, LeaseRequest, Look
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.time import Duration, Instant
from tidegate.store.client import rules
from tidegate.store.client.database import Database, Driver
from tidegate.store.client.partition import (
    Partition,
    find,
    find_heads,
    find_leases,
    keep_lease,
    keep_many,
    lock,
    lock_many,
    make_missing,
    move_base,
    move_head,
)
from tidegate.store.client.places import find_claims, free, queue, take
from tidegate.store.client.rows import Pages, insert_entries, select_entries, verify_stretch
from tidegate.store.port import Append, Head, TakenPlace, Tell

# Leases that are renewed in one transaction: some ten milliseconds, for which their rounds wait.
RENEWED_MAX = 1_000
_KEPT = "SELECT seq FROM journal_projections WHERE partition_id = ?"
_KEEP = "INSERT INTO journal_projections (seq, state, partition_id) VALUES (?, ?, ?)"
_KEEP_LATER = "UPDATE journal_projections SET seq = ?, state = ? WHERE partition_id = ?"
_LOAD = (
    "SELECT kept.seq, kept.state FROM journal_projections AS kept"
    " JOIN journal_partitions AS found ON found.id = kept.partition_id WHERE found.name = ?"
)
_HASH = "SELECT hash FROM journal_entries WHERE partition_id = ? AND seq = ?"
_DROP = "DELETE FROM journal_entries WHERE partition_id = ? AND seq <= ?"
_ENDS = "SELECT min(seq), max(seq) FROM journal_entries WHERE partition_id = ?"


class SqlStore:
    """A journal in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

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
        if not notes and not claims and not frees:
            known = self._find(partition)
            if known is not None:  # a reader need not wait for writers
                rules.check_after(partition, known.head, after)
                rules.check_token(partition, known.lease, token)
                return known.head
        if not claims and not frees:
            with self._database.appending() as driver:
                return _append(driver, partition, notes, after, token)
        with self._database.appending() as driver:
            found = _lock(driver, partition, after, token)
            queue(driver)
            free(driver, frees)
            take(driver, claims)
            return _write(driver, found, notes)

    def append_many(self, appends: Sequence[Append]) -> list[Head | StaleError]:
        """Several appends in one transaction; each is written or refused by itself.

        Those with claims are a transaction each: they queue for a lock that all claims share, and
        must not do so with the locks of other partitions in hand.
        """
        for one in appends:
            rules.check_names(one.partition)
            rules.check_notes(one.notes)
            rules.check_claims(one.claims, one.frees)
        alone = [one for one in appends if one.claims or one.frees]
        found = {id(one): self._alone(one) for one in alone}
        rest = [one for one in appends if id(one) not in found]
        if rest:
            with self._database.appending() as driver:
                for one in sorted(rest, key=lambda each: each.partition):
                    found[id(one)] = _tried(driver, one)
        return [found[id(one)] for one in appends]

    def _alone(self, one: Append) -> Head | StaleError:
        try:
            return self.append(
                one.partition,
                one.notes,
                after=one.after,
                token=one.token,
                claims=one.claims,
                frees=one.frees,
            )
        except StaleError as error:
            return error

    def read(
        self, partition: str, *, after: int = 0, limit: int | None = None
    ) -> Iterator[JournalEntry]:
        """The entries of a partition behind a number, in order, up to its present end."""
        found = self._find(partition)
        if found is None:
            return
        first = max(after, found.base.seq)
        last = found.head.seq if limit is None else min(found.head.seq, first + limit)
        pages = Pages(first, last)
        for start, end in pages:
            with self._database.asking() as driver:
                page = select_entries(driver, found.id, start, end)
            if len(page) != end - start:
                self._explain_gap(found)
            pages.weighed(len(page), sum(len(entry.body) for entry in page))
            yield from page

    def _find(self, partition: str) -> Partition | None:
        with self._database.asking() as driver:
            return find(driver, partition)

    def _explain_gap(self, before: Partition) -> None:
        now = self._find(before.name)
        if now is not None and now.base != before.base:
            raise StaleError(f"{before.name}: it was compacted meanwhile; read it again")
        remedy = "`tidegate journal verify` says which"
        raise OutsideError(f"{self._database.name}: {before.name}: entries are missing; {remedy}")

    def head(self, partition: str) -> Head:
        """The end of a chain; of an empty one, number 0 and the genesis hash."""
        found = self._find(partition)
        return found.head if found is not None else Head(0, genesis(partition))

    def heads(self) -> dict[str, int]:
        """The number of the last entry of every partition."""
        with self._database.asking() as driver:
            return find_heads(driver)

    def partitions(self) -> list[str]:
        """The names of all partitions, in order."""
        return list(self.heads())

    def verify(self, partition: str, tell: Tell | None = None) -> Break | None:
        """The first entry that was changed, is missing or out of order; None if none is."""
        with self._database.snapshot() as driver:
            found = find(driver, partition)
            if found is None:
                return None
            prev = found.base.hash
            pages = Pages(found.base.seq, found.head.seq)
            for after, up_to in pages:
                stretch = verify_stretch(driver, found.id, prev, after, up_to)
                if stretch.broken is not None:
                    return stretch.broken
                prev = stretch.hash
                pages.weighed(up_to - after, stretch.weight)
                if tell is not None:
                    tell(up_to - after)
            return _verify_ends(driver, found, prev)

    def save(self, partition: str, seq: int, state: bytes) -> None:
        """Keep a projection, unless one of a later entry is kept."""
        rules.check_names(partition)
        with self._database.appending() as driver:
            found = lock(driver, partition)
            rules.check_projection(partition, found.head.seq, seq)
            kept = driver.execute(_KEPT, (found.id,)).fetchone()
            if kept is None or kept[0] <= seq:
                driver.execute(_KEEP if kept is None else _KEEP_LATER, (seq, state, found.id))

    def load(self, partition: str) -> tuple[int, bytes] | None:
        """The projection kept last, with the number of the entry it includes."""
        with self._database.asking() as driver:
            row = driver.execute(_LOAD, (partition,)).fetchone()
        return None if row is None else (row[0], bytes(row[1]))

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
        known = self._find(partition)
        if known is not None and rules.next_record(known.record, holder, now, term, look) is None:
            return None  # workers that follow ask once a second: they wait for no writer
        with self._database.appending() as driver:
            found = lock(driver, partition)
            record = rules.next_record(found.record, holder, now, term, look)
            if record is None:
                return None
            keep_lease(driver, found, record)
            return record.lease

    def release(self, lease: Lease, look: Look | None = None) -> None:
        """Give a lease back; the token stays used, and so does the last look."""
        with self._database.appending() as driver:
            found = lock(driver, lease.partition)
            record = rules.released(found.record, lease, look)
            if record is not None:
                keep_lease(driver, found, record)

    def renew(
        self, holder: str, looks: Mapping[str, Look], now: Instant, term: Duration
    ) -> dict[str, KeptLease]:
        """Renew many leases at once; one that is missing is lost."""
        rules.check_names(holder)
        return self._kept_many(
            list(looks),
            lambda found: rules.renewed(found.record, holder, now, term, looks[found.name]),
        )

    def take_many(
        self, holder: str, looks: Mapping[str, Look], now: Instant, term: Duration
    ) -> dict[str, Lease]:
        """Take many leases at once; one that is missing has another holder."""
        rules.check_names(holder, *looks)
        with self._database.appending() as driver:
            make_missing(driver, sorted(looks))
        done = self._kept_many(
            list(looks),
            lambda found: rules.next_record(found.record, holder, now, term, looks[found.name]),
        )
        return {name: record.lease for name, record in done.items()}

    def release_many(self, leases: Sequence[tuple[Lease, Look]]) -> None:
        """Give many leases back at once."""
        known = {lease.partition: (lease, look) for lease, look in leases}
        self._kept_many(list(known), lambda found: rules.released(found.record, *known[found.name]))

    def wish(self, partitions: Sequence[str], wish: LeaseRequest, now: Instant) -> None:
        """Ask the holders of some leases for them."""
        rules.check_names(wish.by)
        self._kept_many(partitions, lambda found: rules.wished(found.record, wish, now))

    def _kept_many(
        self, names: Sequence[str], change: Callable[[Partition], KeptLease | None]
    ) -> dict[str, KeptLease]:
        """Change the records of many leases, where they are to be; those that were."""
        done: dict[str, KeptLease] = {}
        for first in range(0, len(names), RENEWED_MAX):
            with self._database.appending() as driver:
                locked = lock_many(driver, names[first : first + RENEWED_MAX])
                changed = [(one, made) for one in locked if (made := change(one)) is not None]
                keep_many(driver, changed)
            done |= {one.name: record for one, record in changed}
        return done

    def leases(self) -> dict[str, KeptLease]:
        """Every lease that was ever given out."""
        with self._database.asking() as driver:
            return find_leases(driver)

    def claims(self) -> list[TakenPlace]:
        """All claims there are."""
        with self._database.asking() as driver:
            return find_claims(driver)

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
        rules.check_notes((note,))
        with self._database.appending() as driver:
            found = _lock(driver, partition, after, token)
            rules.check_compaction(partition, note, found.head.seq, keep_after)
            head = _write(driver, found, (note,))
            if keep_after > found.base.seq:
                self._drop(driver, found, keep_after)
            return head

    def _drop(self, driver: Driver, found: Partition, up_to: int) -> None:
        kept = driver.execute(_HASH, (found.id, up_to)).fetchone()
        if kept is None:
            raise OutsideError(f"{self._database.name}: {found.name}: entry {up_to} is missing")
        driver.execute(_DROP, (found.id, up_to))
        move_base(driver, found, Head(up_to, bytes(kept[0])))

    def close(self) -> None:
        """Close the database."""
        self._database.close()


def _lock(driver: Driver, partition: str, after: Head | None, token: int | None) -> Partition:
    """A partition, locked, if its chain and its lease are what the writer believes."""
    found = lock(driver, partition)
    rules.check_after(partition, found.head, after)
    rules.check_token(partition, found.lease, token)
    return found


def _append(
    driver: Driver,
    partition: str,
    notes: Sequence[JournalNote],
    after: Head | None,
    token: int | None,
) -> Head:
    return _write(driver, _lock(driver, partition, after, token), notes)


def _tried(driver: Driver, one: Append) -> Head | StaleError:
    """One append of several; whether it is refused is known before anything is written."""
    try:
        return _append(driver, one.partition, one.notes, one.after, one.token)
    except StaleError as error:
        return error


def _write(driver: Driver, found: Partition, notes: Sequence[JournalNote]) -> Head:
    """Put notes behind a partition's end, and move its row on."""
    if not notes:
        return found.head
    written = list(link(found.head.hash, found.head.seq + 1, notes))
    insert_entries(driver, found.id, written)
    head = Head(written[-1].seq, written[-1].hash)
    move_head(driver, found, head)
    return head


def _verify_ends(driver: Driver, found: Partition, last: bytes) -> Break | None:
    """A valid chain must also begin and end where its partition says."""
    if last != found.head.hash:
        what = f"entry {found.head.seq} is another one than the chain ends with"
        return Break(found.head.seq, what)
    first_seq, last_seq = driver.execute(_ENDS, (found.id,)).fetchone()
    if first_seq is not None and first_seq <= found.base.seq:
        return Break(first_seq, f"entry {first_seq} is there, though it was dropped")
    if last_seq is not None and last_seq > found.head.seq:
        return Break(last_seq, f"entry {last_seq} is there, though the chain ends before it")
    return None
