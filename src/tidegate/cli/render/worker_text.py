"""What is told beside an answer: that no worker acts, and how old what is shown is."""

from collections.abc import Iterable

import click

from tidegate.app.workers import PartitionWorker, trouble_lines
from tidegate.wiring import clock


def tell_unattended(workers: Iterable[PartitionWorker]) -> None:
    """That what was just recorded has no effect yet, if so: no worker is running, or none acts."""
    known = list(workers)
    broken = [each.broken for each in known if each.broken]
    for line in broken:
        click.echo(line, err=True)
    if broken and len(broken) == len(known):
        return  # a worker that starts does nothing about it either
    if not any(each.leader for each in known):
        what = "no worker is running on this journal: it takes effect when one does"
        click.echo(what, err=True)
    elif known and all(each.acts is False for each in known if each.leader):
        click.echo("its worker only observes: nothing is acted on", err=True)


def tell_trouble(worker: PartitionWorker | None) -> None:
    """The same of one partition, beside what is shown of it."""
    for line in trouble_lines([] if worker is None else [worker], clock().now()):
        click.echo(line, err=True)
