"""`tidegate when`: the expected date of each step, and what it depends on."""

import click

from tidegate.cli.live import Live, find_target, opened
from tidegate.cli.output import emit, terminal_width
from tidegate.cli.setting_options import database_option
from tidegate.cli.shape import Command
from tidegate.core.journal.facts import Acted, Observed, Outcome
from tidegate.core.model.target import Status
from tidegate.core.model.time import (
    SECOND,
    Duration,
    Instant,
    format_instant,
    format_second,
    parse_duration,
)
from tidegate.core.why.table import layout
from tidegate.ports.store import Store
from tidegate.simulation.forecast import Expected, forecast, usual_time

ASSUMED = Duration(10 * 60 * SECOND)


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
        usual, known = _usual(store, live, apply_time)
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


def _usual(store: Store, live: Live, given: str | None) -> tuple[Duration, str]:
    if given:
        try:
            return parse_duration(given), "as given"
        except ValueError as error:
            raise click.UsageError(f'--apply-time "{given}": {error}; like 20m') from None
    durations = _durations(store, live.partition)
    word = f"the median of {len(durations)} here" if durations else "assumed"
    return usual_time(durations, ASSUMED), word


def _durations(store: Store, partition: str) -> list[Duration]:
    """How long changes took, from what was done to what succeeded."""
    began: dict[str, Instant] = {}
    found: list[Duration] = []
    for entry in store.read(partition):
        fact = entry.fact()
        if isinstance(fact, Acted) and fact.outcome is Outcome.DONE:
            began[fact.target] = entry.at
        elif isinstance(fact, Observed):
            for report in fact.reports:
                if report.status is not Status.Succeeded or report.name not in began:
                    continue
                start = began.pop(report.name)
                found.append(Duration(max(0, (report.since or start) - start)))
    return found


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
