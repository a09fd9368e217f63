"""What a restart takes: many rollouts taken up again from the journal, and decided anew.

A journal is made by the engine itself: every rollout lives to its end on a simulated fleet in
virtual time. Then a process of its own opens it, folds every rollout from its projection and what
came after, and decides on each; the time is that of the whole process, its start included, and the
memory is the most it ever had. Replaying takes every recorded decision again.

KubeFleet publishes 11 min 15 s (p90) and 8 GB for a restart with 1,000 placements.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench.table import Report, count, draw
from bench.timing import Effort
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.journal import Journal
from tidegate.engine.others import OtherStates
from tidegate.engine.partition import PartitionState
from tidegate.engine.round import Round, RoundContext
from tidegate.journal.facts import Mode
from tidegate.kinds.rollouts.core.journal.replay import replay
from tidegate.kinds.rollouts.kind import RolloutKind
from tidegate.kinds.rollouts.simulated.port import SimulatedFleet
from tidegate.kinds.rollouts.wire.scenario_doc import read_scenario
from tidegate.model.time import SECOND, Duration, Instant, parse_instant
from tidegate.wiring import open_store

TARGETS = 100
# What was promised for 1,000 rollouts.
SECONDS_MAX, MEGABYTES_MAX = 5, 500
REPLAYED_PER_S = 300_000
_START = parse_instant("2026-01-01T00:00:00Z")

_TAKE_UP = """
import sys
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.partition import PartitionState
from tidegate.kind_table import rules_of
from tidegate.wiring import clock, open_store
store = open_store(sys.argv[1])
book, now, parts, targets = BrakeBook(store), clock().now(), [], 0
for partition in store.partitions():
    rules = rules_of(partition)
    assert store.verify(partition) is None
    part = PartitionState(store, partition, rules, acts=True)
    brakes = book.seen(partition, rules.under_way(part.state), now)
    world = rules.world(part.state, brakes, now, lambda _: None)
    if world is not None:
        targets += len(rules.decide(world, now).states)
    parts.append(part)
# Not `ru_maxrss`: that of the process that started this one counts in it.
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(len(parts), targets, status["VmHWM"].split()[0])
"""


class Row(msgspec.Struct, frozen=True):
    """One size."""

    rollouts: int
    targets: int
    entries: int
    seconds: float
    megabytes: float
    replayed_per_s: float


class _Clock:
    """Virtual time."""

    at = _START

    def now(self) -> Instant:
        return self.at


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Three sizes, so that growth shows."""
    sizes: tuple[int, ...] = (10, 100, 1_000) if effort.peer else (10, 100)
    if effort.smoke:
        sizes = sizes[:1]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            say(f"restart: a journal of {size:,} rollouts")
            path = f"{folder}/{size}.db"
            asyncio.run(_live(path, size))
            say(f"restart: {size:,} rollouts")
            rows.append(_measure(path))
    return Report(rows, [_table(rows)])


async def _live(path: str, rollouts: int) -> None:
    """Run so many rollouts through their first groups with the whole engine."""
    store, clock = open_store(path), _Clock()
    fleet = SimulatedFleet(clock)
    kind = RolloutKind(fleet)
    executor = Executor(Limits(concurrency_max=100, per_s=10**6), Breaker())
    names = [f"simulated/r{number:04d}" for number in range(rollouts)]
    for name in names:
        fleet.add(name, read_scenario(_scenario(name)))
    others = OtherStates(store).of(kind.rules)
    context = RoundContext(BrakeBook(store), Journal(store), executor, clock, others)
    parts = [PartitionState(store, name, kind.rules) for name in names]
    for _ in range(6):
        for part in parts:
            lease = store.lease(part.partition, "bench", clock.now(), Duration(3600 * SECOND))
            assert lease is not None
            await Round(context, kind, part, lease, Mode.ACT).run()
        clock.at = Instant(clock.at + 20 * 60 * SECOND)
    store.close()


def _scenario(name: str) -> dict[str, object]:
    groups = [("canary", 5), ("stage", 15), ("prod", TARGETS - 20)]
    return {
        "revision": "v2",
        "lastGood": "v1",
        "groups": [
            {"name": group, "clusters": [f"{name[-5:]}-{group}-{at:02d}" for at in range(size)]}
            for group, size in groups
        ],
        "strategy": {
            "type": "ProgressivePerGroup",
            "progressivePerGroup": {"minSuccessTime": "10m", "maxConcurrency": 20},
        },
        "fleet": {"applyTime": "10m"},
    }


def _measure(path: str) -> Row:
    best = min((_take_up(path) for _ in range(3)), key=lambda each: each[0])
    seconds, rollouts, targets, kilobytes = best
    store = open_store(path)
    entries = sum(store.heads().values())
    begun, again = time.process_time(), 0
    for partition in store.partitions()[:100]:
        for one in replay(store.read(partition)):
            assert one.difference is None, one.difference
            again += one.targets
    spent = time.process_time() - begun
    store.close()
    return Row(rollouts, targets, entries, seconds, kilobytes / 1024, again / spent)


def _take_up(path: str) -> tuple[float, int, int, int]:
    begun = time.perf_counter()
    command = [sys.executable, "-c", _TAKE_UP, path]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1]
    )
    seconds = time.perf_counter() - begun
    rollouts, targets, kilobytes = map(int, done.stdout.split())
    return seconds, rollouts, targets, kilobytes


def _table(rows: list[Row]) -> str:
    heads = ("ROLLOUTS", "TARGETS", "ENTRIES", "S", "MB", "REPLAYED TARGETS PER CPU S", "GOAL")
    lines = [
        (
            count(row.rollouts),
            count(row.targets),
            count(row.entries),
            f"{row.seconds:.2f}",
            f"{row.megabytes:.0f}",
            count(round(row.replayed_per_s)),
            _goal(row),
        )
        for row in rows
    ]
    return draw("Restart: rollouts taken up from the journal and decided anew", heads, lines)


def _goal(row: Row) -> str:
    """Whether what was promised holds."""
    if row.rollouts < 1_000:
        return "-"
    kept = row.seconds < SECONDS_MAX and row.megabytes < MEGABYTES_MAX
    return f"under {SECONDS_MAX} s and {MEGABYTES_MAX} MB: {'kept' if kept else 'missed'}"
