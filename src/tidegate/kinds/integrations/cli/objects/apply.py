"""`tidegate apply`: make the clusters what the bundle says, after showing what that is."""

import asyncio
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.render.causes import CauseCount
from tidegate.cli.shape import Command
from tidegate.kinds.integrations.cli.estate import EstateQuery, Phases, confirm, estate_options
from tidegate.kinds.integrations.cli.objects.apply_text import (
    ApplyProgress,
    result_line,
    result_lines,
    unchanged_lines,
    undone_lines,
)

if TYPE_CHECKING:
    from tidegate.kinds.integrations.app.apply import ApplyResult
    from tidegate.kinds.integrations.app.executor import ObjectResult
    from tidegate.kinds.integrations.app.plan import ChangePlan, ObjectPlan
    from tidegate.kinds.integrations.core.workloads.change import PlannedChange

DRY_RUNS = ("none", "client", "server")


@click.command(
    cls=Command,
    examples="""
    tidegate apply                                      show the plan, ask, and do it
    tidegate apply --dry-run=server --integration terraform-resources
    tidegate apply --yes --environment stage            in a pipeline
    tidegate apply --adopt --shard terraform-resources/ter-int-dev
    """,
)
@estate_options("log.format", "log.level")
@click.option(
    "--dry-run",
    type=click.Choice(DRY_RUNS),
    default="none",
    show_default=True,
    help="client: stop after the plan; server: have the servers decide, and change nothing.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--adopt", is_flag=True, help="Take over objects of other managers.")
@click.option("--allow-mass-delete", is_flag=True, help="Lift the limit of --removals.")
@click.option("--reason", default="", help="Why; kept in the journal.")
def apply(
    asked: EstateQuery, dry_run: str, yes: bool, adopt: bool, allow_mass_delete: bool, reason: str
) -> None:
    """Apply the bundle to its clusters, many at once; a broken one stops no other.

    Shows the plan first, and asks. Objects of other managers are unchanged without --adopt, images
    that a rollout moves are left to it, and at most --removals are removed at once. Applied
    twice, it changes nothing the second time. Holds, freezes, pins and the rules for changes
    apply as they do to `serve`. Actions, actor and reason are recorded in the journal.

    Exits 1 if anything failed, or is declared and was not done: that is named.
    """
    if not asyncio.run(_apply(asked, dry_run, yes, adopt, allow_mass_delete, reason)):
        raise click.exceptions.Exit(FAILURE)


async def _apply(
    asked: EstateQuery, dry_run: str, yes: bool, adopt: bool, allow_mass_delete: bool, reason: str
) -> bool:
    """Whether everything succeeded."""
    from tidegate.kinds.integrations.app.apply import ApplyResult, ready
    from tidegate.kinds.integrations.app.plan import plan_changes, plan_document
    from tidegate.kinds.integrations.cli.objects.plan import request_of

    async with asked.clusters() as find:
        request = request_of(asked, adopt=adopt, allow_mass_delete=allow_mass_delete)
        with Phases(asked.unanswered) as phases:
            plan = await plan_changes(asked.view, find, request, phases)
        shown = plan_document(plan)
        _show(asked, shown)
        acting = len(ready(plan))
        if acting and dry_run == "none":
            confirm(_question(acting, plan.restarts), yes)
        result = ApplyResult(plan=plan)
        if acting and dry_run != "client":
            result = await _carry_out(asked, plan, dry_run == "server", reason)
        report = result.document()
        for line in unchanged_lines(shown):
            click.echo(line)
        for line in result_lines(shown, report, dry_run, adopt):
            click.echo(line, err=True)
        for line in undone_lines(report, verbose=asked.verbose):
            click.echo(line, err=True)
    return report.ok


def _show(asked: EstateQuery, plan: "ObjectPlan") -> None:
    """The plan, on stderr."""
    from tidegate.cli.output import terminal_width, wants_colour
    from tidegate.kinds.integrations.cli.objects.change_text import plan_lines
    from tidegate.kinds.integrations.cli.objects.plan import tell

    colour = wants_colour(asked.settings.color, sys.stderr)
    width = terminal_width()
    for line in plan_lines(plan, width=width, colour=colour, verbose=asked.verbose):
        click.echo(line, err=True, color=colour)
    tell(asked, plan)


def _question(count: int, restarts: int) -> str:
    some = f"{count:,} change" + ("" if count == 1 else "s")
    again = f"{restarts:,} restart" + ("" if restarts == 1 else "s")
    return f"Make {some}, with {again}?"


async def _carry_out(
    asked: EstateQuery, plan: "ChangePlan", dry_run: bool, reason: str
) -> "ApplyResult":
    """Apply, and print each result as it arrives."""
    from tidegate.cli.render.action_log import ActionLog
    from tidegate.cli.render.unanswered import told
    from tidegate.kinds.integrations.app.apply import apply_plan, ready, try_plan
    from tidegate.kinds.integrations.app.executor import BAD
    from tidegate.kinds.integrations.cli.by_hand import recorder

    count, progress = CauseCount(verbose=asked.verbose), ApplyProgress(len(ready(plan)))
    with (
        closing(ActionLog(asked.settings)) as log,
        told(asked.unanswered, "applying", progress.total) as bar,
    ):

        def heard(result: "ObjectResult") -> None:
            progress.ended += 1
            with bar.paused():
                log.acted(result, dry_run=dry_run)
                if result.outcome not in BAD or count.shows(
                    f"{result.outcome.value}: {result.detail}", result.change.cluster
                ):
                    click.echo(result_line(result, " (server dry run)" if dry_run else ""))
            bar.tell(1)

        def begun(_: "PlannedChange") -> None:
            progress.begun += 1

        try:
            if dry_run:
                return await try_plan(plan, heard)
            with recorder(asked.settings) as record:
                return await apply_plan(plan, record, reason, heard, begun)
        except asyncio.CancelledError:
            bar.clear()
            if not dry_run:
                click.echo(progress.interrupted(), err=True)
            raise
        finally:
            for line in count.rest():
                click.echo(line)
