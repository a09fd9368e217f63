"""What reading a bundle costs, beside PyYAML's C loader and jsonschema with the same schemas.

The peer loads every file and checks it against the schema of its kind. Ours does that, strictly and
with lines, resolves names, works out shards, lints, and keeps what it found for the next time.
*cold* finds an empty cache: its CPU time is that of one process that reads everything, its wall
time that of as many processes as the command would use. *warm* is the same bundle again, and there
wall time is what counts. Growth is the CPU time for a file. Wall times mean something on a machine
that does nothing else.
"""

import gc
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import yaml
from referencing import Registry, Resource

from bench.bundle_files import write_bundle
from bench.table import Report, count, draw, figure, times
from bench.timing import Effort, best_ms
from tidegate.bundle.catalogue import catalogue
from tidegate.bundle.reader import read_bundle
from tidegate.documents import plain_yaml
from tidegate.git.client.tree.directory import DirectoryTree
from tidegate.machine.file_cache import FileCache
from tidegate.machine.processes import processes
from tidegate.wiring.bundles import bundle_sections

SIZES = (100, 1_000, 10_000)
# What was aimed for: a word in a table, never an assertion.
COLD_GOAL, WALL_GOAL, WARM_GOAL_MS = 8.0, 12.0, 500.0
ROUNDS = 3


class Row(msgspec.Struct, frozen=True):
    """One size of bundle."""

    files: int
    peer_ms: float
    cold_ms: float
    ratio: float
    # How many processes the wall time is of.
    processes: int
    peer_wall_ms: float
    cold_wall_ms: float
    wall_ratio: float
    warm_ms: float
    warm_wall_ms: float


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Measure every size that the targets of the other sections have."""
    rows = []
    for size in (size for size in SIZES if size <= effort.sizes[-1]):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(_measured(Path(folder), size, effort, say))
    return Report(rows, [_table(rows)])


def _measured(folder: Path, size: int, effort: Effort, say: Callable[[str], None]) -> Row:
    bundle, cache = folder / "bundle", folder / "cache.db"
    write_bundle(bundle, size)
    validators = _validators()
    patience_s, rounds = effort.patience_s, 1 if effort.smoke else ROUNDS
    best = dict.fromkeys(("peer", "cold"), float("inf"))
    wall = dict(best)
    for _ in range(effort.passes):
        for name, work, shared in (
            ("peer", lambda: _peer(bundle, validators), lambda: _peer(bundle, validators)),
            ("cold", lambda: _cold(bundle, cache, 1), lambda: _cold(bundle, cache, None)),
        ):
            say(f"bundle: {size:,} files, {name}")
            best[name] = min(best[name], best_ms(work, patience_s))
            say(f"bundle: {size:,} files, {name}, wall")
            wall[name] = min(wall[name], _best_wall_ms(shared, rounds))
    say(f"bundle: {size:,} files, warm")
    return Row(
        files=size,
        peer_ms=best["peer"],
        cold_ms=best["cold"],
        ratio=best["peer"] / best["cold"],
        processes=processes(),
        peer_wall_ms=wall["peer"],
        cold_wall_ms=wall["cold"],
        wall_ratio=wall["peer"] / wall["cold"],
        warm_ms=best_ms(lambda: _ours(bundle, cache), patience_s),
        warm_wall_ms=_best_wall_ms(lambda: _ours(bundle, cache), rounds),
    )


def _best_wall_ms(work: Callable[[], object], rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        started_at = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started_at)
    return best * 1000


def _validators() -> dict[str, Any]:
    types = catalogue(bundle_sections())
    schemas = types.documents()
    registry: Any = Registry().with_resources(
        (name, Resource.from_contents(schema)) for name, schema in schemas.items()
    )
    return {
        written: jsonschema.Draft202012Validator(types.schema(name), registry=registry)
        for written, name in types.by_schema.items()
    }


def _peer(bundle: Path, validators: dict[str, Any]) -> int:
    wrong = 0
    for path in bundle.rglob("*.y*ml"):
        data = yaml.load(path.read_bytes(), yaml.CSafeLoader)
        wrong += sum(1 for _ in validators[data["$schema"]].iter_errors(data))
    assert not wrong, "a bundle to be measured must be sound"
    return wrong


def _ours(bundle: Path, cache: Path, cores: int | None = None) -> int:
    tree, kept = DirectoryTree(bundle), FileCache(cache)
    found = read_bundle(tree, kept, bundle_sections(), cores=cores)
    assert not found.findings, found.findings[0]
    return found.files


def _cold(bundle: Path, cache: Path, cores: int | None) -> int:
    """Nothing kept from before, neither in the file nor in this process."""
    cache.unlink(missing_ok=True)
    plain_yaml.forget()
    return _ours(bundle, cache, cores)


def _table(rows: list[Row]) -> str:
    heads = (
        "FILES", "PEER CPU", "COLD CPU", "RATIO", "US/FILE",
        "PEER WALL", "COLD WALL", "RATIO", "WARM CPU", "WARM WALL", "GOALS",
    )  # fmt: skip
    lines = [
        (
            count(row.files),
            figure(row.peer_ms),
            figure(row.cold_ms),
            times(row.ratio),
            figure(row.cold_ms * 1000 / row.files),
            figure(row.peer_wall_ms),
            figure(row.cold_wall_ms),
            times(row.wall_ratio),
            figure(row.warm_ms),
            figure(row.warm_wall_ms),
            _verdict(row),
        )
        for row in rows
    ]
    many = rows[-1].processes if rows else 1
    by = f"{COLD_GOAL:.0f}× by CPU, {WALL_GOAL:.0f}× by wall in {many} processes"
    goals = f"goals at 10,000: {by}, {WARM_GOAL_MS:.0f} ms warm"
    title = f"Reading a bundle, ms, beside PyYAML's C loader + jsonschema; {goals}"
    return draw(title, heads, lines)


def _verdict(row: Row) -> str:
    if row.files < SIZES[-1]:
        return ""
    met = {
        "CPU": row.ratio >= COLD_GOAL,
        "wall": row.wall_ratio >= WALL_GOAL,
        "warm": row.warm_wall_ms < WARM_GOAL_MS,
    }
    return ", ".join(f"{name} {'met' if good else 'missed'}" for name, good in met.items())
