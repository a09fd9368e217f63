"""`tidegate policy sync`: the policies that a bundle declares, written as labels.

Every organisation by itself: what cannot be written of one is told, and the others go on.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.asking import asked_about
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command
from tidegate.kinds.upgrades.cli.owners.policy_sync_text import Turn, finish, show, tell_left
from tidegate.kinds.upgrades.cli.owners.relabel import Manner, writing_options
from tidegate.kinds.upgrades.core.labels.bundled import Bundled, BundledOrg
from tidegate.kinds.upgrades.core.labels.labelling import in_turn, of_upgrades
from tidegate.model.counted import counted
from tidegate.model.errors import TidegateError, UserError
from tidegate.model.problem import Problem, nearest_or_all
from tidegate.settings.settings import Merged, Settings

if TYPE_CHECKING:
    from tidegate.kinds.upgrades.app.owners.label_writer import Written
    from tidegate.kinds.upgrades.core.world import Org
    from tidegate.kinds.upgrades.ocm.port import ManagedClusters

SETTINGS = ("bundle", "revision", "upgrades", "ocm.url", "ocm.tokenUrl", "ocm.token")


@click.command(
    cls=Command,
    examples="""
    tidegate policy sync --bundle app-interface --dry-run     what would be written
    tidegate policy sync --bundle app-interface --org o-payments
    tidegate policy sync --bundle app-interface --token env:MINE    your own organisation
    """,
)
@click.option("--org", metavar="ID", help="Only this organisation.")
@click.option(
    "--allow-mass-delete",
    is_flag=True,
    help="Take labels from more than a tenth of those that have any of ours.",
)
@writing_options
@settings_options(*SETTINGS)
def sync(merged: Merged, org: str | None, allow_mass_delete: bool, manner: Manner) -> None:
    """Write what a bundle declares of upgrades into labels, which all upgrades follow.

    Set is what is declared; taken away is what is declared no more and was written from the
    bundle, which a label of our own tells. Labels of others stay, and so do clusters that nobody
    declared. Nothing is taken away if part of the bundle or of the clusters could not be read.
    """
    from tidegate.kinds.upgrades.cli.managers import bundled_of

    settings = merged.settings()
    bundled = bundled_of(settings, _folder(merged, settings))
    asyncio.run(_sync(settings, bundled, org or "", allow_mass_delete, manner))


def _folder(merged: Merged, settings: Settings) -> str:
    """The bundle that the file of who is served names, unless somebody names another."""
    if merged.origins["bundle"].place != "default" or not settings.upgrades:
        return ""
    from tidegate.kinds.upgrades.wire.service_file import named_bundle

    return named_bundle(Path(settings.upgrades))


async def _sync(
    settings: Settings, bundled: Bundled, org: str, allowed: bool, manner: Manner
) -> None:
    if bundled.gaps:
        remedy = "mend it; from part of a bundle nothing is written"
        raise UserError(tuple(Problem("", gap, remedy) for gap in bundled.gaps))
    turns: list[Turn] = []
    failed = False
    async with _served(settings, bundled, org) as served:
        for manager, each, declared in served:
            try:
                turns.append(await _planned(manager, each, declared, allowed))
            except TidegateError as error:
                failed = True
                tell_left(each.id, error)
        done = await _carried_out(turns, manner)
    failed |= any(turn.planned.why for turn in turns)
    finish(turns, done, manner, failed=failed)


@asynccontextmanager
async def _served(
    settings: Settings, bundled: Bundled, org: str
) -> "AsyncIterator[list[tuple[ManagedClusters, Org, BundledOrg]]]":
    """Whom the bundle declares something of, of those that are served, and the way to each."""
    from tidegate.kinds.integrations.bundle.upgrades import LABELS_WRITER
    from tidegate.kinds.upgrades.cli.managers import Managers, is_own, service_of
    from tidegate.kinds.upgrades.cli.owners.tenancy import Tenant

    declared = {each.id: each for each in bundled.organizations}
    if is_own(settings):
        async with Tenant(settings, org).opened() as (manager, own):
            yield [(manager, own, _declared(declared, own.id))]
        return
    service = service_of(settings)
    served = [each for each in service.served() if not org or each.id == org]
    if org and not served:
        hint = nearest_or_all(org, [each.id for each in service.served()])
        raise UserError((Problem("--org", f'"{org}" is not served', hint),))
    async with Managers() as managers:
        found = []
        for each in served:
            environment = service.environment(each.environment)
            if environment is None or (each.id not in declared and not org):
                continue
            mine = _declared(declared, each.id)
            if LABELS_WRITER in mine.disabled:
                click.echo(f"{each.id}: {LABELS_WRITER} is disabled there: left alone", err=True)
                continue
            found.append((managers.of(environment, each), each.org(), mine))
        ids = {each.id for each in service.served()}
        for one in bundled.organizations:
            if one.id not in ids and not org and (one.clusters or one.sectors or one.blocked):
                click.echo(f"{one.id}: {one.where}: not served here: left alone", err=True)
        yield found


def _declared(declared: dict[str, BundledOrg], org: str) -> BundledOrg:
    if org not in declared:
        hint = nearest_or_all(org, declared)
        raise UserError((Problem("--org", f'"{org}" is not in the bundle', hint),))
    return declared[org]


async def _planned(
    manager: "ManagedClusters", org: "Org", declared: BundledOrg, allowed: bool
) -> Turn:
    """What is to become of the labels of one organisation; UserError if that cannot be."""
    from tidegate.kinds.upgrades.app.owners.marks import read_marked
    from tidegate.kinds.upgrades.core.labels.declared_clusters import declarations
    from tidegate.kinds.upgrades.core.labels.label_check import check
    from tidegate.kinds.upgrades.core.labels.labelling import labelling
    from tidegate.wiring import clock

    read = await read_marked(manager, org, clock().now())
    found = declarations(declared, read.world.clusters)
    if found.problems:
        raise UserError(found.problems)
    for aside in read.survey.set_aside:
        told = f"{aside.kind} {aside.id}".strip()
        click.echo(f"warning: {told} cannot be read: {aside.why}", err=True)
    for missing in found.missing:
        click.echo(f"warning: {missing.text()}", err=True)
    complete = read.complete and not found.missing
    planned = labelling(read.labelled, found.labels, complete=complete, allowed=allowed)
    checked = check(read.world, of_upgrades(planned.changes), read.world.now)
    for line in checked.warnings:
        click.echo(f"warning: {line}", err=True)
    if checked.refused:
        raise UserError(tuple(Problem("", line) for line in checked.refused))
    for holder, labels in planned.others:
        told = f"{holder.text()}: {', '.join(labels)}"
        click.echo(f"{told}: not declared, and not written by us: left alone", err=True)
    return Turn(manager, org, planned)


async def _carried_out(turns: Sequence[Turn], manner: Manner) -> "dict[str, tuple[Written, ...]]":
    """Show all changes, ask, and make them; what became of each edit, by organisation."""
    from tidegate.kinds.upgrades.app.owners.label_writer import check_fresh
    from tidegate.kinds.upgrades.app.owners.marks import read_marked
    from tidegate.wiring import clock

    changing = [turn for turn in turns if turn.changes]
    if manner.output == "table":
        show(changing, several=len(turns) > 1)
    if not changing or manner.dry_run:
        return {}
    reach = sum(len(turn.changes) for turn in changing)
    question = f"Write this? It reaches {counted(reach, 'cluster')}."
    if asked_about(question, reach, manner.yes):
        # Whoever was asked took his time, and somebody else may have used it.
        for turn in changing:
            read = await read_marked(turn.manager, turn.org, clock().now())
            check_fresh(read.survey, turn.changes)
    return {turn.org.id: await _write(turn) for turn in changing}


async def _write(turn: Turn) -> "tuple[Written, ...]":
    from tidegate.cli.progress import Progress
    from tidegate.kinds.upgrades.app.owners.label_writer import write

    total = sum(len(each.edits) for each in turn.changes)
    done: list[Written] = []
    with Progress(f"writing labels of {turn.org.id}", total) as progress:
        for changes in in_turn(turn.changes):
            if any(each.why for each in done):
                break
            done += await write(turn.manager, changes, lambda _: progress.tell(1))
    return tuple(done)
