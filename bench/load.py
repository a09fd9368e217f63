"""Load: many rollouts of a hundred targets each, on a simulated fleet in another process.

Every rollout goes through ten groups of ten; a change takes three to six seconds and soaks for one.
Rollouts begin 107 ms apart, so that no two go on in step though changes take whole seconds; in the
last row all begin at once: a thousand actions fall due in one second. Two processes beside this
one: the fleet, which keeps its own record of what it was sent and when, and one worker on SQLite,
synced to disk. From the fleet's record alone:

    latency    from the moment the last target of a group had soaked to the moment the last target
               of the next group got its task: what we add to a wave, all of its actions included
    makespan   from the first task sent to the last target soaked, beside the least it could take:
               the slowest change of every group and its soak, one after the other

KubeFleet publishes, for 1,000 staged update runs, minutes of added time a stage and 8 GB.
"""

import asyncio
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench.table import Report, count, draw
from bench.timing import Effort, Start
from tidegate.kinds.rollouts.fleet import Observation
from tidegate.kinds.rollouts.wire.remote_fleet import Carried
from tidegate.model.target import Status
from tidegate.model.time import SECOND
from tidegate.wiring.outside import remote_fleet

GROUPS, PER_GROUP = 10, 10
SOAK_S = 1
LATENCY_MS_MAX, MAKESPAN_OVER_MAX = 100, 0.05
PATIENCE_S = 400
TIDEGATE = (sys.executable, "-m", "tidegate")
WORKER_FLAGS = (
    "--act", "*", "--actions", "64", "--actions-per-second", "10000", "--rounds", "32",
    "--resync", "5s", "--discover", "500ms",
)  # fmt: skip


class Pace(msgspec.Struct, frozen=True):
    """How a fleet takes changes: how many groups there are, and how long one change takes."""

    groups: int
    apply_s: tuple[int, int] = (3, 6)
    # How often it is asked whether all have got theirs.
    look_s: float = 2.0


# As little as has a wave after another: it is only to be seen that everything runs.
SMOKE = Pace(2, (1, 1), 0.2)


