"""`tidegate what-if`: what other labels would result in, before anything is written."""

import click

from tidegate.cli.moment import duration
from tidegate.cli.output import FORMATS, emit, say, terminal_width, wants_colour
from tidegate.cli.shape import Command
from tidegate.explain.pace import DatePace
from tidegate.kinds.upgrades.app.what_if import WhatIfReport, compare_labels
from tidegate.kinds.upgrades.cli.source.flags import WorldQuery, source_options
from tidegate.kinds.upgrades.cli.source.reader import read_fleet
from tidegate.kinds.upgrades.cli.source.service import served_answer
from tidegate.kinds.upgrades.cli.text.answer import finish
from tidegate.kinds.upgrades.cli.text.what_if import what_if_lines


@click.command(
    cls=Command,
    name="what-if",
    examples="""
    tidegate upgrades what-if --set pay-prod-1/soak-days=2
    tidegate upgrades what-if --set pay-prod-1/mutexes= --set pay-prod-2/mutexes=  no mutexes
    tidegate upgrades what-if --set org/o-payments/sector-max-parallel-upgrades.prod=2 -o json
    tidegate upgrades what-if --set pay-prod-1/sector=stage --ocm-url https://api.openshift.com
    """,
)
@source_options()
@click.option(
    "--set",
    "sets",
    metavar="CLUSTER/LABEL=VALUE",
    multiple=True,
    required=True,
    help="A label to try; an empty value removes it. May be repeated.",
)
@click.option("--apply-time", metavar="DURATION", help="How long an upgrade takes, if you know.")
@click.option("--pool-time", metavar="DURATION", help="How long a node pool takes.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def what_if_command(
    query: WorldQuery,
    sets: tuple[str, ...],
    apply_time: str | None,
    pool_time: str | None,
    output: str,
) -> None:
    """Show the effect of other labels: before and after, side by side.

    Shows every cluster whose next version, first shut gate or dates change, and what `lint` finds
    in only one of the two. Nothing is written. CLUSTER is a name, an external id or an id; labels
    are written without their prefix; `org/ID/LABEL=VALUE` is a label of an organisation.
    """
    pace = DatePace(
        apply_time=duration("--apply-time", apply_time),
        pool_time=duration("--pool-time", pool_time),
    )
    times = {"applyTime": apply_time, "poolTime": pool_time}
    found = served_answer(query, "/what-if", WhatIfReport, set=list(sets), **times)
    found = found or compare_labels(read_fleet(query), sets, pace)
    if output != "table":
        emit(found, output)
    else:
        for line in what_if_lines(found, terminal_width()):
            say(line, wants_colour(query.settings.color))
    if not found.changes:
        click.echo("all of these labels have these values already", err=True)
    elif found.changes_nothing:
        click.echo("no cluster changes its version or its dates", err=True)
    finish(found)
