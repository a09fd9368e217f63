"""`tidegate when` of clusters that upgrade by their labels: the rules, run ahead."""

from collections.abc import Iterable

import click
import msgspec

from tidegate.cli.output import emit, say, terminal_width, wants_colour
from tidegate.kinds.upgrades.app.forecast import (
    forecast_cluster,
    forecast_clusters,
    is_one_cluster,
)
from tidegate.kinds.upgrades.app.read.world import FleetReading
from tidegate.kinds.upgrades.cli.source.flags import WorldQuery
from tidegate.kinds.upgrades.cli.text.answer import finish
from tidegate.kinds.upgrades.cli.text.when import (
    forecast_lines,
    one_forecast_lines,
    pace_line,
)
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.model.time import SECOND, Duration, parse_duration

DAY = 24 * 60 * 60 * SECOND
# The horizon, unless a flag says otherwise.
DAYS = 90


def pace_of(
    apply_time: str | None, pool_time: str | None, days: int = DAYS
) -> tuple[UpgradePace, str]:
    """How long upgrades are assumed to take, and where that comes from."""
    pace = UpgradePace(horizon=Duration(days * DAY))
    if apply_time:
        takes = _duration("--apply-time", apply_time)
        pace = msgspec.structs.replace(pace, classic=takes, control_plane=takes)
    if pool_time:
        pace = msgspec.structs.replace(pace, pool=_duration("--pool-time", pool_time))
    return pace, "as given" if apply_time else "assumed"


def _duration(flag: str, text: str) -> Duration:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise click.UsageError(f'{flag} "{text}": {error}; like 20m') from None


def show_dates(
    query: WorldQuery, fleet: FleetReading, name: str, output: str, assumed: tuple[UpgradePace, str]
) -> None:
    """Print when a cluster, those of an organisation, or all are upgraded, and what has no date."""
    pace, source = assumed
    if is_one_cluster(name):
        one = forecast_cluster(fleet, name, pace)
        if output != "table":
            emit(one, output)
        else:
            click.echo(pace_line(pace, source), err=True)
            _say(query, one_forecast_lines(one, terminal_width()))
        finish(one)
        return
    several = forecast_clusters(fleet, name, pace)
    if output != "table":
        emit(several, output)
    else:
        click.echo(pace_line(pace, source), err=True)
        if not several.items:
            click.echo("no organisation that is served has a cluster with labels", err=True)
        _say(query, forecast_lines(several, terminal_width()))
    finish(several)


def _say(query: WorldQuery, lines: Iterable[str]) -> None:
    colour = wants_colour(query.settings.color)
    for line in lines:
        say(line, colour)
