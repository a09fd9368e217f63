"""`tidegate validate`: everything that is wrong with a bundle, all at once."""

from pathlib import Path

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.shape import Command

FORMATS = ("text", "json", "yaml", "github", "sarif")


@click.command(
    cls=Command,
    examples="""
    tidegate validate                                 the bundle in this directory
    tidegate validate examples/app-interface          the one in another
    tidegate validate --revision origin/main          as it is in a revision, without a checkout
    tidegate validate rollouts/web.yaml policies/web.yaml
    tidegate validate --strict -o github              for a merge check: warnings count, too
    tidegate validate --access-policy access.yaml     the policy file of a service
    """,
)
@click.argument("paths", metavar="[DIR|FILE...]", type=click.Path(path_type=Path), nargs=-1)
@click.option(
    "--access-policy",
    type=click.Path(dir_okay=False),
    help="Check the policy file of a service; alone, unless DIR or FILE is named, too.",
)
@click.option("--revision", metavar="REV", help="Read this revision of the Git repository of DIR.")
@click.option("--strict", is_flag=True, help="Exit 1 on warnings as well.")
@click.option("--no-cache", is_flag=True, help="Ignore the cache and read every file.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="text", show_default=True)
def validate(
    paths: tuple[Path, ...],
    access_policy: str | None,
    revision: str | None,
    strict: bool,
    no_cache: bool,
    output: str,
) -> None:
    """Check a bundle: YAML, fields, amounts, names of files, shards, overrides, policies.

    Or some files of one: then only what they say by themselves and of each other.

    Every problem is reported with its file, line, path and value, and what to write instead.
    Exits 1 if there is an error.
    """
    from tidegate import wiring
    from tidegate.cli.output import emit
    from tidegate.cli.render import findings
    from tidegate.cli.render.progress import Progress
    from tidegate.kinds.integrations.app.validation import BundleFindings, with_policy
    from tidegate.kinds.integrations.app.validation import validate as check
    from tidegate.wiring import bundles, repositories

    folder = paths[0] if paths else Path()
    files = len(paths) > 1 or folder.is_file()
    if files and revision is not None:
        raise click.UsageError("--revision is for a directory; name one, or leave it out")
    found = BundleFindings(findings=(), errors=0, warnings=0, files=0)
    if paths or access_policy is None:
        tree = repositories.open_tree(folder, revision, only=paths if files else ())
        cache = bundles.bundle_cache(wanted=not no_cache)
        with Progress("reading files", quiet_s=1.0) as progress:
            bundle = bundles.read_bundle(tree, cache, progress.tell)
        found = check(bundle, wiring.clock().now(), tree.prefix, str(folder))
    if access_policy is not None:
        found = with_policy(found, access_policy)
    if output in ("json", "yaml"):
        emit(found, output)
    elif shown := findings.FORMATS[output](found.findings, ""):
        click.echo(shown)
    click.echo(_summary(found.errors, found.warnings, found.files), err=True)
    if found.errors or (strict and found.warnings):
        raise click.exceptions.Exit(FAILURE)


def _summary(errors: int, warnings: int, files: int) -> str:
    counts = f"{_many(errors, 'error')}, {_many(warnings, 'warning')}"
    return f"{counts if errors or warnings else 'no problem'} in {_many(files, 'file')}"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
