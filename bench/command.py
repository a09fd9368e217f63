"""The command as a process: how soon it is there, how many lines it answers, whether it grows.

The filter is spoken to as another program would: lines in, answers out, over pipes. No two lines
share a name or a time, so nothing is answered from memory. How large it has been is looked up after
the first thousand lines and after the last. Start-up is held against an interpreter that does
nothing, and everyday commands on a journal against what a person waits for without noticing.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import IO

import msgspec

from bench.table import Report, count, draw, figure, times
from bench.timing import Effort, best_process_ms
from tidegate.model.time import SECOND, format_instant, parse_instant

# By then everything that is loaded or cached once has been.
LINES_FIRST = 1_000
MODES = ("strict", "compat")
_NOW = parse_instant("2026-01-01T00:00:00Z")
_TARGETS = 10
# The most CPU time that help, and an everyday command on a journal, may take.
HELP_MS, EVERYDAY_MS = 100, 400
_DEMO = Path(__file__).parents[1] / "examples" / "demo.yaml"


class LinesRow(msgspec.Struct, frozen=True):
    """One mode of the filter. None where the machine does not tell."""

    mode: str
    lines_per_s: float
    cpu_ms_per_line: float | None
    # The most memory used until LINES_FIRST lines, and until all lines, were answered.
    first_peak_kib: int | None
    all_peak_kib: int | None


class StartupRow(msgspec.Struct, frozen=True):
    """One command from its start to its end."""

    command: str
    cpu_ms: float
    ratio: float
    # What it may take; None: no limit was set.
    limit_ms: float | None


class _Reading(msgspec.Struct, frozen=True):
    """How a process stands, as Linux tells."""

    cpu_s: float
    peak_kib: int


def run_lines(effort: Effort, say: Callable[[str], None]) -> Report:
    """Talk to the filter in every mode."""
    rows: list[LinesRow] = []
    for mode in MODES:
        say(f"lines: {effort.lines:,} lines, {mode}")
        rows.append(_talk(mode, effort.lines))
    return Report(rows, [_lines_table(rows, effort.lines)])


def run_startup(effort: Effort, say: Callable[[str], None]) -> Report:
    """Start commands that do next to nothing, and everyday ones on the journal of a rollout."""
    rounds = effort.startups
    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder) / "journal.db")
        run = [_program(), "run", "--scenario", str(_DEMO), "--once", "--database", database]
        best_process_ms(run, 1)
        bare = best_process_ms([sys.executable, "-c", "pass"], rounds)
        rows = [StartupRow("python -c pass", bare, 1, None)]
        for words, limit_ms in _commands(database):
            name = " ".join(["tidegate", *words[:2]]).removesuffix(" --database")
            say(f"startup: {name}")
            took_ms = best_process_ms([_program(), *words], rounds)
            rows.append(StartupRow(name, took_ms, took_ms / bare, limit_ms))
    return Report(rows, [_startup_table(rows)])


def _commands(database: str) -> list[tuple[list[str], float | None]]:
    """Commands, and what each may take."""
    at, hold = ["--database", database], ["hold", "add", "inc-42", "--everything", "--reason", "x"]
    return [
        (["--help"], HELP_MS),
        (["status", *at], EVERYDAY_MS),
        (["get", "rollouts", *at], EVERYDAY_MS),
        (["why", "simulated/demo", *at], EVERYDAY_MS),
        ([*hold, "--replace", "--yes", *at], EVERYDAY_MS),
        (["decide", "rollout"], None),
    ]


def _program() -> str:
    """The command of the environment that runs this."""
    beside = Path(sys.executable).with_name("tidegate")
    return str(beside) if beside.exists() else shutil.which("tidegate") or str(beside)


def _talk(mode: str, lines_all: int) -> LinesRow:
    lines = [_line(i) for i in range(lines_all)]
    command = [_program(), "decide", "rollout", "--mode", mode]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        _ask(process.stdin, process.stdout, lines[:LINES_FIRST])
        first = _read(process.pid)
        started_at = time.perf_counter()
        _ask(process.stdin, process.stdout, lines[LINES_FIRST:])
        took_s = time.perf_counter() - started_at
        last = _read(process.pid)
        process.stdin.close()
    timed = lines_all - LINES_FIRST
    return LinesRow(
        mode,
        timed / took_s,
        (last.cpu_s - first.cpu_s) / timed * 1000 if first and last else None,
        first.peak_kib if first else None,
        last.peak_kib if last else None,
    )


def _ask(questions: IO[bytes], answers: IO[bytes], lines: Sequence[bytes]) -> None:
    """Write on the side while reading, or both ends would wait for each other on full pipes."""

    def write() -> None:
        questions.writelines(lines)
        questions.flush()

    writer = Thread(target=write, daemon=True)
    writer.start()
    for _ in lines:
        if not answers.readline():
            raise RuntimeError("the filter ended before it had answered every line")
    writer.join()


def _line(i: int) -> bytes:
    """Ten targets in two groups, half of them with a status."""
    names = [f"line-{i}-target-{each}" for each in range(_TARGETS)]
    half = _TARGETS // 2
    words = ("Succeeded", "Succeeded", "Succeeded", "Progressing", "Failed")
    since = format_instant(_NOW - (i + 1) * SECOND)
    strategy = {"maxConcurrency": 3, "maxFailures": 2, "progressDeadline": "8h"}
    document = {
        "id": i,
        "now": format_instant(_NOW),
        "groups": [
            {"name": "first", "index": 0, "clusters": names[:half]},
            {"name": "second", "index": 1, "clusters": names[half:]},
        ],
        "statuses": [
            {"cluster": name, "status": word, "lastTransitionTime": since}
            for name, word in zip(names[:half], words, strict=True)
        ],
        "strategy": {"type": "Progressive", "progressive": strategy},
    }
    return msgspec.json.encode(document) + b"\n"


def _read(pid: int) -> _Reading | None:
    """CPU time and the most memory so far; None on machines without /proc."""
    folder = Path("/proc") / str(pid)
    try:
        # The name in parentheses may hold blanks; user and system ticks are 12th and 13th after.
        ticks = (folder / "stat").read_text().rpartition(")")[2].split()[11:13]
        status = (folder / "status").read_text()
    except OSError:
        return None
    peaks = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return _Reading(sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"), int(peaks[0]))


def _lines_table(rows: list[LinesRow], lines_all: int) -> str:
    peaks = (f"KIB AT {LINES_FIRST:,}", f"KIB AT {lines_all:,}")
    heads = ("MODE", "LINES/S", "CPU MS/LINE", *peaks, "GREW")
    lines = [
        (
            row.mode,
            count(round(row.lines_per_s)),
            figure(row.cpu_ms_per_line),
            count(row.first_peak_kib),
            count(row.all_peak_kib),
            _grew(row),
        )
        for row in rows
    ]
    title = (
        f"JSON lines: `decide rollout` as a process, {_TARGETS} targets a line; most memory used"
    )
    return draw(title, heads, lines)


def _grew(row: LinesRow) -> str:
    if row.first_peak_kib is None or row.all_peak_kib is None:
        return times(None)
    return f"{row.all_peak_kib / row.first_peak_kib:.2f}×"


def _startup_table(rows: list[StartupRow]) -> str:
    lines = [
        (row.command, figure(row.cpu_ms), times(row.ratio), figure(row.limit_ms), _within(row))
        for row in rows
    ]
    heads = ("COMMAND", "CPU MS", "OF BARE", "LIMIT MS", "")
    return draw("Start-up: CPU time of a whole process", heads, lines)


def _within(row: StartupRow) -> str:
    if row.limit_ms is None:
        return ""
    return "met" if row.cpu_ms <= row.limit_ms else "missed"
