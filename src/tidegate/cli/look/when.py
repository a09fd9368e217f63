"""`tidegate when`: the expected date of each step, and what it depends on."""

from typing import Any

import click
from msgspec.structs import replace

from tidegate.app.brakes.what_if import read_assumption
from tidegate.app.documents import RolloutDates, TargetDates
from tidegate.cli.answers.place import AnswerPlace, answering
from tidegate.cli.moment import duration
from tidegate.cli.output import emit, terminal_width, wants_colour
from tidegate.cli.render.what_if_text import print_what_if
from tidegate.cli.render.worker_text import tell_trouble
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command
from tidegate.documents.files import is_file, read_document
from tidegate.explain.pace import DAYS_AHEAD, DatePace
from tidegate.explain.table import layout
from tidegate.kinds.upgrades.app.forecast import (
    ClusterForecast,
    ClusterForecastList,
    ForecastRow,
    forecast_fleet,
)
from tidegate.kinds.upgrades.app.read.document import is_world
from tidegate.kinds.upgrades.app.read.world import FleetReading
from tidegate.kinds.upgrades.cli.source.flags import (
    SETTINGS,
    WorldQuery,
    named_source,
    source_flags,
)
from tidegate.kinds.upgrades.cli.source.names import fleet_of
from tidegate.kinds.upgrades.cli.text.answer import finish
from tidegate.kinds.upgrades.cli.when import print_forecast
from tidegate.model.document import Document
from tidegate.model.errors import NotFoundError
from tidegate.model.problem import nearest_or_all
from tidegate.model.target import bare
from tidegate.model.time import format_age, format_second, parse_duration, parse_instant
from tidegate.settings.settings import Merged


@click.command(
    cls=Command,
    examples="""
    tidegate when simulated/demo           every target of a rollout
    tidegate when cluster/prod-eu-1        one target, or a cluster that upgrades by its labels
    tidegate when simulated/demo --apply-time 20m
    tidegate when simulated/demo --set minSuccessTime=10m --set maxConcurrency=20%
    tidegate when simulated/demo --freeze 2026-12-24T00:00:00Z/2026-12-27T00:00:00Z
    tidegate when upgrades/prod/o-payments  every cluster of an organisation, step by step
    tidegate when examples/upgrade-world.yaml  a world of upgrades in a file
    """,
)
@click.argument("name")
@click.argument("target", required=False)
@settings_options(*SETTINGS)
@source_flags
@click.option("--apply-time", metavar="DURATION", help="How long a change takes, if you know.")
@click.option("--pool-time", metavar="DURATION", help="Of upgrades: how long a node pool takes.")
@click.option(
    "--days",
    type=click.IntRange(1, 1000),
    default=DAYS_AHEAD,
    show_default=True,
    help="Of upgrades: how many days ahead.",
)
@click.option(
    "--set", "sets", multiple=True, metavar="NAME=VALUE",
    help="Of a rollout: suppose another setting of its strategy; before and after.",
)  # fmt: skip
@click.option(
    "--freeze", "freezes", multiple=True, metavar="FROM/TO",
    help="Of a rollout: suppose that nothing starts in this time.",
)  # fmt: skip
@click.option("--hold", is_flag=True, help="Of a rollout: suppose that it is held.")
@click.option("-o", "--output", type=click.Choice(("table", "json", "yaml")), default="table")
def when(
    name: str,
    target: str | None,
    merged: Merged,
    apply_time: str | None,
    pool_time: str | None,
    days: int,
    sets: tuple[str, ...],
    freezes: tuple[str, ...],
    hold: bool,
    output: str,
    **flags: Any,
) -> None:
    """Estimate when each target starts and finishes.

    Runs the rules ahead on the present world, with the time changes usually took here. A step
    that no clock opens has no date, and is named.

    Of upgrades, every step is a row, with the gates it waits at in the order they open; a `~` marks
    a date that depends on more than the calendar: on other clusters, on how long upgrades take, on
    what a new channel offers. "Not before" is said where nothing more can be known. New versions
    are not predicted. NAME is a cluster (by name, external id or id), an organisation
    (upgrades/ENV/ORG) or a file with a world. TARGET is one target or cluster of NAME.

    With --set, --freeze or --hold, nothing is written: the dates of a rollout are shown as things
    are, and as they would be. `tidegate upgrades what-if` does so for labels of clusters.
    """
    settings = named_source(merged, recorded=flags["recorded"])
    asked = WorldQuery(settings=settings, **flags)
    pace = DatePace(
        apply_time=duration("--apply-time", apply_time),
        pool_time=duration("--pool-time", pool_time),
        days=days,
    )
    assumed = read_assumption(sets, freezes, hold)
    if not assumed.is_nothing:
        with answering(AnswerPlace.of(asked.settings)) as answers:
            print_what_if(answers.what_if(name, assumed, pace), output)
        return
    if is_file(name):
        found: Document = forecast_fleet(_world(asked, name), target or "", pace)
    else:
        if (fleet := fleet_of(asked, name)) is not None:
            found = forecast_fleet(fleet, name, pace)
        else:
            with answering(AnswerPlace.of(asked.settings)) as answers:
                found = answers.when(name, pace)
        if target is not None:
            found = _only(found, name, bare(target))
    if output != "table":
        emit(found, output)
    elif isinstance(found, ClusterForecast | ClusterForecastList):
        print_forecast(found, wants_colour(asked.settings.color))
    elif isinstance(found, RolloutDates):
        _print(found)
    if isinstance(found, ClusterForecast | ClusterForecastList):
        finish(found)


def _only(found: Document, name: str, target: str) -> Document:
    """The dates of one target of a rollout, or of one cluster of an organisation."""
    if not isinstance(found, RolloutDates | ClusterForecastList):
        raise click.UsageError(f"{name} has no targets; leave {target} out")
    items: dict[str, Any] = {_name_of(each): each for each in found.items}
    if target not in items:
        raise NotFoundError("target", target, nearest_or_all(target, sorted(items)), f"in {name}")
    return replace(found, items=(items[target],))


def _name_of(row: TargetDates | ForecastRow) -> str:
    return row.target if isinstance(row, TargetDates) else row.cluster


def _world(asked: WorldQuery, file: str) -> FleetReading:
    """A world of upgrades in a file."""
    from tidegate.kinds.upgrades.cli.source.reader import read_document_world

    document = read_document(file)
    if not is_world(document.data):
        raise click.UsageError(
            f"{file}: no world of upgrades, with orgs and clusters; a rollout is named, not a file"
        )
    return read_document_world(document, asked)


def _print(dates: RolloutDates) -> None:
    tell_trouble(dates.worker)
    if dates.worker is not None and dates.worker.leader and dates.worker.acts is False:
        click.echo("its worker only observes: nothing starts until one acts", err=True)
    takes = format_age(parse_duration(dates.apply_time))
    click.echo(f"a change takes {takes} ({dates.apply_time_from})", err=True)
    head = ("GROUP", "TARGET", "STARTS", "DONE", "DEPENDS ON")
    for line in layout(head, [_row(each) for each in dates.items], terminal_width()):
        click.echo(line)


def _row(one: TargetDates) -> tuple[str, ...]:
    depends = one.held_by or ", ".join(one.depends_on)
    bound = "" if one.not_before is None else f"not before {_date(one.not_before, '')}"
    done = _date(one.done_at, bound or "no date")
    return (one.group, one.target, _date(one.starts_at, ""), done, depends)


def _date(at: str | None, otherwise: str) -> str:
    return otherwise if at is None else format_second(parse_instant(at))
