"""`tidegate replay` and `shadow`: recorded decisions against today's rules, and against others'."""

import click

from tidegate.cli.live import opened
from tidegate.cli.output import emit
from tidegate.cli.setting_options import database_option
from tidegate.cli.shape import Command
from tidegate.engine.replay import StatesThen, replay_partition
from tidegate.gates.scope import kind_word
from tidegate.kind_table import rules_of
from tidegate.kinds.rollouts.core.journal.shadow import shadow as shadowed
from tidegate.kinds.upgrades.core.journal.replay import compare
from tidegate.kinds.upgrades.core.service import PARTITION as UPGRADES
from tidegate.model.counted import counted
from tidegate.model.time import format_age, format_second
from tidegate.store.port import Store

DIFFERENT = 1


@click.command(
    cls=Command,
    examples="""
    tidegate replay                        every recorded decision, with today's rules
    tidegate replay simulated/demo
    """,
)
@click.argument("partition", required=False)
@database_option
def replay(partition: str | None, database: str) -> None:
    """Repeat recorded decisions: equal, or the first difference with both explanations.

    Exits 1 if something is decided differently now.
    """
    decisions = targets = 0
    with opened(database) as store:
        for name in [partition] if partition else store.partitions():
            for one in replay_partition(store, name, rules_of(name)):
                decisions, targets = decisions + 1, targets + one.targets
                if one.difference is None:
                    continue
                click.echo(f"{name}: entry {one.seq}: decision changed: {one.difference.target}")
                for head, lines in (("then", one.difference.then), ("now", one.difference.now)):
                    for line in lines:
                        click.echo(f"  {head:<4}  {line}")
                raise click.exceptions.Exit(DIFFERENT)
    click.echo(f"{decisions} decisions over {targets} targets: all equal")


@click.command(
    cls=Command,
    examples="""
    tidegate shadow simulated/demo
    tidegate shadow upgrades/prod/o-payments     compare with the rules of AUS
    """,
)
@click.argument("partition", required=False)
@database_option
@click.option("-o", "--output", type=click.Choice(("table", "json", "yaml")), default="table")
def shadow(partition: str | None, database: str, output: str) -> None:
    """Compare decisions with what another system did.

    Upgrades are decided again on every observation, by the rules of Tidegate and of AUS, the
    latter with the state it would have stored. Exits 1 if they differ.
    """
    differ = False
    with opened(database) as store:
        for name in [partition] if partition else store.partitions():
            if kind_word(name) == UPGRADES:
                differ = _show_upgrades(store, name, output) or differ
                continue
            found = shadowed(store.read(name))
            differ = differ or bool(found.differ)
            if output != "table":
                emit({"partition": name, **_doc(found)}, output)
                continue
            span = (found.ended_at or 0) - (found.began_at or 0)
            total, odd = len(found.compared), len(found.differ)
            click.echo(
                f"{name}: {format_age(span)}: {total} decisions, {total - odd} equal, {odd} differ"
            )
            for one in found.differ:
                click.echo(f"  {one.target} at {format_second(one.at)}: {', '.join(one.shut)}")
            for target, since in found.ours_only.items():
                click.echo(f"  {target}: ours since {format_second(since)}, theirs not yet")
    if differ:
        raise click.exceptions.Exit(DIFFERENT)


def _show_upgrades(store: Store, name: str, output: str) -> bool:
    """Both rules, side by side; whether they part ways."""
    found = compare(store.read(name), StatesThen(store, rules_of(name)))
    odd = found.differ
    if output != "table":
        emit({"partition": name, **_doc(found)}, output)
        return bool(odd)
    span, total = (found.ended_at or 0) - (found.began_at or 0), len(found.wanted)
    click.echo(
        f"{name}: {format_age(span)}, {counted(found.looks, 'look')}:"
        f" {counted(total, 'decision')}, {total - len(odd)} equal, {len(odd)} differ"
    )
    for each in odd:
        ours = each.ours_at is not None
        at = each.ours_at if each.ours_at is not None else each.theirs_at
        who, other = ("ours", "theirs") if ours else ("theirs", "ours")
        since = format_second(at) if at is not None else ""
        click.echo(f"  {each.cluster} {each.what}: {who} since {since}; {other}: {each.why}")
    return bool(odd)


def _doc(found: object) -> dict[str, object]:
    from msgspec import to_builtins

    return dict(to_builtins(found))
