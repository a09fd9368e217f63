"""Entries chained by hash: a changed, missing or reordered one is found by reading on.

    hash(n) = blake2b(hash(n-1) ‖ header(n) ‖ body(n))

The header holds everything a row says beside its body (number, moment, actor, kind, target), so
that no column of a table can be changed unnoticed either. The first entry follows the hash of its
partition's name: entries cannot be moved between partitions.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b

import msgspec

from tidegate.journal.fact import Fact, decode, tag_of
from tidegate.model.time import Instant

# 128 bits: a second preimage is out of reach, and a million entries cost 16 MB of hashes.
HASH_BYTES = 16

# What is hashed. Lengths first, so that no two entries look alike, whatever their names hold.
SEALED = b"%b%d|%d|%d|%b|%b|%d|%b|%b"
_FRESH = blake2b(digest_size=HASH_BYTES)
# Sets in one order: the same facts make the same chain in every process.
_encode = msgspec.json.Encoder(order="deterministic").encode


class JournalEntry(msgspec.Struct, frozen=True, gc=False):
    """One fact in its place in a partition's chain."""

    seq: int
    at: Instant
    actor: str
    kind: str  # the fact's tag
    target: str  # the target it is about, where it is one; for filters
    body: bytes
    hash: bytes

    def fact(self) -> Fact:
        """The fact itself."""
        return decode(self.kind, self.body)


class JournalNote(msgspec.Struct, frozen=True, gc=False):
    """A fact to be recorded, with its moment and its actor."""

    at: Instant
    actor: str
    fact: Fact


def genesis(partition: str) -> bytes:
    """What the first entry of a partition follows."""
    return blake2b(partition.encode(), digest_size=HASH_BYTES).digest()


def seal(prev: bytes, seq: int, at: int, actor: str, kind: str, target: str, body: bytes) -> bytes:
    """The hash of an entry."""
    by, about = actor.encode(), target.encode()
    total = _FRESH.copy()  # half the cost of a new one
    total.update(SEALED % (prev, seq, at, len(by), by, kind.encode(), len(about), about, body))
    return total.digest()


def link(prev: bytes, first_seq: int, notes: Iterable[JournalNote]) -> Iterator[JournalEntry]:
    """Append notes to the chain."""
    for seq, note in enumerate(notes, start=first_seq):
        body = _encode(note.fact)
        kind = tag_of(note.fact)
        target = getattr(note.fact, "target", "") or ""
        prev = seal(prev, seq, note.at, note.actor, kind, target, body)
        yield JournalEntry(seq, note.at, note.actor, kind, target, body, prev)


class Break(msgspec.Struct, frozen=True):
    """Where a chain does not hold."""

    seq: int
    what: str


def verify(prev: bytes, first_seq: int, entries: Iterable[JournalEntry]) -> Break | None:
    """The first place where the chain does not hold; None if it does."""
    seq = first_seq - 1
    for entry in entries:
        broken = follows(prev, seq, entry)
        if broken is not None:
            return broken
        prev, seq = entry.hash, entry.seq
    return None


def follows(prev: bytes, seq: int, entry: JournalEntry) -> Break | None:
    """What is wrong with an entry behind another one, given by its hash and number."""
    expected = seq + 1
    if entry.seq != expected:
        word = "missing" if entry.seq > expected else "twice or out of order"
        return Break(expected, f"entry {expected} is {word}: found {entry.seq}")
    found = seal(prev, entry.seq, entry.at, entry.actor, entry.kind, entry.target, entry.body)
    if found != entry.hash:
        return Break(entry.seq, f"entry {entry.seq} was changed, or the one before it")
    return None
