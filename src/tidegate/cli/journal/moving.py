"""`tidegate journal export`, `import` and `backup`: the journal elsewhere, whole and checked."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO

import click

from tidegate.cli.journal import opened
from tidegate.cli.progress import Progress
from tidegate.cli.setting_options import database_option
from tidegate.cli.shape import Command
from tidegate.journal.chain import Entry
from tidegate.journal.lines import read_lines, write_lines
from tidegate.journal.pieces import Chain, Piece, check_pieces
from tidegate.wiring import is_database


@click.command(
    cls=Command,
    examples="""
    tidegate journal export journal.jsonl
    tidegate journal export | gzip > journal.jsonl.gz
    """,
)
@click.argument("file", type=click.File("wb", atomic=True), default="-")
@database_option
def export(file: IO[bytes], database: str) -> None:
    """Write the journal as JSON lines, as it is at this moment: chains, entries and claims."""
    with opened(database) as archive:
        total = sum(chain.kept for chain in archive.chains())
        with Progress("exported", total) as progress, closing(archive.dump()) as pieces:
            for line in write_lines(_counted(pieces, progress)):
                file.write(line)


@click.command(
    "import",
    cls=Command,
    examples="""
    tidegate journal import journal.jsonl
    tidegate journal import backup.db --database postgresql://tidegate@db/tidegate
    gunzip -c journal.jsonl.gz | tidegate journal import - --dry-run
    """,
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--dry-run", is_flag=True, help="Only check that it could be imported.")
@database_option
def import_(file: str, dry_run: bool, database: str) -> None:
    """Read a journal that was exported, or the file of one, into a database without it.

    Every chain is verified while it is read. If one fails, nothing is imported, and the exit
    code is 2.
    """
    counts: Counter[type] = Counter()
    with ExitStack() as stack:
        progress = stack.enter_context(Progress("read"))
        pieces = _tallied(_counted(_pieces(file, stack), progress), counts)
        if dry_run:
            for _ in pieces:
                pass
        else:
            stack.enter_context(opened(database, writes=True)).adopt(pieces)
    chains, entries = counts[Chain], counts[Entry]
    claims = counts.total() - chains - entries
    did = "could import" if dry_run else "imported"
    click.echo(f"{did} {chains} partitions, {entries} entries, {claims} claims", err=True)


def _pieces(file: str, stack: ExitStack) -> Iterable[Piece]:
    """The pieces of a journal in either form, each checked before it is handed on."""
    if file == "-":
        return read_lines(sys.stdin.buffer)
    if is_database(Path(file)):
        dumped = stack.enter_context(opened(file)).dump()
        return check_pieces(stack.enter_context(closing(dumped)))
    return read_lines(stack.enter_context(Path(file).open("rb")))


def _counted(pieces: Iterable[Piece], progress: Progress) -> Iterator[Piece]:
    for piece in pieces:
        progress.tell(isinstance(piece, Entry))
        yield piece


def _tallied(pieces: Iterable[Piece], counts: Counter[type]) -> Iterator[Piece]:
    for piece in pieces:
        counts[type(piece)] += 1
        yield piece


@click.command(
    cls=Command,
    examples="""
    tidegate journal backup journal-2026-11-15.db
    tidegate journal verify --database journal-2026-11-15.db
    """,
)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@database_option
def backup(file: Path, database: str) -> None:
    """Copy the file of a journal into a new one, while others write to it."""
    with opened(database) as archive, Progress("copied pages") as progress:
        archive.backup(file, progress.tell)
    click.echo(f"wrote {file}", err=True)
