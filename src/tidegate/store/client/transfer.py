"""A journal in pieces, out of one database and into another."""

from collections.abc import Iterable, Iterator

from tidegate.journal.chain import JournalEntry
from tidegate.journal.pieces import Chain, Claimed, Piece
from tidegate.store.client import rules
from tidegate.store.client.database import Driver
from tidegate.store.client.partition import find_all, lock
from tidegate.store.client.places import find_claims, queue, take
from tidegate.store.client.rows import (
    PAGE_BYTES,
    PAGE_ENTRIES_MAX,
    Pages,
    insert_entries,
    select_entries,
)
from tidegate.store.port import TakenPlace

_ADOPT = (
    "UPDATE journal_partitions"
    " SET seq = ?, hash = ?, base_seq = ?, base_hash = ?, token = ? WHERE id = ?"
)


def dump(driver: Driver) -> Iterator[Piece]:
    """Every chain with its entries, then every claim."""
    for found in find_all(driver):
        yield found.chain()
        pages = Pages(found.base.seq, found.head.seq)
        for after, up_to in pages:
            page = select_entries(driver, found.id, after, up_to)
            pages.weighed(len(page), sum(len(entry.body) for entry in page))
            yield from page
    for claim in find_claims(driver):
        yield Claimed(claim.name, claim.place, claim.partition, claim.key, claim.at)


def adopt(driver: Driver, pieces: Iterable[Piece]) -> None:
    """Store pieces; the caller has checked that the chains are valid."""
    partition_id = 0
    for group in _grouped(pieces):
        if isinstance(group, Chain):
            partition_id = _adopt_chain(driver, group)
        elif isinstance(group, Claimed):
            claim = TakenPlace(group.name, group.place, group.partition, group.key, group.at)
            # Locked after the partitions, as everywhere: so two writers never wait for each other.
            queue(driver)
            take(driver, (claim,))
        else:
            insert_entries(driver, partition_id, group)


def _grouped(pieces: Iterable[Piece]) -> Iterator[Chain | Claimed | list[JournalEntry]]:
    """The same pieces, with entries that follow each other in lists."""
    batch: list[JournalEntry] = []
    weight = 0
    for piece in pieces:
        if isinstance(piece, JournalEntry):
            batch.append(piece)
            weight += len(piece.body)
            if len(batch) < PAGE_ENTRIES_MAX and weight < PAGE_BYTES:
                continue
        if batch:
            yield batch
        batch, weight = [], 0
        if not isinstance(piece, JournalEntry):
            yield piece
    if batch:
        yield batch


def _adopt_chain(driver: Driver, chain: Chain) -> int:
    """Make room for a chain, and say under which number."""
    rules.check_names(chain.partition)
    found = lock(driver, chain.partition)
    rules.check_adoption(chain.partition, found.head.seq)
    # A token of the other journal must not count as a newer one here.
    token = max(found.lease.token, chain.token)
    values = (chain.seq, chain.hash, chain.base_seq, chain.base_hash, token, found.id)
    driver.execute(_ADOPT, values)
    return found.id
