"""`tidegate when`: the expected date of each step, and what it depends on."""

import click

from tidegate.cli.live import find_target, opened
from tidegate.cli.output import emit, terminal_width
from tidegate.cli.pace import usual_pace
from tidegate.cli.setting_options import database_option
from tidegate.cli.shape import Command
from tidegate.core.model.time import SECOND, format_instant, format_second
from tidegate.core.why.table import layout
from tidegate.simulation.forecast import Expected, forecast


@click.command(
    cls=Command,
    examples="""
    tidegate when simulated/demo           every target of a rollout
    tidegate when cluster/prod-eu-1        one target
    tidegate when simulated/demo --apply-time 20m
    """,
)
@click.argument("name")
@database_option
@click.option("--apply-time", metavar="DURATION", help="How long a change takes, if you know.")
@click.option("-o", "--output", type=click.Choice(("table", "json", "yaml")), default="table")
def when(name: str, database: str, apply_time: str | None, output: str) -> None:
    """Say when each target is expected to start and to be done.

    Runs the rules ahead on the present world, with the time changes usually took here. What no
    clock opens has no date: it is named.
    """
    with opened(database) as store:
        live, target = find_target(store, name)
        usual, known = usual_pace(store, live.partition, apply_time)
    live.state.brakes = live.world.brakes  # as they are now, not as they were recorded last
    expected = forecast(live.state, live.now, {}, usual)
    if target is not None:
        expected = [one for one in expected if one.target == target]
    if output != "table":
        emit([_doc(one) for one in expected], output)
        return
    click.echo(f"a change takes {usual // SECOND} s ({known})", err=True)
    head = ("GROUP", "TARGET", "STARTS", "DONE", "DEPENDS ON")
    for line in layout(head, [_row(one) for one in expected], terminal_width()):
        click.echo(line)


def _row(one: Expected) -> tuple[str, ...]:
    starts = format_second(one.starts_at) if one.starts_at is not None else ""
    done = format_second(one.done_at) if one.done_at is not None else "no date"
    return (one.group, one.target, starts, done, one.held_by or ", ".join(one.depends_on))


def _doc(one: Expected) -> dict[str, object]:
    return {
        "target": one.target,
        "group": one.group,
        "startsAt": format_instant(one.starts_at) if one.starts_at is not None else None,
        "doneAt": format_instant(one.done_at) if one.done_at is not None else None,
        "dependsOn": one.depends_on,
        "heldBy": one.held_by or None,
    }
