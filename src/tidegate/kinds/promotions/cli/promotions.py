"""`get promotions`: which version is where, since when, by which merge request, how far behind."""

import asyncio
from typing import TYPE_CHECKING

import click

from tidegate.cli.answers.place import AnswerPlace, answering, asks_service
from tidegate.cli.main import FAILURE
from tidegate.cli.merge_requests.proposal_options import forge_of
from tidegate.cli.output import emit, terminal_width
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command
from tidegate.kinds.promotions.cli.ports import SETTINGS, ports_of
from tidegate.model.errors import TidegateError
from tidegate.settings.settings import Merged, Settings
from tidegate.wiring import clock

if TYPE_CHECKING:
    from tidegate.forge.port import Forge
    from tidegate.kinds.promotions.app.documents import PromotionList
    from tidegate.kinds.promotions.app.ports import PromotionPorts

FORMATS = ("table", "wide", "json", "yaml", "name")


@click.command(
    cls=Command,
    name="promotions",
    examples="""
    tidegate get promotions
    tidegate get promotions --no-forge -o wide
    tidegate get promotions -o json
    tidegate get promotions --recorded          # as a worker read it last, from its journal
    """,
)
@click.option("--promotion", "name", metavar="NAME", help="The promotion, if several are declared.")
@click.option("--base", default="", metavar="REF", help="Read this revision of the bundle.")
@click.option("--no-fetch", is_flag=True, help="Do not fetch; use what was fetched before.")
@click.option("--no-forge", is_flag=True, help="Do not look up merge requests.")
@click.option(
    "--recorded", is_flag=True, help="Show what a worker read last; always so with --server."
)
@click.option("--no-headers", is_flag=True, help="Print the table without its head.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@settings_options(*SETTINGS, "server", "serverToken")
def get_promotions(
    merged: Merged,
    name: str | None,
    base: str,
    no_fetch: bool,
    no_forge: bool,
    recorded: bool,
    no_headers: bool,
    output: str,
) -> None:
    """List every environment: its version, since when, by which merge request, how far behind.

    Exits 1 if a version is not known: not in the artifact's repository, or not where it should be.
    """
    from tidegate.kinds.promotions.cli.list_text import version_lines

    settings = merged.settings()
    if recorded or asks_service(AnswerPlace.of(settings)):
        _show_lanes(settings, name, output, headed=not no_headers)
        return
    ports = ports_of(settings, fetch=not no_fetch)
    found = asyncio.run(_listed(ports, None if no_forge else settings, name, base))
    if output == "name":
        for environment in dict.fromkeys(row.environment for row in found.items):
            click.echo(f"env/{environment}")
    elif output in ("json", "yaml"):
        emit(found, output)
    else:
        wide, now = output == "wide", clock().now()
        for line in version_lines(found, now, terminal_width(), wide=wide, headed=not no_headers):
            click.echo(line)
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    if not found.complete:
        raise click.exceptions.Exit(FAILURE)


def _show_lanes(settings: Settings, name: str | None, output: str, *, headed: bool) -> None:
    """Print what a worker read last."""
    from tidegate.kinds.promotions.app.lanes import named_lanes
    from tidegate.kinds.promotions.cli.list_text import lane_lines

    with answering(AnswerPlace.of(settings)) as answers:
        found = named_lanes(answers.promotion_lanes(), name)
    if output == "name":
        for lane in found.items:
            for each in lane.environments:
                if not each.publishes:
                    click.echo(f"env/{each.name}")
    elif output in ("json", "yaml"):
        emit(found, output)
    elif not found.items:
        click.echo("no promotions", err=True)
    else:
        for line in lane_lines(found, clock().now(), terminal_width(), headed=headed):
            click.echo(line)


async def _listed(
    ports: "PromotionPorts", settings: Settings | None, name: str | None, base: str
) -> "PromotionList":
    """The list; without settings no forge is asked."""
    from tidegate.cli.render.progress import Waiting
    from tidegate.kinds.promotions.app.version_list import list_promotions

    forge = None if settings is None else _forge(settings, ports.bundle.url)
    try:
        with Waiting(
            "reading versions" if forge is None else "reading versions and merge requests"
        ):
            return await list_promotions(ports, forge, name, base)
    finally:
        if forge is not None:
            await forge.close()


def _forge(settings: Settings, remote: str) -> "Forge | None":
    """The forge of the bundle; None: there is none, and the commit is all that can be shown."""
    try:
        return forge_of(settings, remote)
    except (TidegateError, click.UsageError):
        return None
