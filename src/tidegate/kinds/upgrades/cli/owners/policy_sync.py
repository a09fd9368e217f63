"""`tidegate upgrades policy sync`: upgrade policies that a bundle declares, as labels."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from tidegate.cli.main import FAILURE
from tidegate.cli.output import emit
from tidegate.cli.prompt import asked_about
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command
from tidegate.kinds.upgrades.cli.owners.label_change import WriteOptions, write_options
from tidegate.kinds.upgrades.cli.text.label_changes import show_warnings
from tidegate.kinds.upgrades.cli.text.policy_sync import sync_lines, sync_summary
from tidegate.model.counted import counted
from tidegate.settings.settings import Merged, Settings

if TYPE_CHECKING:
    from tidegate.kinds.upgrades.app.owners.policy_sync import (
        LabelSyncReport,
        PreparedSync,
        Synced,
    )
    from tidegate.kinds.upgrades.core.labels.bundled import Bundled

SETTINGS = ("bundle", "revision", "upgrades", "ocm.url", "ocm.tokenUrl", "ocm.token")


@click.command(
    cls=Command,
    examples="""
    tidegate upgrades policy sync --bundle app-interface --dry-run     what would be written
    tidegate upgrades policy sync --bundle app-interface --org o-payments
    tidegate upgrades policy sync --bundle app-interface --token env:MINE    your own organisation
    """,
)
@click.option("--org", metavar="ID", help="Only this organisation.")
@click.option(
    "--allow-mass-delete",
    is_flag=True,
    help="Take labels from more than a tenth of those that have any of ours.",
)
@write_options
@settings_options(*SETTINGS)
def sync(merged: Merged, org: str | None, allow_mass_delete: bool, options: WriteOptions) -> None:
    """Write the upgrade policies of a bundle into labels.

    Declared labels are set. Labels that were written from the bundle, which a label records, and
    are no longer declared are removed. Labels of others and undeclared clusters are unchanged.
    Nothing is removed if part of the bundle or of the clusters could not be read.
    """
    from tidegate.kinds.upgrades.app.owners.policy_sync import check_complete
    from tidegate.kinds.upgrades.cli.managers import bundled_of

    settings = merged.settings()
    bundled = bundled_of(settings, _folder(merged, settings))
    check_complete(bundled)
    report = asyncio.run(_sync(settings, bundled, org or "", allow_mass_delete, options))
    if options.output != "table":
        emit(report, options.output)
    for line in sync_summary(report):
        click.echo(line, err=True)
    if report.failed or report.errors or report.kept:
        raise click.exceptions.Exit(FAILURE)


def _folder(merged: Merged, settings: Settings) -> str:
    """The bundle that the service file names, unless a flag or a setting names another."""
    if merged.origins["bundle"].place != "default" or not settings.upgrades:
        return ""
    from tidegate.kinds.upgrades.wire.service_file import named_bundle

    return named_bundle(Path(settings.upgrades))


async def _sync(
    settings: Settings, bundled: "Bundled", org: str, allowed: bool, options: WriteOptions
) -> "LabelSyncReport":
    from tidegate.kinds.upgrades.app.owners.policy_sync import prepare_sync
    from tidegate.kinds.upgrades.cli.owners.access import reading
    from tidegate.wiring import clock

    async with _opened(settings, bundled, org) as (some, notes):
        with reading():
            prepared = await prepare_sync(some, clock().now, allow_mass_delete=allowed)
        prepared = msgspec.structs.replace(prepared, notes=notes)
        planned = prepared.report(dry_run=options.dry_run)
        for error in planned.errors:
            click.echo(f"Error: {error.organization}: {error.message}", err=True)
        for name in dict.fromkeys(each.organization for each in planned.errors):
            click.echo(f"{name}: nothing was written", err=True)
        show_warnings(planned.warnings, planned.notes)
        if options.output == "table":
            for line in sync_lines(planned):
                click.echo(line)
        if not planned.changes or options.dry_run:
            return planned
        return await _write(prepared, options)


async def _write(prepared: "PreparedSync", options: WriteOptions) -> "LabelSyncReport":
    from tidegate.cli.render.progress import Progress
    from tidegate.kinds.upgrades.app.owners.policy_sync import check_sync_fresh, write_sync
    from tidegate.wiring import clock

    question = f"Write this? It reaches {counted(prepared.reach, 'cluster')}."
    if asked_about(question, prepared.reach, options.yes):
        # An answer takes time, in which the labels may have changed.
        await check_sync_fresh(prepared, clock().now)
    total = sum(len(each.edits) for plan in prepared.plans for each in plan.changes)
    with Progress("writing labels", total) as progress:
        return await write_sync(prepared, lambda _: progress.tell(1))


@asynccontextmanager
async def _opened(
    settings: Settings, bundled: "Bundled", org: str
) -> "AsyncIterator[tuple[list[Synced], tuple[str, ...]]]":
    """The organisations that the bundle declares and that are served, and notes on the others."""
    from tidegate.kinds.upgrades.app.owners.policy_sync import (
        declared_organisation,
        served_declarations,
    )
    from tidegate.kinds.upgrades.bundle import LABELS_WRITER
    from tidegate.kinds.upgrades.cli.managers import Managers, is_own, service_of
    from tidegate.kinds.upgrades.cli.owners.access import OwnerAccess

    if is_own(settings):
        async with OwnerAccess(settings, org).opened() as (manager, own):
            yield [(manager, own, declared_organisation(bundled, own.id))], ()
        return
    service = service_of(settings)
    found, notes = served_declarations(service, bundled, org, LABELS_WRITER)
    async with Managers() as managers:
        some: list[Synced] = []
        for each, mine in found:
            environment = service.environment(each.environment)
            if environment is not None:
                some.append((managers.of(environment, each), each.org(), mine))
        yield some, notes
