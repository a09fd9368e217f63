"""`tidegate preview`: what a merge request does to the fleet."""

from typing import TYPE_CHECKING

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.merge_requests.comment_options import (
    FORGE_SETTINGS,
    Commenting,
    commenting_options,
)
from tidegate.cli.shape import Command
from tidegate.kinds.integrations.cli.revisions import Revisions, revision_options

if TYPE_CHECKING:
    from tidegate.kinds.integrations.app.preview.report import Preview

FORMATS = ("table", "wide", "markdown", "json", "yaml")


@click.command(
    cls=Command,
    examples="""
    tidegate preview --base origin/main                  what the working tree would change
    tidegate preview --base main --head my-branch        what a branch would
    tidegate preview --base main -o markdown             for a merge request
    tidegate preview --base main --comment               the same, said on it
    tidegate preview --base main --at 2026-11-20T16:00:00Z   merged then, and not now
    """,
)
@revision_options("database", "brakes", "holdFiles", *FORGE_SETTINGS)
@click.option("--at", metavar="TIME", help="The moment it is merged: a time, or 2h from now.")
@click.option("--apply-time", metavar="DURATION", help="How long a change takes, if you know.")
@commenting_options
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def preview(
    compared: Revisions,
    at: str | None,
    apply_time: str | None,
    commenting: Commenting,
    output: str,
) -> None:
    """Show the effect of a change of a bundle on the fleet, from two revisions of it.

    Workloads that are created, changed and deleted; shards by environment; in which order and when
    images move, and which brakes are in the way; new findings. No cluster is read. Exits
    1 if the change brings new errors.
    """
    found = _previewed(compared, at, apply_time)
    _show(found, output)
    if commenting.wanted:
        _comment(compared, found, commenting)
    if found.summary.new_errors:
        raise click.exceptions.Exit(FAILURE)


def _previewed(compared: Revisions, at: str | None, apply_time: str | None) -> "Preview":
    from tidegate.cli.by_hand import any_store
    from tidegate.cli.moment import duration, point
    from tidegate.cli.worker.options import brake_book
    from tidegate.kinds.integrations.app.preview.question import preview
    from tidegate.wiring import clock

    now, settings = clock().now(), compared.settings
    moment = now if at is None else point("--at", at, now)
    comparison = compared.comparison
    with any_store(settings.database) as store:
        book = brake_book(settings, store, None)
        return preview(comparison, store, book, moment, duration("--apply-time", apply_time))


def _show(found: "Preview", output: str) -> None:
    """Print a preview in the format that was asked for."""
    from tidegate.cli.output import emit, terminal_width

    if output in ("json", "yaml"):
        emit(found, output)
    elif output == "markdown":
        from tidegate.kinds.integrations.cli.preview.markdown import markdown

        click.echo(markdown(found), nl=False)
    else:
        from tidegate.kinds.integrations.cli.preview.table import lines

        for line in lines(found, terminal_width(), wide=output == "wide"):
            click.echo(line)


def _comment(compared: Revisions, found: "Preview", commenting: Commenting) -> None:
    """Write it as a comment on the merge request."""
    from tidegate.cli.merge_requests.comment_options import key_of
    from tidegate.kinds.integrations.cli.preview.markdown import markdown

    key = key_of("preview", found.prefix)
    commenting.say(key, markdown(found), compared.folder, compared.settings, compared.head)
