"""`tidegate upgrades gates agree`: agree to the gates of a minor version, for many clusters."""

import asyncio

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.output import emit
from tidegate.cli.prompt import asked_about
from tidegate.cli.shape import Command
from tidegate.kinds.upgrades.app.owners.version_gates import (
    GateAgreementReport,
    agree_to_gates,
    prepare_agreements,
    read_gates,
    short_name,
)
from tidegate.kinds.upgrades.cli.owners.access import OwnerAccess, owner_options, reading
from tidegate.kinds.upgrades.cli.owners.label_change import WriteOptions, write_options
from tidegate.kinds.upgrades.cli.text.label_changes import show_warnings
from tidegate.kinds.upgrades.cli.text.owned import agreement_lines
from tidegate.model.counted import counted
from tidegate.wiring import clock


@click.command(
    cls=Command,
    examples="""
    tidegate upgrades gates agree pay-prod-1 --version 4.17
    tidegate upgrades gates agree 'pay-*' --version 4.17 --gate sts --dry-run
    """,
)
@click.argument("names", metavar="CLUSTER...", nargs=-1, required=True)
@click.option(
    "--version", required=True, metavar="X.Y", help="The minor version that the gates are for."
)
@click.option("--gate", metavar="GATE", help="Only this one: its id, its label, or ocp, sts, ….")
@write_options
@owner_options
def agree(
    access: OwnerAccess,
    names: tuple[str, ...],
    version: str,
    gate: str | None,
    options: WriteOptions,
) -> None:
    """Acknowledge the version gates of a minor version, for clusters; repeating it has no effect.

    The text of each gate is shown first: read it. An acknowledgement cannot be withdrawn here.
    """
    found = asyncio.run(_agree(access, names, version, gate, options))
    if options.output != "table":
        emit(found, options.output)
    if found.dry_run and options.dry_run and found.agreements:
        click.echo("dry run: nothing was agreed to", err=True)
    if not found.dry_run:
        done = len(found.agreements) - len(found.failed)
        click.echo(f"agreed: {counted(done, 'gate')}", err=True)
    for each in found.failed:
        gate_name = short_name(each.label)
        click.echo(f"Error: {each.target}: {gate_name} for {each.minor}: {each.why}", err=True)
    if found.failed:
        click.echo("what is agreed stays; run the same again for the rest", err=True)
        raise click.exceptions.Exit(FAILURE)


async def _agree(
    access: OwnerAccess,
    names: tuple[str, ...],
    version: str,
    gate: str | None,
    options: WriteOptions,
) -> GateAgreementReport:
    async with access.opened() as (manager, org):
        with reading():
            outlook = await read_gates(manager, org, names, clock().now())
        prepared = prepare_agreements(outlook, version, gate)
        planned = prepared.report()
        show_warnings(planned.warnings)
        for each in planned.gates:
            click.echo(f"{short_name(each.label)} ({each.gate}): {each.text}", err=True)
        if options.output == "table":
            for line in agreement_lines(planned):
                click.echo(line)
        if planned.nothing is not None:
            click.echo(f"nothing to do: {planned.nothing}", err=True)
        if not prepared.missing or options.dry_run:
            return planned
        question = f"Agree? It is for {counted(prepared.reach, 'cluster')}."
        asked_about(question, prepared.reach, options.yes)
        return await agree_to_gates(manager, prepared)
