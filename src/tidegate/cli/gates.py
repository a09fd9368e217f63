"""`tidegate gates`: what clusters must agree to before a minor version, of any kind."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click
import msgspec

from tidegate.cli.asking import asked_about
from tidegate.cli.main import FAILURE
from tidegate.cli.output import FORMATS, emit, terminal_width
from tidegate.cli.relabel import Manner, writing_options
from tidegate.cli.shape import Command, LazyGroup
from tidegate.cli.tenancy import Declared, Tenant, look, tenant_options
from tidegate.core.errors import OutsideError, UserError
from tidegate.core.model.problem import Problem, nearest_or_all
from tidegate.core.upgrades.gates_ahead import Ahead, ahead_of
from tidegate.core.upgrades.versions import is_version, minor_of
from tidegate.core.upgrades.world import Cluster, Gate
from tidegate.core.why.counted import counted
from tidegate.core.why.table import layout
from tidegate.ports.cluster_manager import ManagedClusters
from tidegate.wire.cluster_manager import VersionGate


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "get": ("tidegate.cli.gates:get", "Show the version gates before clusters"),
        "agree": ("tidegate.cli.gates:agree", "Agree to the gates of a minor version"),
    },
    examples="""
    tidegate gates get
    tidegate gates agree pay-prod-1 --version 4.17
    """,
)
def gates() -> None:
    """Version gates: what must be agreed to before clusters go to a minor version."""


class Outlook(msgspec.Struct, frozen=True):
    """Gates before clusters, and since when each was agreed to."""

    declared: Declared
    gates: Mapping[str, VersionGate]  # by id
    ahead: tuple[Ahead, ...]
    since: Mapping[tuple[str, str], str]  # by the ids of cluster and gate
    unread: Mapping[str, str]  # clusters whose agreements could not be had, and why


async def _look(manager: ManagedClusters, declared: Declared, names: tuple[str, ...]) -> Outlook:
    """The gates before the clusters of some names, or of all; agreements where there are gates."""
    reading = await manager.gates()
    for each in reading.set_aside:
        click.echo(f"warning: {each.kind} {each.id} cannot be read: {each.why}", err=True)
    known = tuple(
        Gate(each.id, each.version_raw_id_prefix, each.label, each.sts_only)
        for each in reading.items
    )
    world = msgspec.structs.replace(declared.world, gates=known)
    chosen = declared.clusters(names, bare_too=True)
    asked = {each.cluster.ident for each in ahead_of(world, chosen, world.now)}
    found = await asyncio.gather(*(_agreements(manager, each) for each in sorted(asked)))
    since = {(cluster, gate): at for cluster, agreed, _ in found for gate, at in agreed.items()}
    clusters = tuple(_with_agreements(each, since) for each in world.clusters)
    world = msgspec.structs.replace(world, clusters=clusters)
    mine = {each.ident for each in chosen}
    ahead = ahead_of(world, (each for each in clusters if each.ident in mine), world.now)
    ahead.sort(key=lambda one: (one.cluster.name, one.cluster.uuid))
    return Outlook(
        declared,
        {each.id: each for each in reading.items},
        tuple(ahead),
        since,
        {cluster: why for cluster, _, why in found if why},
    )


async def _agreements(manager: ManagedClusters, cluster: str) -> tuple[str, dict[str, str], str]:
    """What was agreed to for a cluster and since when, or why nobody can tell."""
    try:
        reading = await manager.agreements(cluster)
    except OutsideError as error:
        return cluster, {}, str(error)
    return cluster, {each.version_gate.id: each.agreed_timestamp for each in reading.items}, ""


def _with_agreements(cluster: Cluster, since: Mapping[tuple[str, str], str]) -> Cluster:
    agreed = tuple(gate for ident, gate in since if ident == cluster.ident)
    return msgspec.structs.replace(cluster, gate_agreements=agreed) if agreed else cluster


@click.command(
    cls=Command,
    examples="""
    tidegate gates get                            gates before versions that are offered now
    tidegate gates get pay-prod-1 --all           and before all later ones
    """,
)
@click.argument("names", metavar="[CLUSTER]...", nargs=-1)
@click.option("--all", "far_too", is_flag=True, help="Before versions not offered yet, too.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@tenant_options
def get(tenant: Tenant, names: tuple[str, ...], far_too: bool, output: str) -> None:
    """Show the version gates before clusters, whether each is agreed to, and whose turn it is.

    The service agrees to gates that `version-gate-approvals` of a cluster names, and to gate-ocp
    where nothing is said; all others are yours.
    """
    outlook = asyncio.run(_read(tenant, names))
    shown = [each for each in outlook.ahead if each.near or far_too]
    if output != "table":
        emit([_document(outlook, each) for each in shown], output)
    elif shown:
        head = ("CLUSTER", "VERSION", "FOR", "GATE", "ID", "AGREED")
        rows = [_row(outlook, each) for each in shown]
        for line in layout(head, rows, terminal_width()):
            click.echo(line)
    else:
        click.echo("no gates before versions that are offered; --all shows later ones", err=True)
    for cluster, why in outlook.unread.items():
        click.echo(f"Error: agreements of {cluster}: {why}", err=True)
    if outlook.unread:
        raise click.exceptions.Exit(FAILURE)


async def _read(tenant: Tenant, names: tuple[str, ...]) -> Outlook:
    async with tenant.opened() as (manager, org):
        return await _look(manager, await look(manager, org), names)


def _row(outlook: Outlook, ahead: Ahead) -> tuple[str, ...]:
    cluster, gate = ahead.cluster, ahead.gate
    called = outlook.declared.holder(cluster).called
    return called, cluster.version, gate.prefix, _short(gate), gate.id, _agreed(outlook, ahead)


def _short(gate: Gate) -> str:
    return gate.label.rpartition("/")[2]


def _agreed(outlook: Outlook, ahead: Ahead) -> str:
    """Since when, or who is to agree."""
    if ahead.cluster.ident in outlook.unread:
        return "not known"
    if ahead.agreed:
        return outlook.since[ahead.cluster.ident, ahead.gate.id] or "yes"
    if ahead.approved:
        return "no: the service does"
    return "no: yours" if ahead.known else "no: yours (a kind unknown here)"


def _document(outlook: Outlook, ahead: Ahead) -> dict[str, Any]:
    gate = outlook.gates[ahead.gate.id]
    key = ahead.cluster.ident, gate.id
    return {
        "cluster": ahead.cluster.name,
        "externalId": ahead.cluster.uuid,
        "version": ahead.cluster.version,
        "for": ahead.gate.prefix,
        "gate": gate.id,
        "label": gate.label,
        "offered": ahead.near,
        # None: nobody could tell.
        "agreed": None if key[0] in outlook.unread else ahead.agreed,
        "since": outlook.since.get(key) or None,
        "byService": ahead.approved,
        "description": gate.description,
        "warning": gate.warning_message,
        "documentation": gate.documentation_url,
    }


@click.command(
    cls=Command,
    examples="""
    tidegate gates agree pay-prod-1 --version 4.17
    tidegate gates agree 'pay-*' --version 4.17 --gate sts --dry-run
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
    """Agree to the version gates before a minor version, for clusters; once, whoever asks again.

    What each asks of you is shown first: read it. An agreement cannot be taken back here.
    """
    minor = minor_of(version) if is_version(version) else version
    asyncio.run(_agree(tenant, names, minor, gate, manner))


async def _agree(
    tenant: Tenant, names: tuple[str, ...], minor: str, gate: str | None, manner: Manner
) -> None:
    async with tenant.opened() as (manager, org):
        outlook = await _look(manager, await look(manager, org), names)
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
    return holder.text(), ahead.gate.prefix, _short(ahead.gate), "not agreed → agreed"


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
