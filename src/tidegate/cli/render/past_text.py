"""What is told beside an answer about the past."""

from collections.abc import Iterable

import click

from tidegate.model.time import format_age, format_second, parse_instant
from tidegate.wiring import clock


def refuse_watch(then: str, watch: bool) -> None:
    """What was does not change."""
    if then and watch:
        raise click.UsageError("--at and --watch cannot be combined: what was does not change")


def tell_past(then: str, at: str, unknown: Iterable[str] = ()) -> None:
    """That it is the past, and of which rollouts it is not known."""
    if then and at:
        moment = parse_instant(at)
        ago = format_age(clock().now() - moment)
        click.echo(f"as of {format_second(moment)}, {ago} ago: this is the past", err=True)
    for name in unknown:
        what = "its entries of then were dropped by a compaction"
        click.echo(f"{name}: not known: {what}", err=True)
