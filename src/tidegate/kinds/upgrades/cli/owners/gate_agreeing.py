"""`tidegate gates agree`: consent to what a minor version asks for, once, for many clusters."""

import asyncio
from collections.abc import Iterable, Sequence

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.output import emit
from tidegate.cli.prompt import asked_about
from tidegate.cli.shape import Command
from tidegate.explain.table import layout
from tidegate.kinds.upgrades.cli.owners.gates import Outlook, look_ahead, short_name
from tidegate.kinds.upgrades.cli.owners.relabel import Manner, writing_options
from tidegate.kinds.upgrades.cli.owners.tenancy import Tenant, look, tenant_options
from tidegate.kinds.upgrades.core.gates_ahead import Ahead
from tidegate.kinds.upgrades.core.versions import is_version, minor_of
from tidegate.kinds.upgrades.ocm.port import ManagedClusters
from tidegate.model.counted import counted
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.problem import Problem, nearest_or_all


@click.command(
    cls=Command,
    examples="""
    tidegate upgrades gates agree pay-prod-1 --version 4.17
    tidegate upgrades gates agree 'pay-*' --version 4.17 --gate sts --dry-run
    """,
)
@click.argument("names", metavar="CLUSTER...", nargs=-1, required=True)
@click.option("--version", required=True, metavar="X.Y", help="The minor version it is for.")
@click.option("--gate", metavar="GATE", help="Only this one: its id, its label, or ocp, sts, ….")
@writing_options
@tenant_options
def agree(
    tenant: Tenant, names: tuple[str, ...], version: str, gate: str | None, manner: Manner
) -> None:
    """Acknowledge the version gates of a minor version, for clusters; repeating it has no effect.

    The text of each gate is shown first: read it. An acknowledgement cannot be withdrawn here.
    """
    minor = minor_of(version) if is_version(version) else version
    asyncio.run(_agree(tenant, names, minor, gate, manner))


async def _agree(
    tenant: Tenant, names: tuple[str, ...], minor: str, gate: str | None, manner: Manner
) -> None:
    async with tenant.opened() as (manager, org):
        outlook = await look_ahead(manager, await look(manager, org), names)
        wanted = _wanted(outlook, minor, gate)
        missing = [each for each in wanted if not each.agreed]
        _introduce(outlook, missing)
        rows = [_deed(outlook, each) for each in missing]
        if manner.output == "table":
            for line in layout(("", "", "", ""), rows, headed=False) if rows else ():
                click.echo(line)
        if not missing:
            told = "all agreed to already" if wanted else f"no gates on the way to {minor}"
            click.echo(f"nothing to do: {told}", err=True)
        done: list[str] = []
        if missing and not manner.dry_run:
            clusters = len({each.cluster.ident for each in missing})
            asked_about(f"Agree? It is for {counted(clusters, 'cluster')}.", clusters, manner.yes)
            done = await asyncio.gather(*(_agree_one(manager, each) for each in missing))
    _finish(rows, missing, done, manner)


def _wanted(outlook: Outlook, minor: str, gate: str | None) -> list[Ahead]:
    """The gates that are meant; UserError if there is no such minor, or no such gate."""
    if outlook.unread:
        some = "; ".join(f"{cluster}: {why}" for cluster, why in outlook.unread.items())
        raise OutsideError(f"agreements could not be read, and nothing was done: {some}")
    minors = sorted({each.version_raw_id_prefix for each in outlook.gates.values()})
    if minor not in minors:
        hint = nearest_or_all(minor, minors)
        raise UserError((Problem("--version", f"no gates before {minor}", hint),))
    here = [each for each in outlook.ahead if each.gate.prefix == minor]
    if gate is None:
        return here
    called = [each for each in outlook.gates.values() if each.version_raw_id_prefix == minor]
    if not any(gate in _names(each.id, each.label) for each in called):
        known = sorted(each.label.rpartition("/")[2] for each in called)
        hint = nearest_or_all(gate, known)
        raise UserError((Problem("--gate", f'no gate "{gate}" before {minor}', hint),))
    return [each for each in here if gate in _names(each.gate.id, each.gate.label)]


def _names(ident: str, label: str) -> tuple[str, ...]:
    """All a gate may be called."""
    short = label.rpartition("/")[2]
    return ident, label, short, short.removeprefix("gate-")


def _introduce(outlook: Outlook, missing: Iterable[Ahead]) -> None:
    """What is agreed to, in the words of OpenShift Cluster Manager."""
    for ident in dict.fromkeys(each.gate.id for each in missing):
        gate = outlook.gates[ident]
        parts = (gate.description, gate.warning_message, gate.documentation_url)
        said = " ".join(each.strip() for each in parts if each.strip())
        told = said or "no description is given"
        click.echo(f"{gate.label.rpartition('/')[2]} ({ident}): {told}", err=True)


def _deed(outlook: Outlook, ahead: Ahead) -> tuple[str, ...]:
    holder = outlook.declared.holder(ahead.cluster)
    return holder.text(), ahead.gate.prefix, short_name(ahead.gate), "not agreed → agreed"


async def _agree_one(manager: ManagedClusters, ahead: Ahead) -> str:
    """Why an agreement could not be given; empty: it was."""
    try:
        await manager.agree(ahead.cluster.ident, ahead.gate.id)
    except OutsideError as error:
        return str(error)
    return ""


def _finish(
    rows: Sequence[tuple[str, ...]], missing: Sequence[Ahead], done: Sequence[str], manner: Manner
) -> None:
    """Say what was agreed to and what not; exit 1 if anything was not."""
    if manner.output != "table":
        results = [
            {
                "target": row[0],
                "for": row[1],
                "gate": each.gate.id,
                "label": each.gate.label,
                "agreed": bool(done) and not done[at],
                **({"why": done[at]} if done and done[at] else {}),
            }
            for at, (row, each) in enumerate(zip(rows, missing, strict=True))
        ]
        emit({"dryRun": manner.dry_run, "agreements": results}, manner.output)
    if manner.dry_run and missing:
        click.echo("dry run: nothing was agreed to", err=True)
    failed = [(row, why) for row, why in zip(rows, done, strict=False) if why]
    if done:
        click.echo(f"agreed: {counted(len(done) - len(failed), 'gate')}", err=True)
    for row, why in failed:
        click.echo(f"Error: {row[0]}: {row[2]} for {row[1]}: {why}", err=True)
    if failed:
        click.echo("what is agreed stays; run the same again for the rest", err=True)
        raise click.exceptions.Exit(FAILURE)
