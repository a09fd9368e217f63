"""`tidegate when` of clusters that upgrade by their labels: the rules, run ahead."""

import click

from tidegate.cli.output import say, terminal_width
from tidegate.kinds.upgrades.app.forecast import ClusterForecast, ClusterForecastList
from tidegate.kinds.upgrades.cli.text.when import (
    forecast_lines,
    one_forecast_lines,
    pace_line,
)


def print_forecast(found: ClusterForecast | ClusterForecastList, colour: bool) -> None:
    """When a cluster, those of an organisation, or all are upgraded, and what has no date."""
    click.echo(pace_line(found.pace), err=True)
    if isinstance(found, ClusterForecast):
        lines = one_forecast_lines(found, terminal_width())
    else:
        if not found.items:
            click.echo("no organisation that is served has a cluster with labels", err=True)
        lines = forecast_lines(found, terminal_width())
    for line in lines:
        say(line, colour)
