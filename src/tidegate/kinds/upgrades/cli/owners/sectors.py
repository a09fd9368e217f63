"""`tidegate sectors`: which sector waits for which, and how many of one upgrade at once."""

import asyncio
from typing import Any

import click

from tidegate.cli.output import FORMATS, emit, terminal_width
from tidegate.cli.shape import Command, LazyGroup
from tidegate.kinds.upgrades.app.owners.organisation import listed_items
from tidegate.kinds.upgrades.app.owners.sectors import (
    SectorFlags,
    SectorList,
    list_sectors,
    remove_sectors,
    set_sector,
    set_sectors,
)
from tidegate.kinds.upgrades.cli.owners.access import OwnerAccess, organisation_options
from tidegate.kinds.upgrades.cli.owners.label_change import (
    LabelWish,
    WriteOptions,
    change_labels,
    request_options,
)
from tidegate.kinds.upgrades.cli.text.label_changes import show_warnings
from tidegate.kinds.upgrades.cli.text.owned import sector_lines
from tidegate.kinds.upgrades.core.labels.sector_edit import WantedSector


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "get": (
            "tidegate.kinds.upgrades.cli.owners.sectors:get",
            "Show the sectors of an organisation",
        ),
        "set": (
            "tidegate.kinds.upgrades.cli.owners.sectors:set_",
            "Set parts of a sector, or a whole file",
        ),
        "remove": ("tidegate.kinds.upgrades.cli.owners.sectors:remove", "Remove sectors"),
    },
    examples="""
    tidegate upgrades sectors get
    tidegate upgrades sectors set stage                                a sector without dependencies
    tidegate upgrades sectors set prod --depends-on stage --max-parallel 2
    """,
)
def sectors() -> None:
    """Sectors of an organisation: a version goes to one once those before it have it."""


@click.command(cls=Command, examples="tidegate upgrades sectors get -o yaml > sectors.yaml")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@organisation_options
def get(access: OwnerAccess, output: str) -> None:
    """Show the sectors of an organisation; -o json or yaml prints what `sectors set -f` reads."""
    service = access.service()
    if service is None:
        found = list_sectors(asyncio.run(access.read()))
    else:
        found = service.get("sectors", SectorList)
    if output != "table":
        emit(found, output)
    elif found.sectors:
        for line in sector_lines(found, terminal_width()):
            click.echo(line)
    else:
        click.echo(f"{found.org} has no sectors", err=True)
    show_warnings(found.warnings)


@click.command(
    cls=Command,
    examples="""
    tidegate upgrades sectors set prod --depends-on stage,canary --max-parallel 25%
    tidegate upgrades sectors set prod --add-dependency canary
    tidegate upgrades sectors set prod --max-parallel ""                 no limit any more
    tidegate upgrades sectors set -f sectors.yaml --replace --dry-run    exactly these
    """,
)
@click.argument("name", required=False)
@click.option("-f", "--file", metavar="FILE", help="Sectors in JSON or YAML; - reads stdin.")
@click.option(
    "--depends-on",
    multiple=True,
    metavar="NAMES",
    help="The sectors that it waits for, and no others.",
)
@click.option(
    "--add-dependency", multiple=True, metavar="NAMES", help="A sector that it waits for, too."
)
@click.option(
    "--remove-dependency",
    multiple=True,
    metavar="NAMES",
    help="A sector that it no longer waits for.",
)
@click.option(
    "--max-parallel",
    metavar="N|N%",
    help="How many of its clusters are upgraded at once; empty: no limit.",
)
@click.option(
    "--replace", is_flag=True, help="With -f: remove every sector that the file does not name."
)
@request_options
@organisation_options
def set_(
    access: OwnerAccess,
    name: str | None,
    file: str | None,
    replace: bool,
    options: WriteOptions,
    **flags: Any,
) -> None:
    """Set the named parts of a sector; all else is unchanged.

    A NAME alone declares a sector without dependencies and without a limit.
    """
    flagged = {flag for flag, value in flags.items() if value not in (None, ())}
    if (file is None) == (name is None):
        raise click.UsageError("Specify a sector: its name, or a file with -f")
    if file is not None and flagged:
        raise click.UsageError("-f names all that is set; leave out the other flags")
    if replace and file is None:
        raise click.UsageError("--replace removes all sectors but those of a file; name one")
    if file is not None:
        wanted = _from_file(file)
        entries = [
            {"name": each.name, "dependsOn": each.dependencies, "maxParallel": each.most}
            for each in wanted
        ]
        wish = LabelWish("sectors", {"sectors": entries, "replace": replace})
        change_labels(
            access, lambda found: set_sectors(found, wanted, replace=replace), options, wish
        )
        return
    one, asked = name or "", SectorFlags(**flags)
    wish = LabelWish("sectors", {"sectors": [_entry(one, asked)]})
    change_labels(access, lambda found: set_sector(found, one, asked), options, wish)


def _entry(name: str, flags: SectorFlags) -> dict[str, object]:
    """What flags ask for of a sector, as a service reads it."""
    depends_on = listed_items(flags.depends_on) if flags.depends_on else None
    return {
        "name": name,
        "dependsOn": depends_on,
        "addDependency": listed_items(flags.add_dependency),
        "removeDependency": listed_items(flags.remove_dependency),
        "maxParallel": flags.max_parallel,
    }


def _from_file(file: str) -> tuple[WantedSector, ...]:
    from tidegate.documents.files import read_as
    from tidegate.kinds.upgrades.wire.labels_doc import read_sectors

    return read_as(file, read_sectors)[0]


@click.command(cls=Command, examples="tidegate upgrades sectors remove canary")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@request_options
@organisation_options
def remove(access: OwnerAccess, names: tuple[str, ...], options: WriteOptions) -> None:
    """Remove sectors that no cluster is in and no other sector waits for."""
    wish = LabelWish("remove-sectors", {"sectors": names})
    change_labels(access, lambda found: remove_sectors(found, names), options, wish)
