"""`tidegate why`: a saved state, decided and explained."""

import click

from tidegate.cli.documents import files_beside, located, read_document
from tidegate.cli.output import COLOURS, FORMATS, emit, say, terminal_width, wants_colour
from tidegate.cli.shape import Command
from tidegate.core.errors import UserError
from tidegate.core.model.problem import nearest
from tidegate.core.model.time import format_age, parse_instant
from tidegate.core.rollout.decide import RolloutPlan, decide
from tidegate.core.why.table import (
    GROUP_HEAD,
    TARGET_HEAD,
    group_rows,
    headline,
    layout,
    target_rows,
)
from tidegate.core.why.tree import find_target, target_tree
from tidegate.wire.rollout_answer import answer_rollout
from tidegate.wire.rollout_doc import Reading, read_rollout
from tidegate.wiring import clock


@click.command(
    cls=Command,
    examples="""
    tidegate why state.yaml               every target, and the gate that holds it
    tidegate why state.yaml prod-eu-1     one target: every gate, and what would open it
    tidegate why state.json -o json       the same, for a program
    """,
)
@click.argument("file")
@click.argument("target", required=False)
@click.option("--now", "at", metavar="TIME", help="Decide as of this moment (RFC 3339).")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--color", type=click.Choice(COLOURS), default="auto", show_default=True)
def why(file: str, target: str | None, at: str | None, output: str, color: str) -> None:
    """Say why each target of a saved state starts or waits.

    FILE is a rollout document in YAML or JSON ("-" reads stdin): groups, strategy, statuses, and
    `now`, the moment it was taken. TARGET is one cluster in it.
    """
    reading = _read(file, at)
    plan = decide(reading.world, reading.now)
    for warning in sorted({each.text() for each in reading.warnings}):
        click.echo(f"Warning: {warning}", err=True)
    if target is None and output == "table":
        _show_all(reading, plan, wants_colour(color))
    elif target is None:
        emit(_answer(reading, plan), output)
    else:
        _show_one(reading, plan, target, output, wants_colour(color))


def _read(file: str, at: str | None) -> Reading:
    document = read_document(file)
    try:
        moment = parse_instant(at) if at else None
    except ValueError as error:
        raise click.UsageError(f'--now "{at}": {error}; like 2026-01-31T12:00:00Z') from None
    data = document.data
    if moment is not None and isinstance(data, dict):
        data = {**data, "now": at}
    try:
        return read_rollout(data, now=moment or clock().now(), files=files_beside(file))
    except UserError as error:
        raise located(document, error) from None


def _answer(reading: Reading, plan: RolloutPlan) -> dict[str, object]:
    return answer_rollout(reading.id, reading.world, plan, reading.now, reading.warnings)


def _show_all(reading: Reading, plan: RolloutPlan, colour: bool) -> None:
    world, width = reading.world, terminal_width()
    lines = [headline(world, plan), ""]
    lines += [*layout(GROUP_HEAD, group_rows(world, plan), width), ""]
    lines += layout(TARGET_HEAD, target_rows(world, plan, reading.now), width)
    if plan.recheck_at is not None:
        lines += ["", f"look again in {format_age(plan.recheck_at - reading.now)}"]
    for line in lines:
        say(line, colour)


def _show_one(reading: Reading, plan: RolloutPlan, target: str, output: str, colour: bool) -> None:
    world = reading.world
    name = target.removeprefix("cluster/")
    position = find_target(world, name)
    if position is None:
        names = [each.name for each in world.targets + world.departed]
        hint = nearest(name, names) or f"`tidegate why` without it lists all {len(names)}"
        raise click.UsageError(f'no target "{name}" in this state; {hint}')
    if output == "table":
        for line in target_tree(world, plan, position, reading.now):
            say(line, colour)
        return
    answer = _answer(reading, plan)
    rows = [*answer["targets"], *answer.get("unplaced", [])]  # type: ignore[misc]
    emit(rows[position], output)
