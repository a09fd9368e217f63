"""The chains of a journal, each verified from its first kept entry to its last."""

from collections.abc import Sequence

from tidegate.journal.chain import Break
from tidegate.journal.pieces import Chain
from tidegate.model.document import Document, Part
from tidegate.model.errors import NotFoundError
from tidegate.model.problem import nearest_or_all
from tidegate.store.archive_port import Archive
from tidegate.store.port import Tell


class BrokenLink(Part, frozen=True):
    """The first entry that does not follow from the one before it."""

    seq: int
    what: str


class ChainRow(Part, frozen=True):
    """One chain: how long it is, and whether it holds."""

    partition: str
    entries: int
    # How many older entries were compacted away.
    dropped: int
    seq: int
    # Of the last entry: kept elsewhere, it shows whether the whole chain was rebuilt.
    hash: str
    ok: bool
    broken: BrokenLink | None


class ChainList(Document, frozen=True, kw_only=True):
    """Whether an entry of a journal was changed, moved or removed."""

    items: tuple[ChainRow, ...]


def chains_of(archive: Archive, partitions: Sequence[str] = ()) -> list[Chain]:
    """The chains of these partitions, or all; NotFoundError names the nearest to a mistake."""
    for name in partitions:
        known_partition(archive, name)
    return [each for each in archive.chains() if not partitions or each.partition in partitions]


def known_partition(archive: Archive, name: str) -> str:
    """The name of a partition that is there; a mistake is answered with the nearest."""
    names = archive.partitions()
    if name not in names:
        raise NotFoundError("partition", name, nearest_or_all(name, names, "none yet"))
    return name


def verify_chains(archive: Archive, chains: Sequence[Chain], tell: Tell | None = None) -> ChainList:
    """Check that no entry of these chains was changed, moved or removed."""
    return ChainList(
        items=tuple(_row(each, archive.verify(each.partition, tell)) for each in chains)
    )


def _row(chain: Chain, broken: Break | None) -> ChainRow:
    return ChainRow(
        partition=chain.partition,
        entries=chain.kept,
        dropped=chain.base_seq,
        seq=chain.seq,
        hash=chain.hash.hex(),
        ok=broken is None,
        broken=None if broken is None else BrokenLink(seq=broken.seq, what=broken.what),
    )
