"""`tidegate upgrades status`: an organisation on one screen."""

import click

from tidegate.cli.output import emit, say, terminal_width, wants_colour
from tidegate.cli.shape import Command
from tidegate.kinds.upgrades.app.owners.status import UpgradeStatus, upgrade_status
from tidegate.kinds.upgrades.cli.source.flags import WorldQuery, mode_option, source_options
from tidegate.kinds.upgrades.cli.source.reader import read_fleet
from tidegate.kinds.upgrades.cli.source.service import served_answer
from tidegate.kinds.upgrades.cli.text.answer import finish
from tidegate.kinds.upgrades.cli.text.status import status_lines

FORMATS = ("table", "wide", "json", "yaml")


@click.command(
    cls=Command,
    examples="""
    tidegate upgrades status --ocm-url https://api.openshift.com --token file:token    your own
    tidegate upgrades status --upgrades upgrades.yaml --org o-payments
    tidegate upgrades status --recorded -o wide               as last recorded, with all labels
    tidegate upgrades status --world examples/upgrade-world.yaml -o json
    """,
)
@source_options()
@mode_option
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def status(query: WorldQuery, mode: str | None, output: str) -> None:
    """Show an organisation on one screen: blocks, inheritance, sectors, clusters.

    SOAKED says whether the next version of a cluster has soaked, with ~ the date at which it will
    have, or how many cluster-days are left where no cluster runs it. Everything else about one
    cluster: `tidegate why cluster/NAME`. Exits 1 if something could not be read.
    """
    found = served_answer(query, "/upgrades", UpgradeStatus, mode=mode)
    found = found or upgrade_status(read_fleet(query), mode)
    if output in ("json", "yaml"):
        emit(found, output)
    else:
        if not found.items:
            click.echo("no organisation that is served has a cluster with labels", err=True)
        for line in status_lines(found, terminal_width(), wide=output == "wide"):
            say(line, wants_colour(query.settings.color))
    finish(found)
