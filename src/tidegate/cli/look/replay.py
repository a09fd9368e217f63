"""`tidegate replay` and `shadow`: recorded decisions against today's rules, and against others'."""

from collections.abc import Iterator

import click

from tidegate.app import comparison as app
from tidegate.cli.answers.place import AnswerPlace, answering, answers_option
from tidegate.cli.output import emit
from tidegate.cli.shape import Command
from tidegate.model.counted import counted
from tidegate.model.time import format_age, format_second, parse_instant

FORMATS = ("table", "json", "yaml")
DIFFERENT = 1


@click.command(
    cls=Command,
    examples="""
    tidegate replay                        every recorded decision, with today's rules
    tidegate replay simulated/demo
    """,
)
@click.argument("partition", required=False)
@answers_option
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table")
def replay(partition: str | None, place: AnswerPlace, output: str) -> None:
    """Repeat recorded decisions: equal, or the first difference with both explanations.

    Exits 1 if something is decided differently now.
    """
    with answering(place) as answers:
        found = answers.replay(partition)
    if output != "table":
        emit(found, output)
    else:
        for line in _replay_lines(found):
            click.echo(line)
    if found.difference is not None:
        raise click.exceptions.Exit(DIFFERENT)


def _replay_lines(found: app.ReplayReport) -> Iterator[str]:
    one = found.difference
    if one is None:
        yield f"{_replayed(found)}: all equal"
        return
    yield f"{one.partition}: entry {one.seq}: decision changed: {one.target}"
    for head, lines in (("then", one.then), ("now", one.now)):
        yield from (f"  {head:<4}  {line}" for line in lines)


def _replayed(found: app.ReplayReport) -> str:
    """How many decisions, and how many targets each of them had: 4 decisions, 25 targets each."""
    decisions = counted(found.decisions, "decision")
    if not found.decisions:
        return decisions
    least, targets = found.targets_min, counted(found.targets_max, "target")
    span = targets if least == found.targets_max else f"{least} to {targets}"
    return f"{decisions}, {span}{' each' if found.decisions > 1 else ''}"


@click.command(
    cls=Command,
    examples="""
    tidegate shadow simulated/demo
    tidegate shadow upgrades/prod/o-payments     compare with the rules of AUS
    """,
)
@click.argument("partition", required=False)
@answers_option
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table")
def shadow(partition: str | None, place: AnswerPlace, output: str) -> None:
    """Compare decisions with what another system did.

    Upgrades are decided again on every observation, by the rules of Tidegate and of AUS, the
    latter with the state it would have stored. Exits 1 if they differ.
    """
    with answering(place) as answers:
        found = answers.shadow(partition)
    if output != "table":
        emit(found, output)
    else:
        for each in found.items:
            for line in _shadow_lines(each):
                click.echo(line)
    if any(each.differ for each in found.items):
        raise click.exceptions.Exit(DIFFERENT)


def _shadow_lines(one: app.ShadowedPartition) -> Iterator[str]:
    span = 0
    if one.began_at is not None and one.ended_at is not None:
        span = parse_instant(one.ended_at) - parse_instant(one.began_at)
    looks = "" if one.looks is None else f", {counted(one.looks, 'look')}"
    begins = f"{one.partition}: {format_age(span)}{looks}:"
    if not one.decisions and not one.ours_only:
        yield f"{begins} nothing to compare: no other system changed a target here"
        return
    decisions = counted(one.decisions, "decision")
    yield f"{begins} {decisions}, {one.equal} equal, {len(one.differ)} differ"
    for each in one.differ:
        what = f" {each.what}" if each.what else ""
        ours, theirs = ("ours", "theirs") if each.ours_at is not None else ("theirs", "ours")
        since = _second(each.ours_at or each.theirs_at)
        yield f"  {each.target}{what}: {ours} since {since}; {theirs}: {each.why}"
    for each in one.ours_only:
        yield f"  {each.target}: ours since {_second(each.ours_at)}, theirs not yet"


def _second(at: str | None) -> str:
    return "" if at is None else format_second(parse_instant(at))
