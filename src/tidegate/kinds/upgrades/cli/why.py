"""`tidegate why` of clusters that upgrade by their labels: one in full, or an organisation's."""

import click

from tidegate.cli.output import emit, say, terminal_width, wants_colour
from tidegate.kinds.upgrades.app.explanation import (
    explain_cluster,
    explain_organisations,
    is_organisation,
)
from tidegate.kinds.upgrades.app.read.world import FleetReading
from tidegate.kinds.upgrades.cli.source.flags import WorldQuery
from tidegate.kinds.upgrades.cli.text.answer import finish
from tidegate.kinds.upgrades.cli.text.why import cluster_tree, organisation_lines


def show_upgrades(query: WorldQuery, fleet: FleetReading, name: str, output: str) -> None:
    """Print why a cluster waits, gate by gate; every cluster of an organisation; or all of them."""
    colour = wants_colour(query.settings.color)
    if name and not is_organisation(name):
        one = explain_cluster(fleet, name, query.mode)
        if output != "table":
            emit(one, output)
        else:
            for line in cluster_tree(one, one.now):
                say(line, colour)
        finish(one)
        return
    several = explain_organisations(fleet, name, query.mode)
    if output != "table":
        emit(several, output)
    else:
        if not several.items:
            click.echo("no organisation that is served has a cluster with labels", err=True)
        for line in organisation_lines(several, terminal_width()):
            say(line, colour)
    finish(several)
