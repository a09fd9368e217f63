"""`tidegate apply`: make the clusters what the bundle says, after showing what that is."""

import asyncio
import sys
from collections import Counter
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.shape import Command
from tidegate.kinds.integrations.cli.estate import Asked, confirm, estate_options

if TYPE_CHECKING:
    from tidegate.kinds.integrations.app.applying import Done
    from tidegate.kinds.integrations.cli.outlook import Outlook

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
@click.option(
    "--allow-mass-delete", is_flag=True, help="Allow to remove more than a tenth at once."
)
@click.option("--reason", default="", help="Why; kept in the journal.")
def apply(
    asked: Asked, dry_run: str, yes: bool, adopt: bool, allow_mass_delete: bool, reason: str
) -> None:
    """Apply the bundle to its clusters, many at once; a broken one stops no other.

    Shows the plan first, and asks. Objects of other managers are unchanged without --adopt, images
    that a rollout moves are left to it, and at most a tenth is removed at once. Applied
    twice, it changes nothing the second time. Holds, freezes and pins apply as they do to
    rollouts. Actions, actor and reason are recorded in the journal. Exits 1 if anything failed.
    """
    outcome = asyncio.run(_apply(asked, dry_run, yes, adopt, allow_mass_delete, reason))
    if not outcome:
        raise click.exceptions.Exit(FAILURE)


async def _apply(
    asked: Asked, dry_run: str, yes: bool, adopt: bool, allow_mass_delete: bool, reason: str
) -> bool:
    """Whether everything went well."""
    from tidegate.kinds.integrations.app.applying import BAD, acts
    from tidegate.kinds.integrations.cli.outlook import look

    async with asked.clusters(asked.namespaces()) as (clusters, shut):
        outlook = await look(
            asked, clusters, shut, adopt=adopt, allow_mass_delete=allow_mass_delete
        )
        _show(asked, outlook)
        ready = [each for each in outlook.changes if acts(each, adopt)]
        if ready and dry_run == "none":
            confirm(_question(len(ready), outlook.restarts), yes)
        done: tuple[Done, ...] = ()
        if ready and dry_run != "client":
            done = await _carry_out(asked, outlook, dry_run == "server", reason)
        _say_unchanged(outlook)
        _say_next(outlook, done, dry_run, adopt)
    well = not any(each.outcome in BAD for each in done)
    return well and asked.sound and not outlook.failures and not _blocked(outlook)


def _show(asked: Asked, outlook: "Outlook") -> None:
    """The plan, to whoever is asked."""
    from tidegate.cli.output import terminal_width, wants_colour
    from tidegate.kinds.integrations.cli.change_text import plan_lines
    from tidegate.kinds.integrations.cli.plan import tell

    colour = wants_colour(asked.settings.color, sys.stderr)
    for line in plan_lines(outlook.changes, width=terminal_width(), colour=colour):
        click.echo(line, err=True, color=colour)
    tell(asked, outlook)


def _question(count: int, restarts: int) -> str:
    some = f"{count:,} change" + ("" if count == 1 else "s")
    again = f"{restarts:,} restart" + ("" if restarts == 1 else "s")
    return f"Make {some}, with {again}?"


async def _carry_out(
    asked: Asked, outlook: "Outlook", dry_run: bool, reason: str
) -> "tuple[Done, ...]":
    """Do it, and say so as it is done."""
    from tidegate.cli.action_log import ActionLog
    from tidegate.cli.progress import Progress
    from tidegate.kinds.integrations.app.applying import acts, apply
    from tidegate.kinds.integrations.cli.by_hand import Minutes

    total = sum(acts(each, outlook.hands.consent) for each in outlook.changes)
    minutes = None if dry_run else Minutes(asked.settings, reason)
    with (
        closing(ActionLog(asked.settings)) as log,
        Progress("applying", total) as progress,
        closing(minutes) if minutes is not None else nullcontext(),
    ):

        def tell(done: "Done") -> None:
            if minutes is not None:
                minutes.note(done)
            progress.clear()
            log.acted(done, dry_run=dry_run)
            click.echo(said(done, " (server dry run)" if dry_run else ""))
            progress.tell(1)

        return await apply(outlook.changes, outlook.hands, dry_run=dry_run, tell=tell)


def said(done: "Done", end: str = "") -> str:
    """What became of a change, on one line."""
    change = done.change
    why = f": {done.detail}" if done.detail else ""
    return f"{change.where} {done.outcome}{end} in {change.cluster}/{change.namespace}{why}"


def _say_unchanged(outlook: "Outlook") -> None:
    from tidegate.kinds.integrations.core.workloads.change import Verb

    for each in outlook.changes:
        if each.verb is Verb.UNCHANGED:
            click.echo(f"{each.where} unchanged in {each.cluster}/{each.namespace}")


def _blocked(outlook: "Outlook") -> bool:
    """Whether something is declared that no server will have, or somebody else owns."""
    from tidegate.kinds.integrations.core.workloads.change import Verb

    return any(each.verb in (Verb.CONFLICT, Verb.REFUSED) for each in outlook.changes)


def _say_next(outlook: "Outlook", done: "tuple[Done, ...]", dry_run: str, adopt: bool) -> None:
    """What came of it all, and what whoever asked may want to do now."""
    from tidegate.kinds.integrations.app.applying import BAD
    from tidegate.kinds.integrations.core.workloads.change import Verb

    counts = Counter(each.outcome.value for each in done)
    verbs = Counter(each.verb for each in outlook.changes)
    counts["unchanged"] += verbs[Verb.UNCHANGED]
    told = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
    mode = " (server dry run: nothing was changed)" if dry_run == "server" else ""
    if dry_run == "client":
        click.echo("client dry run: nothing was changed", err=True)
    else:
        click.echo(f"{told or 'nothing to do'}{mode}", err=True)
    if any(each.outcome in BAD for each in done):
        click.echo("mend what failed and apply again; what is done stays done", err=True)
    if verbs[Verb.ADOPT] and not adopt:
        again = sum(each.restarts for each in outlook.changes if each.verb is Verb.ADOPT)
        told = f"{again:,} restart" + ("" if again == 1 else "s")
        one = f"{verbs[Verb.ADOPT]:,} somebody else's"
        click.echo(f"{one}: `tidegate apply --adopt` takes them over, with {told}", err=True)
    braked = sum(each.verb is Verb.HELD and not each.held for each in outlook.changes)
    if braked:
        click.echo(f"{braked:,} held by brakes: `tidegate plan` says by which", err=True)
    if any(each.held for each in outlook.changes):
        click.echo("images wait for their rollout: `tidegate status` says how far it is", err=True)
    if verbs[Verb.KEPT]:
        click.echo(f"{verbs[Verb.KEPT]:,} kept: `tidegate plan` says why", err=True)
