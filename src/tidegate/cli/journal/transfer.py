"""`tidegate journal export`, `import` and `backup`: the journal elsewhere, whole and checked."""

import sys
from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO

import click

from tidegate.app.journal.transfer import backup_journal, export_lines, import_journal
from tidegate.cli.answers.place import own_journal_option
from tidegate.cli.live import opened
from tidegate.cli.render.progress import Progress
from tidegate.cli.shape import Command
from tidegate.journal.lines import read_lines
from tidegate.journal.pieces import Piece, check_pieces
from tidegate.model.counted import counted
from tidegate.wiring import is_database


@click.command(
    cls=Command,
    examples="""
    tidegate journal export journal.jsonl
    tidegate journal export | gzip > journal.jsonl.gz
    """,
)
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True), default="-")
@own_journal_option
def export(file: str, database: str) -> None:
    """Write the journal as JSON lines, as it is at this moment: chains, entries and claims."""
    with opened(database) as archive, _written(file) as out:
        total = sum(chain.kept for chain in archive.chains())
        with (
            Progress("exported", total) as progress,
            closing(export_lines(archive, progress.tell)) as lines,
        ):
            for line in lines:
                out.write(line)
    if file != "-":
        click.echo(f"wrote {file}", err=True)


def _written(file: str) -> IO[bytes]:
    """A file that is there once it is whole, or standard output."""
    try:
        return click.open_file(file, "wb", atomic=True)
    except OSError as error:
        raise click.BadParameter(f"{file}: {(error.strerror or str(error)).lower()}") from None


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
@own_journal_option
def import_(file: str, dry_run: bool, database: str) -> None:
    """Read a journal that was exported, or the file of one, into a database without it.

    Every chain is verified while it is read. If one fails, nothing is imported, and the exit
    code is 2.
    """
    with ExitStack() as stack:
        progress = stack.enter_context(Progress("read"))
        pieces = _pieces(file, stack)
        archive = (
            None if dry_run else stack.enter_context(opened(database, writes=True, creates=True))
        )
        found = import_journal(pieces, archive, progress.tell)
    did = "could import" if found.dry_run else "imported"
    counts = (
        counted(found.partitions, "partition"),
        counted(found.entries, "entry", "entries"),
        counted(found.claims, "claim"),
    )
    click.echo(f"{did} {', '.join(counts)}", err=True)


def _pieces(file: str, stack: ExitStack) -> Iterable[Piece]:
    """The pieces of a journal in either form, each checked before it is handed on."""
    if file == "-":
        return read_lines(sys.stdin.buffer)
    if is_database(Path(file)):
        dumped = stack.enter_context(opened(file)).dump()
        return check_pieces(stack.enter_context(closing(dumped)))
    return read_lines(stack.enter_context(Path(file).open("rb")))


@click.command(
    cls=Command,
    examples="""
    tidegate journal backup journal-2026-11-15.db
    tidegate journal verify --database journal-2026-11-15.db
    """,
)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@own_journal_option
def backup(file: Path, database: str) -> None:
    """Copy the file of a journal into a new one, while others write to it."""
    with opened(database) as archive, Progress("copied pages") as progress:
        found = backup_journal(archive, file, progress.tell)
    click.echo(f"wrote {found.file}", err=True)
