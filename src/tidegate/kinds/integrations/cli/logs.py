"""`logs`: the log lines of shards, each with the shard and the image that wrote it."""

import asyncio

import click

from tidegate.cli.render.unanswered import told
from tidegate.cli.shape import Command
from tidegate.kinds.integrations.app.logs import LogRequest, read_logs
from tidegate.kinds.integrations.app.shards import chosen_units, find_units
from tidegate.kinds.integrations.cli.estate import READING, EstateQuery, end_with, estate_options
from tidegate.kinds.integrations.core.workloads.live import CONTAINER


@click.command(
    cls=Command,
    examples="""
    tidegate logs shard/terraform-resources/ter-int-dev
    tidegate logs terraform-resources/app-sre -f --tail 20
    tidegate logs --integration terraform-resources --environment app-interface-production -f
    """,
)
@click.argument("target", required=False)
@estate_options(in_folder=False)
@click.option("-f", "--follow", is_flag=True, help="Keep printing new lines.")
@click.option("--tail", type=click.IntRange(min=0), default=None, help="Only the last lines.")
@click.option(
    "-c",
    "--container",
    default=CONTAINER,
    show_default=True,
    help="The container of the pods to read.",
)
def logs(
    asked: EstateQuery, target: str | None, follow: bool, tail: int | None, container: str
) -> None:
    """Print the log lines of shards, each with the shard and its image."""
    if target is None and asked.selection.is_everything:
        raise click.UsageError("name a shard, or write --integration, --environment or --cluster")
    units = chosen_units(asked.view) if target is None else find_units(asked.view, target)
    request = LogRequest(follow=follow, tail=tail, container=container)

    async def run() -> tuple[str, ...]:
        async with asked.clusters() as find:
            with told(asked.unanswered, READING) as bar:

                def show(source: str, line: str) -> None:
                    with bar.paused():
                        click.echo(f"{click.style(source, dim=True)} {line}")

                return await read_logs(units, find, request, show)

    end_with(asyncio.run(run()))
