"""`tidegate journal show`: what happened, in the order of time, and what happens next."""

import heapq
import time
from collections import deque
from collections.abc import Iterable, Iterator

import click

from tidegate.cli.journal import known_partition, opened
from tidegate.cli.journal.entries import FORMATS, Row, Writer, make_writer
from tidegate.cli.moment import moment
from tidegate.cli.setting_options import database_option
from tidegate.cli.shape import Command
from tidegate.journal.selection import Wanted
from tidegate.kind_table import fact_tags
from tidegate.model.problem import nearest_or_all
from tidegate.model.reason import Gate
from tidegate.store.archive_port import Archive
from tidegate.wiring import clock

KINDS = tuple(sorted(fact_tags()))
# What a fact about a brake may be about, beside what gates are called.
BRAKES = frozenset({"hold", "freeze", "block", "pin", "budget"})
# How soon what is written is shown; a person does not notice less.
POLL_S = 0.25


@click.command(
    cls=Command,
    examples="""
    tidegate journal show --since 2h                       the last two hours
    tidegate journal show --target prod-eu-1 --gate mutex  when and why a mutex held one target
    tidegate journal show --kind asked --actor user:ada    requests of one person
    tidegate journal show -n 20 -w                         the last twenty, then new ones
    """,
)
@click.option("-p", "--partition", "partitions", multiple=True, help="Only this rollout.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only such facts.")
@click.option("--target", default="", help="Only what speaks of this target.")
@click.option("--gate", default="", help="Only where this gate's verdict, or its brake, changed.")
@click.option("--actor", default="", help="Only what this one did: tidegate, user:ada.")
@click.option("--since", metavar="TIME", help="From then on: 2h, 3d, or RFC 3339.")
@click.option("--until", metavar="TIME", help="Before then.")
@click.option("-n", "--last", type=click.IntRange(min=0), help="Only the last so many.")
@click.option("-w", "--watch", is_flag=True, help="Go on showing what is written.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@database_option
def show(
    partitions: tuple[str, ...],
    kinds: tuple[str, ...],
    target: str,
    gate: str,
    actor: str,
    since: str | None,
    until: str | None,
    last: int | None,
    watch: bool,
    output: str,
    database: str,
) -> None:
    """Show entries: when, by which actor, about which target.

    With -w, JSON is one object per line.
    """
    now = clock().now()
    begin = moment("--since", since, now) if since is not None else None
    end = moment("--until", until, now) if until is not None else None
    _check_gate(gate)
    wanted = Wanted(kinds, actor, target, gate, begin, end)
    with opened(database) as archive:
        names = tuple(known_partition(archive, name) for name in partitions)
        writer = make_writer(output, watch, wanted)
        # Looked at before anything is read: what is written meanwhile is shown later, not twice.
        heads = archive.heads()
        found = _until(_merged(archive, names or tuple(sorted(heads)), wanted), heads)
        writer.write(found if last is None else deque(found, maxlen=last))
        if watch:
            _follow(archive, names, wanted, heads, writer)
        writer.close()


def _check_gate(name: str) -> None:
    known = {gate.value for gate in Gate} | BRAKES
    if name and name not in known:
        hint = nearest_or_all(name, sorted(known))
        raise click.UsageError(f'no gate "{name}"; {hint}')


def _merged(archive: Archive, names: Iterable[str], wanted: Wanted) -> Iterator[Row]:
    """The entries of several partitions, by time."""
    streams = [_named(archive, name, wanted) for name in names]
    return heapq.merge(*streams, key=lambda row: (row[1].at, row[0], row[1].seq))


def _named(archive: Archive, name: str, wanted: Wanted, after: int = 0) -> Iterator[Row]:
    return ((name, entry) for entry in archive.find(name, wanted, after=after))


def _until(rows: Iterable[Row], heads: dict[str, int]) -> Iterator[Row]:
    return (row for row in rows if row[1].seq <= heads.get(row[0], 0))


def _follow(
    archive: Archive,
    names: tuple[str, ...],
    wanted: Wanted,
    known: dict[str, int],
    writer: Writer,
) -> None:
    """Show what is written from here on, until somebody has had enough."""
    while True:
        writer.flush()
        time.sleep(POLL_S)
        heads = archive.heads()
        for name in names or sorted(heads):
            after = known.get(name, 0)
            if after < heads.get(name, 0):
                writer.write(_until(_named(archive, name, wanted, after), heads))
        known = heads
