"""`tidegate gates`: what clusters must agree to before a minor version, of any kind."""

import asyncio
from collections.abc import Mapping
from typing import Any

import click
import msgspec

from tidegate.cli.main import FAILURE
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
from tidegate.kinds.upgrades.core.gates_ahead import Ahead, ahead_of, approvals
from tidegate.kinds.upgrades.core.labels.label_edit import APPROVALS
from tidegate.kinds.upgrades.core.world import Cluster, Gate
from tidegate.kinds.upgrades.ocm.documents import VersionGate
from tidegate.kinds.upgrades.ocm.port import ManagedClusters
from tidegate.model.errors import OutsideError


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
            "tidegate.kinds.upgrades.cli.owners.gate_agreeing:agree",
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


class Outlook(msgspec.Struct, frozen=True):
    """Gates before clusters, and since when each was agreed to."""

    declared: Declared
    gates: Mapping[str, VersionGate]  # by id
    ahead: tuple[Ahead, ...]
    since: Mapping[tuple[str, str], str]  # by the ids of cluster and gate
    unread: Mapping[str, str]  # clusters whose agreements could not be had, and why


async def look_ahead(
    manager: ManagedClusters, declared: Declared, names: tuple[str, ...]
) -> Outlook:
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
    tidegate upgrades gates get                           gates before versions that are offered now
    tidegate upgrades gates get pay-prod-1 --all           and before all later ones
    """,
)
@click.argument("names", metavar="[CLUSTER]...", nargs=-1)
@click.option("--all", "far_too", is_flag=True, help="Before versions not offered yet, too.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@tenant_options
def get(tenant: Tenant, names: tuple[str, ...], far_too: bool, output: str) -> None:
    """Show the version gates of clusters, whether each is acknowledged, and who does it.

    The service acknowledges gates that `version-gate-approvals` of a cluster names, and gate-ocp
    by default; you acknowledge all others.
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
        return await look_ahead(manager, await look(manager, org), names)


def _row(outlook: Outlook, ahead: Ahead) -> tuple[str, ...]:
    cluster, gate = ahead.cluster, ahead.gate
    called = outlook.declared.holder(cluster).called
    return called, cluster.version, gate.prefix, short_name(gate), gate.id, _agreed(outlook, ahead)


def short_name(gate: Gate) -> str:
    """What people call a kind of gate: gate-sts."""
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
    tidegate upgrades gates approve ocp sts                all clusters that say nothing themselves
    tidegate upgrades gates approve none                   agree to nothing by itself
    tidegate upgrades gates approve --unsaid               back to the default: ocp
    """,
)
@click.argument("kinds", metavar="[GATE]...", nargs=-1)
@click.option("--unsaid", is_flag=True, help="Take the label away.")
@writing_options
@tenant_options
def approve(tenant: Tenant, kinds: tuple[str, ...], unsaid: bool, manner: Manner) -> None:
    """Let the service acknowledge these kinds of gates, for the whole organisation.

    This applies to clusters with an upgrade policy that do not declare otherwise
    (`policy set --version-gate-approvals`). A kind is ocp, sts, ingress, or a whole label.
    """
    if bool(kinds) == unsaid:
        raise click.UsageError("which gates? ocp, sts, ingress, none, or --unsaid")
    wanted = {APPROVALS: ",".join(approvals(listed_items(kinds)))}
    relabel(tenant, lambda declared: org_change(declared, wanted), manner)
