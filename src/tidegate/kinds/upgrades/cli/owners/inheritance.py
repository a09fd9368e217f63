"""`tidegate inheritance`: soak that organisations share."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

import click

from tidegate.cli.output import FORMATS, emit, terminal_width
from tidegate.cli.shape import Act, Command, LazyGroup
from tidegate.documents.files import read_as
from tidegate.kinds.upgrades.app.owners.inheritance import (
    DIRECTIONS,
    Inheritance,
    add_inheritance,
    read_inheritance_of,
    remove_inheritance,
    set_inheritance,
)
from tidegate.kinds.upgrades.app.owners.organisation import listed_items
from tidegate.kinds.upgrades.cli.owners.access import OwnerAccess, organisation_options, reading
from tidegate.kinds.upgrades.cli.owners.label_change import (
    LabelWish,
    WriteOptions,
    change_labels,
    request_options,
)
from tidegate.kinds.upgrades.cli.text.label_changes import show_warnings
from tidegate.kinds.upgrades.cli.text.owned import inheritance_lines
from tidegate.kinds.upgrades.core.labels.label_edit import INHERIT, PUBLISH
from tidegate.kinds.upgrades.wire.labels_doc import read_inheritance
from tidegate.wiring import clock

Function = Callable[..., object]


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "get": (
            "tidegate.kinds.upgrades.cli.owners.inheritance:get",
            "Show organisations, and whether both sides agree",
        ),
        "add": (
            "tidegate.kinds.upgrades.cli.owners.inheritance:add",
            "Add organisations to inherit from, or to publish",
        ),
        "remove": (
            "tidegate.kinds.upgrades.cli.owners.inheritance:remove",
            "Remove organisations",
        ),
        "set": (
            "tidegate.kinds.upgrades.cli.owners.inheritance:set_",
            "Set exactly these, or a whole file",
        ),
    },
    examples="""
    tidegate upgrades inheritance get
    tidegate upgrades inheritance add --inherit o-stage   in the organisation that waits
    tidegate upgrades inheritance add --publish o-prod    in the organisation that has the soak
    """,
)
def inheritance() -> None:
    """Share soak data between organisations: inherit theirs, publish yours."""


@click.command(cls=Command, examples="tidegate upgrades inheritance get -o yaml > inheritance.yaml")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@organisation_options
def get(access: OwnerAccess, output: str) -> None:
    """Show organisations to inherit from and publish to; -o yaml prints what `set -f` reads."""
    service = access.service()
    if service is None:
        found = asyncio.run(_read(access))
    else:
        found = service.get("inheritance", Inheritance)
    show_warnings(found.warnings)
    if output != "table":
        emit(found, output)
    elif found.sides:
        for line in inheritance_lines(found, terminal_width()):
            click.echo(line)
    else:
        click.echo(f"{found.org} neither inherits nor publishes soak", err=True)


async def _read(access: OwnerAccess) -> Inheritance:
    async with access.opened() as (manager, org):
        with reading():
            return await read_inheritance_of(manager, org, clock().now())


def sides(function: Function) -> Function:
    """`--inherit` and `--publish`, which may be repeated."""
    texts = {
        "inherit": "Organisations whose soak counts for this one.",
        "publish": "Organisations for which the soak of this one counts.",
    }
    for name in ("publish", "inherit"):
        option = click.option(f"--{name}", multiple=True, metavar="IDS", help=texts[name])
        function = option(function)
    return function


@click.command(cls=Act, examples="tidegate upgrades inheritance add --inherit o-stage --dry-run")
@sides
@request_options
@organisation_options
def add(
    access: OwnerAccess, inherit: tuple[str, ...], publish: tuple[str, ...], options: WriteOptions
) -> None:
    """Add organisations to inherit from or to publish to."""
    more = _named(inherit, publish)
    change_labels(access, lambda found: add_inheritance(found, more), options, _wish("add", more))


@click.command(cls=Act, examples="tidegate upgrades inheritance remove --publish o-old")
@sides
@request_options
@organisation_options
def remove(
    access: OwnerAccess, inherit: tuple[str, ...], publish: tuple[str, ...], options: WriteOptions
) -> None:
    """Remove organisations to inherit from or to publish to."""
    fewer = _named(inherit, publish)
    wish = _wish("remove", fewer)
    change_labels(access, lambda found: remove_inheritance(found, fewer), options, wish)


@click.command(
    cls=Command,
    examples="""
    tidegate upgrades inheritance set --inherit o-stage,o-canary
    tidegate upgrades inheritance set --publish ""                       publish to none
    tidegate upgrades inheritance set -f inheritance.yaml                - reads stdin
    """,
)
@sides
@click.option("-f", "--file", metavar="FILE", help="Both lists in JSON or YAML; - reads stdin.")
@request_options
@organisation_options
def set_(
    access: OwnerAccess,
    inherit: tuple[str, ...],
    publish: tuple[str, ...],
    file: str | None,
    options: WriteOptions,
) -> None:
    """Set one side to exactly these organisations; the other side is unchanged."""
    if file is not None and (inherit or publish):
        raise click.UsageError("-f names all that is set; leave out the other flags")
    if file is not None:
        wanted = read_as(file, read_inheritance)[0]
    else:
        wanted = {label: ",".join(items) for label, items in _named(inherit, publish).items()}
    items = {label: listed_items([text or ""]) for label, text in wanted.items()}
    wish = _wish("set", items)
    change_labels(access, lambda found: set_inheritance(found, wanted), options, wish)


def _wish(verb: str, sides: Mapping[str, Sequence[str]]) -> LabelWish:
    """What a service is asked for."""
    named = {word: sides[label] for word, label in DIRECTIONS.items() if label in sides}
    return LabelWish("inheritance", {verb: named})


def _named(inherit: tuple[str, ...], publish: tuple[str, ...]) -> dict[str, list[str]]:
    """The items of each side that is named at all."""
    if not inherit and not publish:
        raise click.UsageError("Specify organisations: --inherit, --publish")
    both = {INHERIT: inherit, PUBLISH: publish}
    return {label: listed_items(texts) for label, texts in both.items() if texts}
