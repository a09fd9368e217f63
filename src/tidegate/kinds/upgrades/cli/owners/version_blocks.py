"""`tidegate version-blocks`: versions that no cluster of an organisation is upgraded to."""

import asyncio

import click

from tidegate.cli.output import FORMATS, emit, terminal_width
from tidegate.cli.shape import Act, Command, LazyGroup
from tidegate.documents.files import read_as
from tidegate.kinds.upgrades.app.owners.version_blocks import (
    VersionBlockList,
    list_version_blocks,
    set_version_blocks,
    without_patterns,
)
from tidegate.kinds.upgrades.cli.owners.access import OwnerAccess, organisation_options
from tidegate.kinds.upgrades.cli.owners.label_change import (
    LabelWish,
    WriteOptions,
    change_labels,
    request_options,
)
from tidegate.kinds.upgrades.cli.text.label_changes import show_warnings
from tidegate.kinds.upgrades.cli.text.owned import block_lines
from tidegate.kinds.upgrades.wire.labels_doc import read_blocks


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "get": (
            "tidegate.kinds.upgrades.cli.owners.version_blocks:get",
            "Show blocked versions, and which are offered now",
        ),
        "add": (
            "tidegate.kinds.upgrades.cli.owners.version_blocks:add",
            "Block more versions",
        ),
        "remove": (
            "tidegate.kinds.upgrades.cli.owners.version_blocks:remove",
            "Unblock versions",
        ),
        "set": (
            "tidegate.kinds.upgrades.cli.owners.version_blocks:set_",
            "Block exactly these versions",
        ),
    },
    examples=r"""
    tidegate upgrades version-blocks get
    tidegate upgrades version-blocks add '^4\.16\.5$' --dry-run
    tidegate upgrades version-blocks remove '^4\.16\.5$'
    """,
)
def version_blocks() -> None:
    """Versions that no cluster of an organisation goes to, as RE2 patterns found anywhere."""


@click.command(cls=Command, examples="tidegate upgrades version-blocks get -o yaml > blocks.yaml")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@organisation_options
def get(access: OwnerAccess, output: str) -> None:
    """Show what is blocked; -o json or yaml prints what `version-blocks set -f` reads."""
    service = access.service()
    if service is None:
        found = list_version_blocks(asyncio.run(access.read()))
    else:
        found = service.get("version-blocks", VersionBlockList)
    show_warnings(found.warnings)
    if output != "table":
        emit(found, output)
    elif found.blocks:
        for line in block_lines(found, terminal_width()):
            click.echo(line)
    else:
        click.echo(f"{found.org} blocks no version", err=True)


@click.command(
    cls=Act,
    examples=r"""
    tidegate upgrades version-blocks add '^4\.16\.5$'
    tidegate upgrades version-blocks add --dry-run -- '^4\.17\.' '-rc\.'
    """,
)
@click.argument("patterns", metavar="PATTERN...", nargs=-1, required=True)
@request_options
@organisation_options
def add(access: OwnerAccess, patterns: tuple[str, ...], options: WriteOptions) -> None:
    """Block versions that match a pattern, in addition to those that are blocked already.

    An upgrade to one of them that has not begun is cancelled; one in progress continues.
    """
    new = [each.strip() for each in patterns]
    change_labels(
        access,
        lambda found: set_version_blocks(found, lambda there: list(dict.fromkeys(there + new))),
        options,
        LabelWish("version-blocks", {"add": new}),
    )


@click.command(cls=Act, examples=r"tidegate upgrades version-blocks remove '^4\.16\.5$'")
@click.argument("patterns", metavar="PATTERN...", nargs=-1, required=True)
@request_options
@organisation_options
def remove(access: OwnerAccess, patterns: tuple[str, ...], options: WriteOptions) -> None:
    """Unblock versions; write a PATTERN as `version-blocks get` shows it."""
    wanted = without_patterns(patterns)
    wish = LabelWish("version-blocks", {"remove": patterns})
    change_labels(access, lambda found: set_version_blocks(found, wanted), options, wish)


@click.command(
    cls=Command,
    examples=r"""
    tidegate upgrades version-blocks set '^4\.16\.5$' '^4\.17\.'
    tidegate upgrades version-blocks set -f blocks.yaml                  - reads stdin
    tidegate upgrades version-blocks set --nothing
    """,
)
@click.argument("patterns", metavar="[PATTERN]...", nargs=-1)
@click.option("-f", "--file", metavar="FILE", help="Patterns in JSON or YAML; - reads stdin.")
@click.option("--nothing", is_flag=True, help="Remove all patterns.")
@request_options
@organisation_options
def set_(
    access: OwnerAccess,
    patterns: tuple[str, ...],
    file: str | None,
    nothing: bool,
    options: WriteOptions,
) -> None:
    """Block exactly these versions, and no others."""
    if bool(patterns) + (file is not None) + nothing != 1:
        raise click.UsageError("Specify what to block: patterns, a file with -f, or --nothing")
    wanted = [each.strip() for each in patterns]
    if file is not None:
        wanted = list(read_as(file, read_blocks)[0])
    wish = LabelWish("version-blocks", {"set": wanted})
    change_labels(access, lambda found: set_version_blocks(found, lambda _: wanted), options, wish)
