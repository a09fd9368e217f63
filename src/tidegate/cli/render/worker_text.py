"""Which workers lead, and how old what is shown is, as lines for people."""

from collections.abc import Iterable, Sequence

import click

from tidegate.app.workers import PartitionWorker, grouped, named, trouble_lines
from tidegate.explain.table import Row
from tidegate.model.time import Instant, format_age, parse_instant
from tidegate.wiring import clock

WORKER_HEAD: Row = ("WORKER", "MODE", "LAST ROUND", "ROLLOUTS")


def worker_rows(workers: Iterable[PartitionWorker], now: Instant) -> list[Row]:
    """A row for each worker, and one for what none leads."""
    return [
        (
            some[0].leader or "none is running",
            _mode(some[0].acts),
            _age(some, now),
            named([each.partition for each in some]),
        )
        for some in grouped(workers)
    ]


def leader_words(workers: Iterable[PartitionWorker], now: Instant) -> str:
    """Which workers lead some partitions; empty: none does."""
    words = [
        f"led by worker {some[0].leader} ({_does(some[0].acts)}last round {_age(some, now)})"
        for some in grouped(workers)
        if some[0].leader is not None
    ]
    return "; ".join(words)


def start_words(worker: PartitionWorker | None) -> str:
    """What is said of a target whose gates are all open: it starts only if a worker acts."""
    if worker is None or worker.moves:
        return "starts now"
    if worker.leader is None:
        return "would start: no worker is running"
    return "would start: its worker only observes" if not worker.stale else "would start"


def tell_unattended(workers: Iterable[PartitionWorker]) -> None:
    """That what was just recorded has no effect yet, if so: no worker is running, or none acts."""
    known = list(workers)
    if not any(each.leader for each in known):
        what = "no worker is running on this journal: it takes effect when one does"
        click.echo(what, err=True)
    elif known and all(each.acts is False for each in known if each.leader):
        click.echo("its worker only observes: nothing is acted on", err=True)


def tell_trouble(worker: PartitionWorker | None) -> None:
    """The same of one partition, beside what is shown of it."""
    for line in trouble_lines([] if worker is None else [worker], clock().now()):
        click.echo(line, err=True)


def _mode(acts: bool | None) -> str:
    return {True: "act", False: "observe", None: "not known"}[acts]


def _does(acts: bool | None) -> str:
    return {True: "acts, ", False: "only observes, ", None: ""}[acts]


def _age(some: Sequence[PartitionWorker], now: Instant) -> str:
    """How long ago the oldest of the last rounds was."""
    looked = [parse_instant(each.looked_at) for each in some if each.looked_at is not None]
    return f"{format_age(now - min(looked))} ago" if looked else "none yet"
