"""`tidegate pending`: what is merged and not promoted, by author and age."""

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command
from tidegate.kinds.promotions.cli.ports import SETTINGS
from tidegate.settings.settings import Merged

FORMATS = ("table", "json", "yaml")


@click.command(
    cls=Command,
    examples="""
    tidegate pending                        everything that is merged and not everywhere
    tidegate pending --author ann           what is mine to promote, or to revert
    tidegate pending --older-than 8h        exit 1 if something has waited for longer
    """,
)
@click.option("--to", "to", multiple=True, metavar="ENV", help="Only in this environment.")
@click.option(
    "--author", default="", metavar="TEXT", help="Only authors whose name or address has this."
)
@click.option(
    "--older-than",
    metavar="TIME",
    help="Only commits merged longer ago than this; exits 1 if there are any.",
)
@click.option("--promotion", "name", metavar="NAME", help="The promotion, if several are declared.")
@click.option("--base", default="", metavar="REF", help="Read this revision of the bundle.")
@click.option("--no-fetch", is_flag=True, help="Do not fetch; use what was fetched before.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@settings_options(*SETTINGS)
def pending(
    merged: Merged,
    to: tuple[str, ...],
    author: str,
    older_than: str | None,
    name: str | None,
    base: str,
    no_fetch: bool,
    output: str,
) -> None:
    """List commits that are merged and not promoted: author, age, and where they are missing.

    An author who cannot promote a change by the end of the day reverts it: see `tidegate revert`.
    Exits 1 if an environment cannot be read; with --older-than also if anything is listed.
    """
    import asyncio

    from tidegate.cli.moment import moment
    from tidegate.cli.output import emit, terminal_width
    from tidegate.kinds.promotions.app.version_list import list_pending
    from tidegate.kinds.promotions.cli.list_text import pending_lines
    from tidegate.kinds.promotions.cli.ports import ports_of
    from tidegate.wiring import clock

    now = clock().now()
    before = None if older_than is None else moment("--older-than", older_than, now)
    ports = ports_of(merged.settings(), fetch=not no_fetch)
    found = asyncio.run(
        list_pending(ports, to=to, name=name, base=base, author=author, before=before)
    )
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    if output != "table":
        emit(found, output)
    elif not found.items:
        click.echo("nothing is pending" if found.complete else "nothing else is pending", err=True)
    else:
        for line in pending_lines(found, now, terminal_width()):
            click.echo(line)
    if not found.complete or (found.items and older_than is not None):
        raise click.exceptions.Exit(FAILURE)
