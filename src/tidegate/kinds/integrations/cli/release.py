"""`tidegate release`: give what Tidegate applied back, as it is, to whoever had it before."""

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.shape import Command
from tidegate.kinds.integrations.cli.estate import Asked, confirm, estate_options

if TYPE_CHECKING:
    from tidegate.kinds.integrations.core.workloads.change import Change


@click.command(
    cls=Command,
    examples="""
    tidegate release --integration terraform-resources     hand one integration back
    tidegate release --cluster appsrep05ue1 --yes          everything of ours on a cluster
    """,
)
@estate_options("log.format", "log.level")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--reason", default="", help="Why; kept in the journal.")
def release(asked: Asked, yes: bool, reason: str) -> None:
    """Stop managing objects: they stay exactly as they are, and nothing restarts.

    From then on `apply` and rollouts do not change them until they are adopted again.
    Exits 1 if anything failed.
    """
    if not asyncio.run(_release(asked, yes, reason)):
        raise click.exceptions.Exit(FAILURE)


async def _release(asked: Asked, yes: bool, reason: str) -> bool:
    from tidegate.cli.action_log import ActionLog
    from tidegate.cli.progress import Progress
    from tidegate.kinds.integrations.app.applying import BAD, Done
    from tidegate.kinds.integrations.app.applying import release as give_back
    from tidegate.kinds.integrations.cli.apply import said
    from tidegate.kinds.integrations.cli.by_hand import Minutes
    from tidegate.kinds.integrations.cli.outlook import look
    from tidegate.kinds.integrations.cli.plan import tell

    async with asked.clusters(asked.namespaces()) as (clusters, shut):
        outlook = await look(asked, clusters, shut, ask_servers=False, heeds_brakes=False)
        tell(asked, outlook)
        ours = [
            (change, outlook.objects[change.key])
            for change in outlook.changes
            if change.key in outlook.objects and outlook.objects[change.key].ours
        ]
        if not ours:
            click.echo("nothing here is Tidegate's", err=True)
            return not outlook.failures
        _show([change for change, _ in ours])
        confirm("Go on?", yes)
        with (
            closing(ActionLog(asked.settings)) as log,
            Progress("giving back", len(ours)) as progress,
            closing(Minutes(asked.settings, reason)) as minutes,
        ):

            def tell_one(done: Done) -> None:
                minutes.note(done)
                progress.clear()
                log.acted(done)
                click.echo(said(done))
                progress.tell(1)

            done = await give_back(ours, outlook.hands, tell_one)
    good = sum(each.outcome not in BAD for each in done)
    click.echo(f"{good} given back as they are; nothing restarts", err=True)
    click.echo("`tidegate plan` shows them as somebody else's from now on", err=True)
    return good == len(done) and not outlook.failures


def _show(changes: "list[Change]") -> None:
    for each in changes:
        click.echo(f"release  {each.where} in {each.cluster}/{each.namespace}", err=True)
    click.echo(f"{len(changes):,} to be given back as they are; nothing restarts", err=True)
