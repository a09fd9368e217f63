"""`tidegate validate`: everything that is wrong with a bundle, all at once."""

from pathlib import Path

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.shape import Command

FORMATS = ("text", "json", "github", "sarif")


@click.command(
    cls=Command,
    examples="""
    tidegate validate                                 the bundle in this directory
    tidegate validate examples/app-interface          the one in another
    tidegate validate --revision origin/main          as it is in a revision, without a checkout
    tidegate validate --strict -o github              for a merge check: warnings count, too
    """,
)
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), default=".")
@click.option("--revision", metavar="REV", help="Read this revision of the Git repository of DIR.")
@click.option("--strict", is_flag=True, help="Exit 1 on warnings as well.")
@click.option("--no-cache", is_flag=True, help="Ignore the cache and read every file.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="text", show_default=True)
def validate(folder: Path, revision: str | None, strict: bool, no_cache: bool, output: str) -> None:
    """Check a bundle: YAML, fields, amounts, names of files, shards and overrides.

    Every problem is reported with its file, line, path and value, and what to write instead.
    Exits 1 if there is an error.
    """
    from tidegate import wiring
    from tidegate.cli import findings
    from tidegate.cli.progress import Progress
    from tidegate.kinds.integrations.bundle.finding import in_order
    from tidegate.kinds.integrations.bundle.lint import overdue
    from tidegate.kinds.integrations.bundle.reading import read_bundle

    tree = wiring.open_tree(folder, revision)
    with Progress("reading files", quiet_s=1.0) as progress:
        bundle = read_bundle(tree, wiring.bundle_cache(wanted=not no_cache), progress.tell)
    if not bundle.files:
        raise click.UsageError(f"{folder}: no YAML file; name the directory of a bundle")
    late = overdue(bundle.integrations, wiring.clock().now())
    found = in_order((*bundle.findings, *late))
    shown = findings.FORMATS[output](found, tree.prefix)
    if shown:
        click.echo(shown)
    errors, warnings = bundle.errors, len(found) - bundle.errors
    click.echo(_summary(errors, warnings, bundle.files), err=True)
    if errors or (strict and warnings):
        raise click.exceptions.Exit(FAILURE)


def _summary(errors: int, warnings: int, files: int) -> str:
    counts = f"{_many(errors, 'error')}, {_many(warnings, 'warning')}"
    return f"{counts if errors or warnings else 'no problem'} in {_many(files, 'file')}"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
