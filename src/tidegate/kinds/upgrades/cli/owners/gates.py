"""`tidegate gates`: what must be agreed to before clusters go to a minor version."""

import asyncio

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.output import FORMATS, emit, terminal_width
from tidegate.cli.shape import Act, Command, LazyGroup
from tidegate.kinds.upgrades.app.owners.organisation import listed_items
from tidegate.kinds.upgrades.app.owners.version_gates import (
    VersionGateList,
    approve_gates,
    list_gates,
    read_gates,
)
from tidegate.kinds.upgrades.cli.owners.access import (
    OwnerAccess,
    organisation_options,
    owner_options,
    reading,
)
from tidegate.kinds.upgrades.cli.owners.label_change import (
    LabelWish,
    WriteOptions,
    change_labels,
    request_options,
)
from tidegate.kinds.upgrades.cli.text.label_changes import show_warnings
from tidegate.kinds.upgrades.cli.text.owned import gate_lines
from tidegate.wiring import clock


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "get": (
            "tidegate.kinds.upgrades.cli.owners.gates:get",
            "Show the version gates of clusters",
        ),
        "approve": (
            "tidegate.kinds.upgrades.cli.owners.gates:approve",
            "Let the service acknowledge kinds of gates",
        ),
        "agree": (
            "tidegate.kinds.upgrades.cli.owners.gate_agreement:agree",
            "Acknowledge the gates of a minor version",
        ),
    },
    examples="""
    tidegate upgrades gates get
    tidegate upgrades gates agree pay-prod-1 --version 4.17
    tidegate upgrades gates approve ocp sts             have the service agree, for the organisation
    """,
)
def gates() -> None:
    """Version gates: acknowledgements that a minor version requires."""


@click.command(
    cls=Command,
    examples="""
    tidegate upgrades gates get                           gates before versions that are offered now
    tidegate upgrades gates get pay-prod-1 --all           and before all later ones
    """,
)
@click.argument("names", metavar="[CLUSTER]...", nargs=-1)
@click.option(
    "--all", "later_too", is_flag=True, help="List gates of versions that are not offered yet, too."
)
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@owner_options
def get(access: OwnerAccess, names: tuple[str, ...], later_too: bool, output: str) -> None:
    """Show the version gates of clusters, whether each is acknowledged, and who does it.

    The service acknowledges gates that `version-gate-approvals` of a cluster names, and gate-ocp
    by default; you acknowledge all others.
    """
    found = asyncio.run(_read(access, names, later_too))
    show_warnings(found.warnings)
    if output != "table":
        emit(found, output)
    elif found.items:
        for line in gate_lines(found, terminal_width()):
            click.echo(line)
    else:
        click.echo("no gates before versions that are offered; --all shows later ones", err=True)
    for error in found.errors:
        click.echo(f"Error: {error}", err=True)
    if found.errors:
        raise click.exceptions.Exit(FAILURE)


async def _read(access: OwnerAccess, names: tuple[str, ...], later_too: bool) -> VersionGateList:
    async with access.opened() as (manager, org):
        with reading():
            outlook = await read_gates(manager, org, names, clock().now())
    return list_gates(outlook, later_too=later_too)


@click.command(
    cls=Act,
    examples="""
    tidegate upgrades gates approve ocp sts                all clusters that say nothing themselves
    tidegate upgrades gates approve none                   agree to nothing by itself
    tidegate upgrades gates approve --unsaid               back to the default: ocp
    """,
)
@click.argument("kinds", metavar="[GATE]...", nargs=-1)
@click.option("--unsaid", is_flag=True, help="Remove the label.")
@request_options
@organisation_options
def approve(
    access: OwnerAccess, kinds: tuple[str, ...], unsaid: bool, options: WriteOptions
) -> None:
    """Let the service acknowledge these kinds of gates, for the whole organisation.

    This applies to clusters with an upgrade policy that do not declare otherwise
    (`policy set --version-gate-approvals`). A kind is ocp, sts, ingress, or a whole label.
    """
    if bool(kinds) == unsaid:
        raise click.UsageError("Specify gates: ocp, sts, ingress, none, or --unsaid")
    wish = LabelWish("gate-approvals", {"gates": listed_items(kinds)})
    change_labels(access, lambda found: approve_gates(found, kinds), options, wish)
