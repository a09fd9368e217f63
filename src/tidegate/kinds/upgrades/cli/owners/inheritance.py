"""`tidegate inheritance`: whose soak counts for an organisation, and for whom its own does."""

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import click

from tidegate.cli.documents import read_as
from tidegate.cli.output import FORMATS, emit, terminal_width
from tidegate.cli.shape import Command, LazyGroup
from tidegate.explain.table import layout
from tidegate.kinds.upgrades.cli.owners.relabel import Manner, org_change, relabel, writing_options
from tidegate.kinds.upgrades.cli.owners.tenancy import (
    Declared,
    Tenant,
    listed_items,
    look,
    tenant_options,
)
from tidegate.kinds.upgrades.core.labels.label_edit import INHERIT, PUBLISH, Change, Wanted
from tidegate.kinds.upgrades.core.labels.labels import split
from tidegate.kinds.upgrades.wire.labels_doc import inheritance_document, read_inheritance
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest_or_all

if TYPE_CHECKING:
    from tidegate.kinds.upgrades.ocm.port import ManagedClusters

_DIRECTIONS = {"inherit": INHERIT, "publish": PUBLISH}
Function = Callable[..., object]


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "get": (
            "tidegate.kinds.upgrades.cli.owners.inheritance:get",
            "Show whose soak counts, and whether they agree",
        ),
        "add": (
            "tidegate.kinds.upgrades.cli.owners.inheritance:add",
            "Add organisations to inherit from, or to publish",
        ),
        "remove": (
            "tidegate.kinds.upgrades.cli.owners.inheritance:remove",
            "Take some of them away",
        ),
        "set": (
            "tidegate.kinds.upgrades.cli.owners.inheritance:set_",
            "Set what is named, or a whole file",
        ),
    },
    examples="""
    tidegate inheritance get
    tidegate inheritance add --inherit o-stage                  in the organisation that waits
    tidegate inheritance add --publish o-prod                   in the one it learns from
    """,
)
def inheritance() -> None:
    """Version data of other organisations: theirs that counts here, and ours that counts there."""


@click.command(cls=Command, examples="tidegate inheritance get -o yaml > inheritance.yaml")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@tenant_options
def get(tenant: Tenant, output: str) -> None:
    """Show whose soak counts and for whom ours does; -o yaml prints what `set -f` reads."""
    declared, others = asyncio.run(_read(tenant))
    if output != "table":
        emit(inheritance_document(declared.org.labels), output)
        return
    rows = [
        (direction, each, _agreed(declared.org.id, others.get(each), direction))
        for direction, label in _DIRECTIONS.items()
        for each in listed_items([declared.org.labels.get(label, "")])
    ]
    head = ("DIRECTION", "ORGANISATION", "THEIR SIDE")
    for line in layout(head, rows, terminal_width()) if rows else ():
        click.echo(line)
    if not rows:
        click.echo(f"{declared.org.id} neither inherits nor publishes", err=True)


Sides = Mapping[str, Mapping[str, str]]
"""The version-data labels of organisations that may be seen, by id."""


async def _read(tenant: Tenant) -> tuple[Declared, Sides]:
    async with tenant.opened() as (manager, org):
        declared, others = await asyncio.gather(look(manager, org), _others(manager))
        return declared, others


async def _others(manager: "ManagedClusters") -> Sides:
    from tidegate.kinds.upgrades.app.read.survey import PREFIX
    from tidegate.kinds.upgrades.ocm.port import LabelType

    found: dict[str, dict[str, str]] = {}
    reading = await manager.labels(f"{PREFIX}version-data.", LabelType.ORGANIZATION)
    for each in reading.items:
        found.setdefault(each.organization_id, {})[each.key.removeprefix(PREFIX)] = each.value
    return found


def _agreed(own: str, other: Mapping[str, str] | None, direction: str) -> str:
    """Whether the other side says the same; both must, or nothing is inherited."""
    if other is None:
        return "your token does not see it"
    theirs = PUBLISH if direction == "inherit" else INHERIT
    says = own in listed_items([other.get(theirs, "")])
    if direction == "inherit":
        return "publishes to you" if says else f"does not publish to {own}: ask them to"
    return "inherits from you" if says else "does not inherit from you"


