"""CPU time and new memory of a piece of work, so that a busy machine disturbs little.

CPU time, because other work on the machine stretches wall time and hardly CPU time; the best of
several rounds, because noise only ever adds. Before each round garbage is collected, so that no
round pays for what was made before; during it the collector runs as it does in production. The
result is let go after the clock has stopped. The Go peer times itself in the same way.

A busy machine also slows down and speeds up by the minute, by half and more. So a table is gone
through twice, with all sizes of a row one after the other, and the better figure counts.
"""

import gc
import resource
import subprocess
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

Start: TypeAlias = type[subprocess.Popen[Any]]
# How often a table is gone through.
PASSES = 2
# One round may be hit by anything; two passes of two rounds seldom are, all four.
ROUNDS_MIN = 2
# Past that many rounds the best hardly gets better.
ROUNDS_MAX = 25


class Effort(msgspec.Struct, frozen=True):
    """How much to measure."""

    sizes: tuple[int, ...]
    # Rounds are repeated until they have taken that much CPU time together.
    patience_s: float
    # JSON lines to be answered.
    lines: int
    # How often each command is started.
    startups: int
    # Whether the Go peer may run; without it, recorded figures stand in.
    peer: bool
    # Whether it is only to be seen that everything runs.
    smoke: bool = False
    # How `python -m tidegate` is started, where its start is not what is measured.
    start: Start = subprocess.Popen

    @property
    def passes(self) -> int:
        """How often a table is gone through."""
        return 1 if self.smoke else PASSES


class NewMemory(msgspec.Struct, frozen=True):
    """Bytes that a piece of work allocated."""

    kept: int
    peak: int


class Best:
    """The best figure so far of every part of every row."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, str], dict[str, float]] = {}

    def note(self, size: int, scenario: str, parts: Mapping[str, float]) -> None:
        """Keep what is better than before."""
        known = self._rows.setdefault((size, scenario), {})
        for part, ms in parts.items():
            known[part] = min(ms, known.get(part, ms))

    def rows(self) -> Iterator[tuple[int, str, dict[str, float]]]:
        """Size, scenario and the best of each part; by size."""
        for size, scenario in sorted(self._rows, key=lambda key: key[0]):
            yield size, scenario, self._rows[size, scenario]


def best_ms(work: Callable[[], object], patience_s: float) -> float:
    """The CPU time of the best round, in milliseconds; of the only one without patience."""
    best, spent = float("inf"), 0.0
    for done in range(ROUNDS_MAX):
        if done >= (ROUNDS_MIN if patience_s else 1) and spent >= patience_s:
            break
        took = _one_round(work)
        best, spent = min(best, took), spent + took
    return best * 1000


def _one_round(work: Callable[[], object]) -> float:
    gc.collect()
    started_at = time.process_time()
    result = work()
    took = time.process_time() - started_at
    del result
    return took


def new_memory(work: Callable[[], object]) -> NewMemory:
    """What work allocates: what its result keeps, and the most there was on the way."""
    gc.collect()
    tracemalloc.start()
    try:
        result = work()
        kept, peak = tracemalloc.get_traced_memory()
        del result
    finally:
        tracemalloc.stop()
    return NewMemory(kept, peak)


def best_process_ms(command: Sequence[str], rounds: int) -> float:
    """The CPU time of the best run of a whole process, in milliseconds."""
    return min(_process_s(command) for _ in range(rounds)) * 1000


def _process_s(command: Sequence[str]) -> float:
    before = children_s()
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode(errors='replace')}")
    return children_s() - before


def children_s() -> float:
    """CPU time of all processes that were started here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
