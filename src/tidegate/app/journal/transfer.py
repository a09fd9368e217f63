"""The journal elsewhere, whole and checked: exported, imported and backed up."""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from pathlib import Path

from tidegate.journal.chain import JournalEntry
from tidegate.journal.lines import write_lines
from tidegate.journal.pieces import Chain, Piece
from tidegate.model.document import Document
from tidegate.store.archive_port import Archive
from tidegate.store.port import Tell


class ImportReport(Document, frozen=True, kw_only=True):
    """What was imported, or could be."""

    partitions: int
    entries: int
    claims: int
    dry_run: bool


class BackupReport(Document, frozen=True, kw_only=True):
    """The file that a journal was copied to."""

    file: str


def export_lines(archive: Archive, tell: Tell | None = None) -> Generator[bytes, None, None]:
    """The journal as JSON lines, as it is at this moment: chains, entries and claims."""
    with closing(archive.dump()) as pieces:
        yield from write_lines(_told(pieces, tell))


def import_journal(
    pieces: Iterable[Piece], archive: Archive | None, tell: Tell | None = None
) -> ImportReport:
    """Take in a journal, all or nothing; without an archive, only check that it could be.

    UserError at the first piece that does not follow from the one before it.
    """
    counts: Counter[type] = Counter()
    passing = _tallied(_told(pieces, tell), counts)
    if archive is None:
        for _ in passing:
            pass
    else:
        archive.adopt(passing)
    chains, entries = counts[Chain], counts[JournalEntry]
    return ImportReport(
        partitions=chains,
        entries=entries,
        claims=counts.total() - chains - entries,
        dry_run=archive is None,
    )


def backup_journal(archive: Archive, file: Path, tell: Tell | None = None) -> BackupReport:
    """Copy the file of a journal into a new one, while others write to it."""
    archive.backup(file, tell)
    return BackupReport(file=str(file))


def _told(pieces: Iterable[Piece], tell: Tell | None) -> Iterator[Piece]:
    for piece in pieces:
        if tell is not None:
            tell(isinstance(piece, JournalEntry))
        yield piece


def _tallied(pieces: Iterable[Piece], counts: Counter[type]) -> Iterator[Piece]:
    for piece in pieces:
        counts[type(piece)] += 1
        yield piece
