"""Dates before and after, as a table or as data."""

import click

from tidegate.app.brakes.what_if import RolloutWhatIf, ShiftedTarget
from tidegate.app.documents import TargetDates
from tidegate.app.text.date_text import end_words, shift_words
from tidegate.cli.output import emit, terminal_width
from tidegate.explain.table import layout
from tidegate.model.time import format_second, parse_instant

HEAD = ("GROUP", "TARGET", "DONE NOW", "DONE THEN", "SHIFT")


def print_what_if(found: RolloutWhatIf, output: str) -> None:
    """What was supposed, the end before and after, and a row for each target."""
    if output != "table":
        emit(found, output)
        return
    for each in found.settings:
        click.echo(f"{each.name}: {each.before or 'none'} -> {each.after or 'none'}")
    click.echo(end_words(found))
    for line in layout(HEAD, [_row(each) for each in found.items], terminal_width()):
        click.echo(line)


def _row(each: ShiftedTarget) -> tuple[str, ...]:
    return (each.group, each.target, _done(each.before), _done(each.after), shift_words(each))


def _done(dates: TargetDates | None) -> str:
    if dates is None or dates.done_at is None:
        return dates.held_by or "no date" if dates is not None else "no date"
    return format_second(parse_instant(dates.done_at))
