"""Commands that change labels: the diff is shown, then confirmed, then written."""

import asyncio
import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tidegate.cli.main import FAILURE
from tidegate.cli.output import FORMATS, emit
from tidegate.cli.prompt import asked_about
from tidegate.kinds.upgrades.app.owners.changes import prepare_changes, write_changes
from tidegate.kinds.upgrades.cli.owners.access import OwnerAccess, reading
from tidegate.kinds.upgrades.cli.text.label_changes import (
    changes_summary,
    diff_lines,
    failure_lines,
    show_warnings,
)
from tidegate.model.counted import counted

if TYPE_CHECKING:
    from tidegate.kinds.upgrades.app.owners.changes import (
        LabelChangeReport,
        Planner,
        PreparedChanges,
    )
    from tidegate.kinds.upgrades.ocm.port import ManagedClusters

Function = Callable[..., Any]


class WriteOptions(msgspec.Struct, frozen=True):
    """How a change is made."""

    dry_run: bool
    yes: bool
    output: str
    # For a service, which requires and records it.
    reason: str = ""


def write_options(function: Function) -> Function:
    """The flags of every command that writes labels; it is handed them as `options`."""

    @functools.wraps(function)
    def command(
        *args: Any, dry_run: bool, yes: bool, output: str, reason: str = "", **kwargs: Any
    ) -> Any:
        return function(*args, options=WriteOptions(dry_run, yes, output, reason), **kwargs)

    flagged: Function = command
    for option in (
        click.option("-o", "--output", type=click.Choice(FORMATS), default="table"),
        click.option("--yes", is_flag=True, help="Do not ask."),
        click.option("--dry-run", is_flag=True, help="Show the labels that change; write nothing."),
    ):
        flagged = option(flagged)
    return flagged


def request_options(function: Function) -> Function:
    """The same, of a command that a service carries out: why is recorded there."""
    text = "Why; a service requires it, and keeps it in its journal."
    return click.option("--reason", default="", help=text)(write_options(function))


class LabelWish(msgspec.Struct, frozen=True):
    """A change of labels as a service is asked for it: a verb and a body."""

    verb: str
    body: Mapping[str, object]


def change_labels(
    access: OwnerAccess, planner: "Planner", options: WriteOptions, wish: LabelWish
) -> None:
    """Show changes, ask, and write them, or request them of a service.

    Exits 1 if a label was not written.
    """
    service = access.service()
    if service is not None:
        service.request(wish.verb, wish.body, options)
        return
    report = asyncio.run(_change(access, planner, options))
    if options.output != "table":
        emit(report, options.output)
    for line in changes_summary(report):
        click.echo(line, err=True)
    if report.failed:
        for line in failure_lines(report):
            click.echo(line, err=True)
        raise click.exceptions.Exit(FAILURE)


async def _change(
    access: OwnerAccess, planner: "Planner", options: WriteOptions
) -> "LabelChangeReport":
    from tidegate.wiring import clock

    async with access.opened() as (manager, org):
        with reading():
            prepared = await prepare_changes(manager, org, planner, clock().now())
        planned = prepared.report(dry_run=options.dry_run)
        show_warnings(planned.warnings, planned.notes)
        if options.output == "table":
            for line in diff_lines(planned.changes):
                click.echo(line)
        if not prepared.changes or options.dry_run:
            return planned
        question = f"Write this? It reaches {counted(prepared.reach, 'cluster')}."
        # An answer takes time, in which the labels may have changed.
        asked = asked_about(question, prepared.reach, options.yes)
        return await _write(manager, prepared, asked)


async def _write(
    manager: "ManagedClusters", prepared: "PreparedChanges", asked: bool
) -> "LabelChangeReport":
    from tidegate.cli.render.progress import Progress

    total = sum(len(each.edits) for each in prepared.changes)
    with Progress("writing labels", total) as progress:
        return await write_changes(manager, prepared, lambda _: progress.tell(1), after_pause=asked)