class Row(msgspec.Struct, frozen=True):
    """One number of rollouts."""

    rollouts: int
    # How far apart they begin.
    every_ms: int
    targets: int
    waves: int
    p50_ms: float
    p99_ms: float
    # How much longer than the least it could take, of the slowest rollout.
    over: float
    makespan_s: float
    # Of the worker.
    cpu_s: float
    megabytes: float


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Three sizes, so that growth shows."""
    rows: list[Row] = []
    apart = ((1, 0), (10, 107), (100, 107), (100, 0)) if effort.peer else ((1, 0), (10, 107))
    pace = SMOKE if effort.smoke else Pace(GROUPS)
    for size, every_ms in apart[:1] if effort.smoke else apart:
        say(f"load: {size} rollouts of {pace.groups * PER_GROUP} targets, {every_ms} ms apart")
        with tempfile.TemporaryDirectory() as folder:
            rows.append(_measure(size, every_ms, pace, Path(folder), effort.start))
    return Report(rows, [_table(rows)])


def scenario(pace: Pace) -> dict[str, object]:
    """Groups that take a change at this pace."""
    groups = [
        {"name": f"g{g}", "clusters": [f"g{g}-c{c}" for c in range(PER_GROUP)]}
        for g in range(pace.groups)
    ]
    low, high = pace.apply_s
    per_group = {"minSuccessTime": f"{SOAK_S}s", "progressDeadline": "5m"}
    return {
        "revision": "v2",
        "lastGood": "v1",
        "groups": groups,
        "strategy": {"type": "ProgressivePerGroup", "progressivePerGroup": per_group},
        "fleet": {"applyTime": {"from": f"{low}s", "to": f"{high}s"}},
    }


def _measure(size: int, every_ms: int, pace: Pace, folder: Path, start: Start) -> Row:
    path = folder / "load.json"
    path.write_bytes(msgspec.json.encode(scenario(pace)))
    with (folder / "fleet.txt").open("wb") as said, (folder / "run.txt").open("wb") as told:
        command = [*TIDEGATE, "fleet", str(path), "--copies", str(size)]
        command += ["--every", f"{every_ms}ms"]
        fleet = start(command, stdout=subprocess.PIPE, stderr=said, text=True)
        try:
            assert fleet.stdout is not None
            address = fleet.stdout.readline().strip()
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            flags = ["--fleet", address, "--database", str(folder / "load.db"), *WORKER_FLAGS]
            worker = start([*TIDEGATE, "run", *flags], stdout=told, stderr=told)
            try:
                carried, seen = asyncio.run(live(address, size, pace))
                megabytes = _peak_megabytes(worker.pid)
            finally:
                worker.send_signal(signal.SIGTERM)
                worker.wait(timeout=60)
            cpu_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        finally:
            fleet.send_signal(signal.SIGTERM)
            fleet.communicate(timeout=60)
    return judge(size, every_ms, pace.groups, carried, seen, cpu_s, megabytes)


async def live(
    address: str, rollouts: int, pace: Pace
) -> tuple[list[Carried], dict[str, Observation]]:
    """Wait until every target has the change; what the fleet reports then."""
    remote = remote_fleet(address)
    wanted = rollouts * pace.groups * PER_GROUP
    deadline = time.monotonic() + PATIENCE_S
    try:
        while len(carried := await remote.carried()) < wanted:
            assert time.monotonic() < deadline, f"{len(carried)} of {wanted} after {PATIENCE_S} s"
            await asyncio.sleep(pace.look_s)
        # The last ones have been told, and take no longer than this.
        await asyncio.sleep(pace.apply_s[1] + pace.look_s)
        seen = {name: await remote.observe(name) for name in await remote.partitions()}
    finally:
        await remote.close()
    return carried, seen


def _peak_megabytes(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def judge(
    size: int,
    every_ms: int,
    groups: int,
    carried: list[Carried],
    seen: dict[str, Observation],
    cpu_s: float,
    megabytes: float,
) -> Row:
    """What was added to the waves, by the fleet's own record."""
    told: dict[str, dict[str, int]] = defaultdict(dict)
    for each in carried:
        told[each.partition][each.task.target] = each.at
    latencies: list[float] = []
    overs: list[float] = []
    longest = 0.0
    for partition, observation in seen.items():
        ended = {
            report.name: report.since or 0
            for report in observation.reports
            if report.status is Status.Succeeded
        }
        begun = told[partition]
        best, ready = 0.0, 0
        for g in range(groups):
            names = [f"g{g}-c{c}" for c in range(PER_GROUP)]
            if g:
                latencies.append((max(begun[name] for name in names) - ready) / 1e6)
            ready = max(ended[name] for name in names) + SOAK_S * SECOND
            best += max(ended[name] - begun[name] for name in names) / SECOND + SOAK_S
        makespan = (ready - min(begun.values())) / SECOND
        longest = max(longest, makespan)
        overs.append(makespan / best - 1)
    latencies.sort()
    return Row(
        size,
        every_ms,
        size * groups * PER_GROUP,
        len(latencies),
        latencies[len(latencies) // 2],
        latencies[min(len(latencies) - 1, len(latencies) * 99 // 100)],
        max(overs),
        longest,
        cpu_s,
        megabytes,
    )


def _table(rows: list[Row]) -> str:
    heads = (
        "ROLLOUTS", "MS APART", "TARGETS", "WAVES", "P50 MS", "P99 MS", "MAKESPAN S",
        "OVER THE LEAST", "CPU S", "MB", "GOAL",
    )  # fmt: skip
    lines = [
        (
            count(row.rollouts),
            count(row.every_ms),
            count(row.targets),
            count(row.waves),
            f"{row.p50_ms:.0f}",
            f"{row.p99_ms:.0f}",
            f"{row.makespan_s:.1f}",
            f"{row.over:.1%}",
            f"{row.cpu_s:.1f}",
            f"{row.megabytes:.0f}",
            _goal(row),
        )
        for row in rows
    ]
    return draw("Load: what one worker adds to each wave, by the fleet's own record", heads, lines)


def _goal(row: Row) -> str:
    """Whether what was promised holds."""
    kept = row.p99_ms < LATENCY_MS_MAX and row.over < MAKESPAN_OVER_MAX
    return f"p99 under {LATENCY_MS_MAX} ms, 5 % over: {'kept' if kept else 'missed'}"