def sides(function: Function) -> Function:
    """`--inherit` and `--publish`, which may be repeated."""
    told = {
        "inherit": "Organisations whose soak counts here.",
        "publish": "Organisations where ours counts.",
    }
    for name in ("publish", "inherit"):
        option = click.option(f"--{name}", multiple=True, metavar="IDS", help=told[name])
        function = option(function)
    return function


@click.command(cls=Command, examples="tidegate inheritance add --inherit o-stage --dry-run")
@sides
@writing_options
@tenant_options
def add(tenant: Tenant, inherit: tuple[str, ...], publish: tuple[str, ...], manner: Manner) -> None:
    """Add organisations to inherit from or to publish to, beside those that are there."""
    asked = _named(inherit, publish)

    def plan(declared: Declared) -> list[Change]:
        wanted = {
            label: ",".join(dict.fromkeys((*_there(declared, label), *more)))
            for label, more in asked.items()
        }
        return _change(declared, wanted)

    relabel(tenant, plan, manner)


@click.command(cls=Command, examples="tidegate inheritance remove --publish o-old")
@sides
@writing_options
@tenant_options
def remove(
    tenant: Tenant, inherit: tuple[str, ...], publish: tuple[str, ...], manner: Manner
) -> None:
    """Take organisations to inherit from or to publish to away."""
    asked = _named(inherit, publish)

    def plan(declared: Declared) -> list[Change]:
        wanted: dict[str, str] = {}
        for label, fewer in asked.items():
            there = _there(declared, label)
            known = [each.strip() for each in there]
            for each in fewer:
                if each not in known:
                    hint = nearest_or_all(each, known)
                    raise UserError((Problem(label, f'"{each}" is not there', hint),))
            wanted[label] = ",".join(each for each in there if each.strip() not in fewer)
        return _change(declared, wanted)

    relabel(tenant, plan, manner)


@click.command(
    cls=Command,
    examples="""
    tidegate inheritance set --inherit o-stage,o-canary
    tidegate inheritance set --publish ""                       publish to nobody
    tidegate inheritance set -f inheritance.yaml                - reads stdin
    """,
)
@sides
@click.option("-f", "--file", metavar="FILE", help="Both in JSON or YAML; - reads stdin.")
@writing_options
@tenant_options
def set_(
    tenant: Tenant,
    inherit: tuple[str, ...],
    publish: tuple[str, ...],
    file: str | None,
    manner: Manner,
) -> None:
    """Set what is named to exactly these organisations, and leave the other side as it is."""
    if file is not None and (inherit or publish):
        raise click.UsageError("-f says what is set; leave the other flags out")
    if file is not None:
        wanted = read_as(file, read_inheritance)[0]
    else:
        wanted = {label: ",".join(items) for label, items in _named(inherit, publish).items()}
    relabel(tenant, lambda declared: _change(declared, wanted), manner)


def _named(inherit: tuple[str, ...], publish: tuple[str, ...]) -> dict[str, list[str]]:
    """The items of each side that is named at all."""
    if not inherit and not publish:
        raise click.UsageError("which organisations? --inherit, --publish")
    both = {INHERIT: inherit, PUBLISH: publish}
    return {label: listed_items(texts) for label, texts in both.items() if texts}


def _there(declared: Declared, label: str) -> tuple[str, ...]:
    return split(declared.org.labels.get(label)) or ()


def _change(declared: Declared, wanted: Wanted) -> list[Change]:
    """The change, with a word on what the other side must do."""
    there = {label: listed_items([declared.org.labels.get(label, "")]) for label in (INHERIT,)}
    for each in listed_items([wanted.get(INHERIT) or ""]):
        if each not in there[INHERIT] and each != declared.org.id:
            told = f"{each} must publish to {declared.org.id}; until then nothing is inherited"
            click.echo(f"{told}, and sectors that rely on it wait", err=True)
    return org_change(declared, wanted)
