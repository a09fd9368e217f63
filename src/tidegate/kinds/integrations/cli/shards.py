"""`get shards` and `show shard/…`: what every shard wants and runs, and why the two differ."""

import asyncio
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from tidegate.cli.main import FAILURE
from tidegate.cli.output import again, emit, say, terminal_width, wants_colour
from tidegate.cli.shape import Command
from tidegate.kinds.integrations.app.shards import (
    ShardList,
    Units,
    chosen_units,
    find_units,
    list_shards,
    pasts_in,
    unknown_images,
)
from tidegate.kinds.integrations.cli.estate import (
    FORMATS,
    EstateQuery,
    end_with,
    estate_options,
    tell_troubles,
)
from tidegate.kinds.integrations.cli.shard_fleet import runs_of
from tidegate.kinds.integrations.cli.shard_text import shard_lines, table_lines
from tidegate.wiring import clock

if TYPE_CHECKING:
    from tidegate.kinds.integrations.core.sharding.inventory import Past

WATCH_S = 2.0


@click.command(
    cls=Command,
    name="shards",
    examples="""
    tidegate get shards examples/app-interface
    tidegate get shards --integration terraform-resources -o wide
    tidegate get shards --environment app-interface-production --behind
    tidegate get shards -o json
    """,
)
@estate_options("runs.through", "runs.port", "runs.prometheus", "runs.clusterLabel")
@click.option("--behind", is_flag=True, help="Only those that are or may be behind.")
@click.option("--no-runs", is_flag=True, help="Do not ask pods how their runs ended.")
@click.option("-w", "--watch", is_flag=True, help="Update it as it changes.")
@click.option("--no-headers", is_flag=True, help="Print the table without its head.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def get_shards(
    asked: EstateQuery, behind: bool, no_runs: bool, watch: bool, no_headers: bool, output: str
) -> None:
    """List every shard: declared and running image, since when, its pin, and its health.

    A cluster that cannot be read is reported, and the others are listed. Exits 1 then, and if
    the bundle has errors.
    """
    asked.tell_problems()
    units, troubles = chosen_units(asked.view), tuple[str, ...]()
    for _ in again(watch, WATCH_S):
        found = _listed(asked, units, ask_runs=not no_runs)
        troubles = found.troubles
        chosen = tuple(each for each in found.items if each.behind != 0 or not behind)
        _print(asked, ShardList(items=chosen, troubles=troubles), output, no_headers)
        tell_troubles(troubles, verbose=asked.verbose)
    if troubles or not asked.sound:
        raise click.exceptions.Exit(FAILURE)


def show_shard(asked: EstateQuery, target: str, output: str, colour: bool) -> None:
    """Everything known of one shard, wherever it runs."""
    units = _named(asked, target)
    found = _listed(asked, units)
    found = replace(found, troubles=(*found.troubles, *unknown_images(units)))
    if output != "table":
        emit(found, output)
    else:
        for line in shard_lines(found, clock().now()):
            say(line, colour)
    end_with(found.troubles)


def _named(asked: EstateQuery, target: str) -> Units:
    from tidegate.model.errors import NotFoundError

    try:
        return find_units(asked.view, target)
    except NotFoundError:
        # It may be missing because of an error in the bundle.
        asked.tell_problems()
        raise


def _print(asked: EstateQuery, found: ShardList, output: str, no_headers: bool) -> None:
    if output == "name":
        for each in found.items:
            click.echo(f"shard/{each.shard}")
    elif output in ("json", "yaml"):
        emit(found, output)
    else:
        colour, wide = wants_colour(asked.settings.color), output == "wide"
        now, width = clock().now(), terminal_width()
        for line in table_lines(found, now, width, wide=wide, headed=not no_headers):
            say(line, colour)


def _listed(asked: EstateQuery, units: Units, *, ask_runs: bool = True) -> ShardList:
    known = pasts(asked.settings.database, {place.partition for place, _ in units})

    async def run() -> ShardList:
        runs = runs_of(asked.settings) if ask_runs else None
        try:
            async with asked.reading() as find:
                return await list_shards(units, find, runs, known)
        finally:
            if runs is not None:
                await runs.close()

    return asyncio.run(run())


def pasts(database: str, wanted: set[str]) -> "dict[str, Past]":
    """The images that places were to run; none where there is no journal."""
    from tidegate.cli.live import opened
    from tidegate.model.errors import TidegateError

    try:
        with opened(database) as store:
            return pasts_in(store, wanted)
    except TidegateError:
        return {}
