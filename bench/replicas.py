"""Replicas: several workers on one PostgreSQL, their rounds, and how partitions change hands.

Rollouts of ten groups of one target each, on a simulated fleet in a process of its own; workers are
`tidegate serve` processes with the default lease. How partitions change hands is measured
while a round of each is due every half minute; then all workers are started again with a round of
each due every second, which is more than they can do. All of it shares this machine: past its
cores, more workers add nothing but what they cost. What does not happen within two minutes, on a
machine with much else to do, is a dash, and the measurement goes on.

    rounds/s    of all workers, by their own metrics, while rollouts go on
    db ms       what PostgreSQL spent executing statements, a round (pg_stat_database.active_time)
    even        from the start of the workers until each has as many rollouts as the others
    kill, term  from the signal to one of them until none of its rollouts is without a worker
    join        from the start of one more until it has its share
"""

import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa

from bench.table import Report, count, draw
from bench.timing import Effort, Start
from tests.contract.journals import postgres_server
from tests.real.prometheus import free_port
from tidegate.journal.lease import STANDBY, KeptLease
from tidegate.store.archive_port import Archive
from tidegate.wiring import clock, open_store

PARTITIONS = 1_000
WORKERS = (1, 2, 4)
WINDOW_S = 15.0
# The first rounds of a worker verify chains and begin changes; what is measured is what follows so
# many rounds of each rollout.
SETTLED_ROUNDS = 3
# How long any one step may take.
PATIENCE_S = 120.0
LOOK_S = 0.1
# An end is looked for less often: each look asks every worker for its numbers.
ASK_S = 1.0
_TIDEGATE = (sys.executable, "-m", "tidegate")
_ROUNDS = 'tidegate_round_seconds_count{kind="simulated"}'


class Row(msgspec.Struct, frozen=True):
    """So many workers."""

    workers: int
    partitions: int
    rounds_per_s: float
    db_ms: float
    commits_per_round: float
    # Of all workers, a round.
    cpu_ms: float
    # None: it took longer than any step may.
    even_s: float | None
    # None: the same, or there was no other worker.
    kill_s: float | None
    join_s: float | None
    term_s: float | None


class Replica:
    """One worker."""

    def __init__(
        self, fleet: str, database: str, folder: Path, flags: tuple[str, ...], start: Start
    ) -> None:
        self.port = free_port()
        command = [*_TIDEGATE, "serve", "--fleet", fleet, "--database", database, "--act", "*"]
        command += ["--listen", f"127.0.0.1:{self.port}", "--log-level", "error", *flags]
        command += ["--rounds", "32", "--actions", "64", "--actions-per-second", "10000"]
        with (folder / "workers.txt").open("ab") as said:
            self.process = start(command, stdout=said, stderr=said)

    def rounds(self) -> float:
        """How many rounds it has run."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as answer:
            text: str = answer.read().decode()
        found = [line.split()[-1] for line in text.splitlines() if line.startswith(_ROUNDS)]
        return float(found[0]) if found else 0.0

    def cpu_s(self) -> float:
        """The CPU time it has taken."""
        fields = (
            Path(f"/proc/{self.process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        )
        return (int(fields[11]) + int(fields[12])) / 100

    def end(self, how: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(how)

    def gone(self) -> None:
        """End it in any case."""
        self.process.kill()
        self.process.wait()


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """One, two and four workers on the same load."""
    rows: list[Row] = []
    sizes = (2,) if effort.smoke else WORKERS if effort.peer else WORKERS[:2]
    partitions = 6 if effort.smoke else PARTITIONS if effort.peer else PARTITIONS // 5
    for workers in sizes:
        say(f"replicas: {workers} workers, {partitions} rollouts")
        # A journal of its own for each: how long its chains are must not tell the rows apart.
        with tempfile.TemporaryDirectory() as folder, postgres_server() as address:
            rows.append(_measure(workers, partitions, address, Path(folder), effort))
        if not effort.smoke:
            say(_table(rows[-1:]))
    return Report(rows, [_table(rows)])


def _scenario() -> dict[str, object]:
    groups = [{"name": f"g{each}", "count": 1} for each in range(10)]
    return {
        "revision": "v2",
        "lastGood": "v1",
        "groups": groups,
        "strategy": {
            "type": "ProgressivePerGroup",
            "progressivePerGroup": {"minSuccessTime": "5s", "progressDeadline": "10m"},
        },
        "fleet": {"applyTime": {"from": "60s", "to": "120s"}},
    }


@contextmanager
def _fleet(copies: int, folder: Path, start: Start) -> Iterator[str]:
    path = folder / "load.json"
    path.write_bytes(msgspec.json.encode(_scenario()))
    command = [*_TIDEGATE, "fleet", str(path), "--copies", str(copies)]
    fleet = start(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert fleet.stdout is not None
        yield fleet.stdout.readline().strip()
    finally:
        fleet.kill()
        fleet.communicate()


def _measure(workers: int, partitions: int, address: str, folder: Path, effort: Effort) -> Row:
    smoke, flags = effort.smoke, ("--lease", "1s") if effort.smoke else ()
    with ExitStack() as stack:
        fleet = stack.enter_context(_fleet(partitions, folder, effort.start))
        store = stack.enter_context(closing(open_store(address)))
        replicas: list[Replica] = []

        def begin(*more: str) -> None:
            replicas.append(Replica(fleet, address, folder, (*flags, *more), effort.start))
            stack.callback(replicas[-1].gone)

        for _ in range(workers):
            begin()
        even_s = _until(lambda: _is_even(store, partitions, workers))
        kill_s = join_s = term_s = None
        if workers > 1:
            gone = replicas.pop()
            gone.gone()
            kill_s = _until(lambda: _is_led(store, partitions, gone))
            # One more comes to workers that have settled: else both would be measured.
            _until(lambda: _is_even(store, partitions, workers - 1))
            begin()
            join_s = _until(lambda: _is_even(store, partitions, workers))
            gone = replicas.pop(0)
            gone.end(signal.SIGTERM)
            term_s = _until(lambda: _is_led(store, partitions, gone))
        for each in replicas:
            each.end(signal.SIGTERM)
        _until(lambda: all(each.process.poll() is not None for each in replicas))
        for each in replicas:
            each.gone()
        replicas.clear()
        for _ in range(workers):
            begin("--resync", "1s")
        _until(lambda: _is_even(store, partitions, workers))
        settled = 0 if smoke else SETTLED_ROUNDS * partitions
        _until(lambda: _have_run(replicas, settled), ASK_S)
        rounds, commits, db_ms, cpu_s, took_s = _window(
            replicas, address, 0.2 if smoke else WINDOW_S
        )
    each_one = max(rounds, 1.0)
    return Row(
        workers, partitions, rounds / took_s, db_ms / each_one, commits / each_one,
        1000 * cpu_s / each_one, even_s, kill_s, join_s, term_s,
    )  # fmt: skip


def _window(
    replicas: list[Replica], address: str, window_s: float
) -> tuple[float, float, float, float, float]:
    """What happens within some seconds: rounds, commits, PostgreSQL's time, CPU, the seconds."""
    before, began = _counts(replicas, address), time.monotonic()
    time.sleep(window_s)
    after, took_s = _counts(replicas, address), time.monotonic() - began
    rounds, commits, db_ms, cpu_s = (
        late - early for early, late in zip(before, after, strict=True)
    )
    return rounds, commits, db_ms, cpu_s, took_s


