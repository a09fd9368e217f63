"""What one decision costs, part by part: building the world, deciding it, encoding the answer.

Building puts names, groups and statuses in canonical order. Deciding gives every target its state
and its verdicts. Encoding makes the JSON answer with a sentence for every verdict. What is new in
memory while deciding is measured apart, since measuring it slows the work down.
"""

from collections.abc import Callable
from itertools import product

import msgspec

from bench.fleet import NOW, OURS, WORST, Fleet, lay_out
from bench.table import Report, count, draw, figure, times
from bench.timing import Best, Effort, NewMemory, best_ms, new_memory
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.kinds.rollouts.wire.rollout_answer import answer_rollout

# What a decision may newly allocate for each target.
LIMIT_BYTES = 250
_encode = msgspec.json.Encoder().encode


class Row(msgspec.Struct, frozen=True):
    """One scenario at one size."""

    targets: int
    scenario: str
    build_ms: float
    decide_ms: float
    encode_ms: float
    kept_bytes: float
    peak_bytes: float
    # The peak over LIMIT_BYTES.
    of_limit: float


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Measure every scenario at every size."""
    best = Best()
    memory: dict[tuple[int, str], NewMemory] = {}
    for _, scenario, size in product(range(effort.passes), (*OURS, WORST), effort.sizes):
        say(f"rollout: {size:,} targets, {scenario.name}")
        fleet = lay_out(scenario, size)
        best.note(size, scenario.name, _times(fleet, effort.patience_s))
        if (size, scenario.name) not in memory:
            memory[size, scenario.name] = _memory(fleet)
    rows = [_row(size, name, ms, memory[size, name]) for size, name, ms in best.rows()]
    return Report(rows, [_costs(rows), _growth(rows)])


def _times(fleet: Fleet, patience_s: float) -> dict[str, float]:
    world: RolloutWorld = fleet.build()
    plan: RolloutPlan = decide(world, NOW)
    return {
        "build": best_ms(fleet.build, patience_s),
        "decide": best_ms(lambda: decide(world, NOW), patience_s),
        "encode": best_ms(lambda: _encode(answer_rollout(None, world, plan, NOW)), patience_s),
    }


def _memory(fleet: Fleet) -> NewMemory:
    world = fleet.build()
    return new_memory(lambda: decide(world, NOW))


def _row(size: int, name: str, ms: dict[str, float], memory: NewMemory) -> Row:
    kept, peak = memory.kept / size, memory.peak / size
    return Row(size, name, ms["build"], ms["decide"], ms["encode"], kept, peak, peak / LIMIT_BYTES)


def _costs(rows: list[Row]) -> str:
    heads = ("TARGETS", "SCENARIO", "BUILD MS", "DECIDE MS", "ENCODE MS", "KEPT B", "PEAK B")
    lines = [
        (
            count(row.targets),
            row.scenario,
            figure(row.build_ms),
            figure(row.decide_ms),
            figure(row.encode_ms),
            f"{row.kept_bytes:.0f}",
            f"{row.peak_bytes:.0f}",
            times(row.of_limit),
        )
        for row in rows
    ]
    title = (
        "One decision: CPU time, and the bytes a target newly takes while it is decided"
        f" (limit {LIMIT_BYTES})"
    )
    return draw(title, (*heads, "OF LIMIT"), lines)


def _growth(rows: list[Row]) -> str:
    """How much more each part takes for ten times the targets."""
    known = {(row.scenario, row.targets): row for row in rows}
    lines = [
        (
            f"{row.targets // 10:,} → {row.targets:,}",
            row.scenario,
            times(row.build_ms / before.build_ms),
            times(row.decide_ms / before.decide_ms),
            times(row.encode_ms / before.encode_ms),
        )
        for row in rows
        if (before := known.get((row.scenario, row.targets // 10))) is not None
    ]
    heads = ("TARGETS", "SCENARIO", "BUILD", "DECIDE", "ENCODE")
    return draw(
        "Growth: CPU time at ten times the targets; 10× is linear, 100× quadratic", heads, lines
    )
