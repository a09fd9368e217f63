"""Which workers lead, and whether what may start does, as lines for people."""

from collections.abc import Iterable, Sequence

from tidegate.app.workers import PartitionWorker, StandbyWorker, grouped, named
from tidegate.explain.table import Row
from tidegate.model.time import Instant, format_age, parse_instant

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
        for some in grouped(each for each in workers if not each.left)
    ]


def standby_rows(workers: Iterable[StandbyWorker], now: Instant) -> list[Row]:
    """A row for each worker that leads nothing."""
    return [
        (
            each.name,
            f"standby, would {_mode(each.acts)}",
            "-",
            f"none; seen {format_age(now - parse_instant(each.seen_at))} ago",
        )
        for each in workers
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
    if worker.left:
        return "does not start: it was removed"
    if worker.leader is None:
        return "would start: no worker is running"
    return "would start: its worker only observes" if not worker.stale else "would start"


def _mode(acts: bool | None) -> str:
    return {True: "act", False: "observe", None: "not known"}[acts]


def _does(acts: bool | None) -> str:
    return {True: "acts, ", False: "only observes, ", None: ""}[acts]


def _age(some: Sequence[PartitionWorker], now: Instant) -> str:
    """How long ago the oldest of the last rounds was."""
    looked = [parse_instant(each.looked_at) for each in some if each.looked_at is not None]
    return f"{format_age(now - min(looked))} ago" if looked else "none yet"