def _counts(replicas: list[Replica], address: str) -> tuple[float, float, float, float]:
    engine = sa.create_engine(f"postgresql+psycopg://{address.partition('://')[2]}")
    try:
        with engine.connect() as connection:
            question = "SELECT xact_commit, active_time FROM pg_stat_database"
            found: Any = connection.execute(
                sa.text(f"{question} WHERE datname = current_database()")
            ).one()
    finally:
        engine.dispose()
    rounds = sum(each.rounds() for each in replicas)
    return rounds, float(found[0]), float(found[1]), sum(each.cpu_s() for each in replicas)


def led(store: Archive) -> list[KeptLease]:
    """The leases of partitions."""
    return [each for name, each in store.leases().items() if not name.startswith(STANDBY)]


def _is_led(store: Archive, partitions: int, gone: Replica) -> bool:
    """Whether all are led by others than one that is gone."""
    now, pid = clock().now(), f"/{gone.process.pid}"
    holders = [each.lease.holder for each in led(store) if each.runs(now)]
    return len(holders) == partitions and not any(each.endswith(pid) for each in holders)


def _is_even(store: Archive, partitions: int, workers: int) -> bool:
    """Whether all are led, by so many workers, each with as many within one."""
    now = clock().now()
    loads = Counter(each.lease.holder for each in led(store) if each.runs(now))
    even = max(loads.values(), default=0) - min(loads.values(), default=0) <= 1
    return even and loads.total() == partitions and len(loads) == workers


def _have_run(replicas: list[Replica], rounds: int) -> bool:
    """Whether all workers together have run so many rounds."""
    try:
        return sum(each.rounds() for each in replicas) >= rounds
    except OSError:  # one does not answer yet
        return False


def _until(condition: Callable[[], bool], every_s: float = LOOK_S) -> float | None:
    """How long it takes until something is so; None: longer than any step may take."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > PATIENCE_S:
            return None
        time.sleep(every_s)
    return time.monotonic() - began


def _table(rows: list[Row]) -> str:
    heads = (
        "WORKERS", "ROLLOUTS", "ROUNDS/S", "DB MS A ROUND", "COMMITS A ROUND", "CPU MS A ROUND",
        "EVEN S", "KILL S", "JOIN S", "TERM S",
    )  # fmt: skip
    lines = [
        (
            count(row.workers),
            count(row.partitions),
            f"{row.rounds_per_s:.0f}",
            f"{row.db_ms:.2f}",
            f"{row.commits_per_round:.1f}",
            f"{row.cpu_ms:.1f}",
            *(
                "–" if each is None else f"{each:.1f}"
                for each in (row.even_s, row.kill_s, row.join_s, row.term_s)
            ),
        )
        for row in rows
    ]
    return draw("Replicas: workers that share one PostgreSQL and one machine", heads, lines)
