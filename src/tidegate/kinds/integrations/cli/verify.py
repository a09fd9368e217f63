"""`tidegate verify`: what is promised against what runs, shard by shard."""

import asyncio
from typing import TYPE_CHECKING

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.shape import Command
from tidegate.kinds.integrations.cli.estate import (
    READING,
    EstateQuery,
    estate_options,
    tell_troubles,
)

if TYPE_CHECKING:
    from tidegate.kinds.integrations.app.shards import Units
    from tidegate.kinds.integrations.app.verification import Verification

FORMATS = ("table", "wide", "json", "yaml")
DIFFERS, TIMED_OUT = 3, 124
TIMEOUT = "1h"


@click.command(
    cls=Command,
    examples="""
    tidegate verify                                             every shard of the bundle here
    tidegate verify --integration terraform-resources -o wide   all of one, differing or not
    tidegate verify --revision origin/main --wait --timeout 30m  until they agree
    """,
)
@estate_options()
@click.option("--wait", is_flag=True, help="Repeat until they agree.")
@click.option("--timeout", metavar="DURATION", help=f"How long to wait.  [default: {TIMEOUT}]")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def verify(asked: EstateQuery, wait: bool, timeout: str | None, output: str) -> None:
    """Compare the image that the bundle declares for every shard with what its pods run.

    Pods are asked for their image and the digest they pulled, not only their workload. Shards that
    differ are listed with the reason; -o wide lists all. Where the journal has promotions, it is
    recorded which of their environments run their version.

    \b
    Exit codes:
      0    every shard runs the declared image
      1    something could not be read, or the bundle has errors
      3    some shard runs something else
      124  --wait timed out
    """
    from tidegate.kinds.integrations.app.shards import chosen_units

    if timeout is not None and not wait:
        raise click.UsageError("--timeout says how long to wait; write --wait as well")
    asked.tell_problems()
    wait_s = _seconds(timeout or TIMEOUT) if wait else None
    units = chosen_units(asked.view)
    if not units and not asked.sound:
        click.echo("no shard can be compared", err=True)
        raise click.exceptions.Exit(FAILURE)
    if not units:
        raise click.UsageError("no shard is selected; `tidegate get shards` lists them")
    found = asyncio.run(_verified(asked, units, wait_s))
    _show(asked, found, output)
    tell_troubles(found.troubles, verbose=asked.verbose)
    _record(asked, units, found)
    _end(asked, found, waited=wait)


def _record(asked: EstateQuery, units: "Units", found: "Verification") -> None:
    """Let the journal of promotions know what runs."""
    from tidegate.cli.merge_requests.promotion_checks import record_checks

    record_checks(asked.settings, asked.folder, asked.tree, units, found)


def _seconds(text: str) -> float:
    from tidegate.model.time import SECOND, parse_duration

    try:
        return parse_duration(text) / SECOND
    except ValueError as error:
        raise click.UsageError(f'--timeout "{text}": {error}; like 30m') from None


async def _verified(asked: EstateQuery, units: "Units", wait_s: float | None) -> "Verification":
    """What runs, with a line whenever the progress changes."""
    from tidegate.cli.render.unanswered import told
    from tidegate.kinds.integrations.app.verification import verify
    from tidegate.kinds.integrations.cli.verify_text import progress_line

    printed = ""

    def progress(found: "Verification") -> None:
        nonlocal printed
        line = progress_line(found)
        if line != printed:
            with bar.paused():
                click.echo(line, err=True)
            printed = line

    async with asked.clusters() as find:
        with told(asked.unanswered, READING) as bar:
            return await verify(units, find, wait_s, progress=progress)


def _show(asked: EstateQuery, found: "Verification", output: str) -> None:
    from tidegate.cli.output import emit, say, terminal_width, wants_colour
    from tidegate.kinds.integrations.cli.verify_text import lines, tag_lines

    if output in ("json", "yaml"):
        emit(found, output)
    else:
        colour, wide = wants_colour(asked.settings.color), output == "wide"
        for line in lines(found, terminal_width(), wide=wide, verbose=asked.verbose):
            say(line, colour)
    for line in tag_lines(found):
        click.echo(f"warning: {line}", err=True)


def _end(asked: EstateQuery, found: "Verification", *, waited: bool) -> None:
    if waited and (found.differs or found.troubles):
        click.echo("timed out: they do not agree", err=True)
        raise click.exceptions.Exit(TIMED_OUT)
    if found.differs:
        raise click.exceptions.Exit(DIFFERS)
    if found.troubles or not asked.sound:
        raise click.exceptions.Exit(FAILURE)
