"""`tidegate when`: the expected date of each step, and what it depends on."""

from typing import Any

import click

from tidegate.app.documents import RolloutDates, TargetDates
from tidegate.cli.live import journals, opened
from tidegate.cli.look.pace import usual_pace
from tidegate.cli.output import emit, terminal_width
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command
from tidegate.documents.files import is_file, read_document
from tidegate.explain.table import layout
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.kinds.rollouts.simulated.forecast import TargetForecast, forecast
from tidegate.kinds.upgrades.app.read.document import is_world
from tidegate.kinds.upgrades.cli.source.flags import SETTINGS, WorldQuery, source_flags
from tidegate.kinds.upgrades.cli.source.names import fleet_of
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.model.time import SECOND, format_instant, format_second
from tidegate.settings.settings import Merged


@click.command(
    cls=Command,
    examples="""
    tidegate when simulated/demo           every target of a rollout
    tidegate when cluster/prod-eu-1        one target, or a cluster that upgrades by its labels
    tidegate when simulated/demo --apply-time 20m
    tidegate when upgrades/prod/o-payments  every cluster of an organisation, step by step
    tidegate when world.yaml               a world of upgrades in a file
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
    default=90,
    show_default=True,
    help="Of upgrades: how many days ahead.",
)
@click.option("-o", "--output", type=click.Choice(("table", "json", "yaml")), default="table")
def when(
    name: str,
    target: str | None,
    merged: Merged,
    apply_time: str | None,
    pool_time: str | None,
    days: int,
    output: str,
    **flags: Any,
) -> None:
    """Estimate when each target starts and finishes.

    Runs the rules ahead on the present world, with the time changes usually took here. A step
    that no clock opens has no date, and is named.

    Of upgrades, every step is a row, with the gates it waits at in the order they open; a `~` marks
    a date that depends on other clusters. New versions are not predicted. NAME is a cluster (by
    name, external id or id), an organisation (upgrades/ENV/ORG) or a file with a world, of which
    TARGET is one cluster.
    """
    asked = WorldQuery(settings=merged.settings(), **flags)
    if is_file(name) or target is not None:
        _show_world(asked, name, target, output, (apply_time, pool_time, days))
        return
    fleet = fleet_of(asked, name)
    if fleet is not None:
        from tidegate.kinds.upgrades.cli.when import pace_of, show_dates

        show_dates(asked, fleet, name, output, pace_of(apply_time, pool_time, days))
        return
    _show_rollout(asked.settings.database, name, apply_time, output)


def _show_world(
    asked: WorldQuery,
    file: str,
    target: str | None,
    output: str,
    times: tuple[str | None, str | None, int],
) -> None:
    """A world of upgrades in a file."""
    from tidegate.kinds.upgrades.cli.source.reader import read_document_world
    from tidegate.kinds.upgrades.cli.when import pace_of, show_dates

    document = read_document(file)
    if not is_world(document.data):
        raise click.UsageError(
            f"{file}: no world of upgrades, with orgs and clusters; a rollout is named, not a file"
        )
    fleet = read_document_world(document, asked)
    show_dates(asked, fleet, target or "", output, pace_of(*times))


def _show_rollout(database: str, name: str, apply_time: str | None, output: str) -> None:
    with opened(database) as store:
        known = journals(store)
        one, target, _ = known.find_target(name)
        if not isinstance(one.world, RolloutWorld):
            raise UserError((Problem(one.partition, one.rules.no_dates()),))
        usual, word = usual_pace(store, one.partition, apply_time)
    one.state.brakes = one.world.brakes  # as they are now, not as they were recorded last
    expected = forecast(one.state, one.now, {}, usual)
    if target is not None:
        expected = [each for each in expected if each.target == target]
    if output != "table":
        emit(RolloutDates(items=tuple(_date(each) for each in expected)), output)
        return
    click.echo(f"a change takes {usual // SECOND} s ({word})", err=True)
    head = ("GROUP", "TARGET", "STARTS", "DONE", "DEPENDS ON")
    for line in layout(head, [_row(one) for one in expected], terminal_width()):
        click.echo(line)


def _row(one: TargetForecast) -> tuple[str, ...]:
    starts = format_second(one.starts_at) if one.starts_at is not None else ""
    done = format_second(one.done_at) if one.done_at is not None else "no date"
    return (one.group, one.target, starts, done, one.held_by or ", ".join(one.depends_on))


def _date(one: TargetForecast) -> TargetDates:
    return TargetDates(
        target=one.target,
        group=one.group,
        starts_at=format_instant(one.starts_at) if one.starts_at is not None else None,
        done_at=format_instant(one.done_at) if one.done_at is not None else None,
        depends_on=tuple(one.depends_on),
        held_by=one.held_by or None,
    )
