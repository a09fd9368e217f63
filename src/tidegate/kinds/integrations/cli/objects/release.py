"""`tidegate release`: give up what Tidegate applied, and leave it as it is."""

import asyncio
from contextlib import closing

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.shape import Command
from tidegate.kinds.integrations.cli.estate import EstateQuery, Phases, confirm, estate_options


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
def release(asked: EstateQuery, yes: bool, reason: str) -> None:
    """Stop managing objects: they stay exactly as they are, and nothing restarts.

    From then on `apply` and rollouts do not change them until they are adopted again.
    Exits 1 if anything failed.
    """
    if not asyncio.run(_release(asked, yes, reason)):
        raise click.exceptions.Exit(FAILURE)


async def _release(asked: EstateQuery, yes: bool, reason: str) -> bool:
    from tidegate.cli.render.action_log import ActionLog
    from tidegate.cli.render.unanswered import told
    from tidegate.kinds.integrations.app.apply import ours, release_objects
    from tidegate.kinds.integrations.app.executor import BAD, ObjectResult
    from tidegate.kinds.integrations.app.plan import PlanRequest, plan_changes, plan_document
    from tidegate.kinds.integrations.cli.by_hand import recorder
    from tidegate.kinds.integrations.cli.objects.apply_text import result_line
    from tidegate.kinds.integrations.cli.objects.plan import tell

    limit = asked.settings.limits_concurrency
    async with asked.clusters() as find:
        with Phases(asked.unanswered) as phases:
            request = PlanRequest(ask_servers=False, concurrency_max=limit)
            plan = await plan_changes(asked.view, find, request, phases)
        tell(asked, plan_document(plan))
        mine = ours(plan)
        if not mine:
            click.echo("nothing here is Tidegate's", err=True)
            return not plan.failures
        for each in mine:
            click.echo(f"release  {each.where} in {each.cluster}/{each.namespace}", err=True)
        click.echo(f"{len(mine):,} to be given back as they are; nothing restarts", err=True)
        confirm("Continue?", yes)
        with (
            closing(ActionLog(asked.settings)) as log,
            told(asked.unanswered, "giving back", len(mine)) as bar,
            recorder(asked.settings) as record,
        ):

            def heard(result: ObjectResult) -> None:
                with bar.paused():
                    log.acted(result)
                    click.echo(result_line(result))
                bar.tell(1)

            done = await release_objects(plan, record, reason, heard)
    good = sum(each.outcome not in BAD for each in done.results)
    click.echo(f"{good} given back as they are; nothing restarts", err=True)
    click.echo("`tidegate plan` shows them as not Tidegate's from now on", err=True)
    return good == len(done.results) and not plan.failures
