"""`tidegate replay` and `shadow`: recorded decisions against today's rules, and against others'."""

from collections.abc import Iterator

import click

from tidegate.cli.live import opened
from tidegate.cli.output import emit
from tidegate.cli.setting_options import database_option
from tidegate.cli.shape import Command
from tidegate.gates.scope import kind_word
from tidegate.journal.chain import Entry
from tidegate.journal.replay import Replayed
from tidegate.kinds.rollouts.core.journal.replay import replay as replayed
from tidegate.kinds.rollouts.core.journal.shadow import shadow as shadowed
from tidegate.kinds.upgrades.core.journal.replay import compare
from tidegate.kinds.upgrades.core.journal.replay import replay as upgrades_again
from tidegate.kinds.upgrades.core.journal.state import UpgradeState, fold
from tidegate.kinds.upgrades.core.service import PARTITION as UPGRADES
from tidegate.model.counted import counted
from tidegate.model.time import Instant, format_age, format_second
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
    """Take recorded decisions again: equal, or the first difference with both explanations.

    Exits 1 if something is decided differently now.
    """
    decisions = targets = 0
    with opened(database) as store:
        for name in [partition] if partition else store.partitions():
            for one in _replayed(store, name):
                decisions, targets = decisions + 1, targets + one.targets
                if one.difference is None:
                    continue
                click.echo(f"{name}: entry {one.seq}: {one.difference.target} fares differently")
                for head, lines in (("then", one.difference.then), ("now", one.difference.now)):
                    for line in lines:
                        click.echo(f"  {head:<4}  {line}")
                raise click.exceptions.Exit(DIFFERENT)
    click.echo(f"{decisions} decisions over {targets} targets: all equal")


def _replayed(store: Store, partition: str) -> Iterator[Replayed]:
    if kind_word(partition) == UPGRADES:
        return upgrades_again(store.read(partition), StatesThen(store))
    return replayed(store.read(partition))


class StatesThen:
    """Other organisations as they were, at moments that only go forward."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[str, tuple[Iterator[Entry], list[Entry], UpgradeState]] = {}

    def __call__(self, keys: tuple[str, ...], now: Instant) -> dict[str, UpgradeState]:
        """Each by `env/org`."""
        return {key: self._at(key, now) for key in keys}

    def _at(self, key: str, now: Instant) -> UpgradeState:
        entries, ahead, state = self._read.get(key) or (
            iter(self._store.read(f"{UPGRADES}/{key}")), [], UpgradeState(),
        )  # fmt: skip
        while entry := ahead.pop() if ahead else next(entries, None):
            if entry.at > now:
                ahead.append(entry)
                break
            state = fold(state, entry.at, entry.fact(), entry.actor)
        self._read[key] = (entries, ahead, state)
        return state


@click.command(
    cls=Command,
    examples="""
    tidegate shadow simulated/demo
    tidegate shadow upgrades/prod/o-payments     our rules beside the existing service's
    """,
)
@click.argument("partition", required=False)
@database_option
@click.option("-o", "--output", type=click.Choice(("table", "json", "yaml")), default="table")
def shadow(partition: str | None, database: str, output: str) -> None:
    """Compare what was observed and decided with what the existing system did.

    Upgrades are decided again by both rules, on every look there was; the existing service's with
    what it would have kept. Exits 1 if the two part ways anywhere.
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
    found = compare(store.read(name), StatesThen(store))
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
