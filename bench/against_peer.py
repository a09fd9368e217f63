"""Ours beside the Go library, turn and turn about, so that both meet the same machine.

The library's decision is given statuses as a list and puts them in order itself; ours is given a
world that is built already. So two ratios are shown: of `decide` alone, which the goals are about,
and of building and deciding together. Ours explains every target; the library explains none.
"""

from collections.abc import Callable
from functools import partial
from itertools import product

import msgspec

from bench import recorded
from bench.fleet import NOW, SHARED, Fleet, lay_out
from bench.library import Timing, build_peer, run_peer
from bench.table import NOTHING, Report, count, draw, figure, times
from bench.timing import Best, Effort, best_ms
from tidegate.kinds.rollouts.core.decide import decide
from tidegate.model.target import State

# Scenario, size and rounds to what the peer took; None if it failed.
Ask = Callable[[str, int, int], Timing | None]

# How many times faster than the library `decide` is meant to be; at 1,000 there is no goal.
GOALS = {10_000: 10, 100_000: 100}
# The peer's rounds. Above 10,000 it takes up to a minute a round, so one case must do.
PEER_ROUNDS = {1_000: 10, 10_000: 3}
LARGE_CASE = (100_000, "All/half")


class Row(msgspec.Struct, frozen=True):
    """One scenario at one size."""

    targets: int
    scenario: str
    # The library's revision, or where its figure comes from.
    source: str
    decide_ms: float
    build_ms: float
    peer_ms: float
    ratio: float
    ratio_with_build: float
    # None where there is no goal.
    goal_met: bool | None
    # How many targets change or start to, by our decision and by the peer's; None: not run.
    changing: int
    peer_changing: int | None


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Measure every scenario that both know."""
    binary = build_peer(say) if effort.peer else None
    ask = partial(run_peer, binary, say) if binary else None
    best = Best()
    changing: dict[tuple[int, str], int] = {}
    peers: dict[tuple[int, str], Timing] = {}
    # Nothing is recorded of smaller ones.
    sizes = recorded.SIZES[:1] if effort.smoke else effort.sizes
    for turn, scenario, size in product(range(effort.passes), SHARED, sizes):
        key = (size, scenario.name)
        say(f"peer: {size:,} targets, {scenario.name}")
        ms, changing[key] = _ours(lay_out(scenario, size), effort.patience_s)
        best.note(*key, ms)
        timing = _peer(key, ask, turn)
        if timing is not None:
            best.note(*key, {"peer": timing.cpu_ms})
            peers[key] = timing
    rows = [
        _row(size, name, ms, changing[size, name], peers.get((size, name)))
        for size, name, ms in best.rows()
    ]
    return Report(rows, [_table(rows)])


def _ours(fleet: Fleet, patience_s: float) -> tuple[dict[str, float], int]:
    """Our times, and how many targets change by our decision."""
    world = fleet.build()
    plan = decide(world, NOW)
    times_ms = {
        "build": best_ms(fleet.build, patience_s),
        "decide": best_ms(lambda: decide(world, NOW), patience_s),
    }
    return times_ms, len(plan.started) + plan.states.count(State.IN_FLIGHT)


def _peer(key: tuple[int, str], ask: Ask | None, turn: int) -> Timing | None:
    """What the peer takes; None where it is not asked."""
    size, name = key
    rounds = PEER_ROUNDS.get(size, 0)
    if key == LARGE_CASE and turn == 0:
        rounds = 1
    return ask(name, size, rounds) if ask and rounds else None


def _row(size: int, name: str, ms: dict[str, float], changing: int, peer: Timing | None) -> Row:
    peer_ms = ms["peer"] if peer else recorded.recorded_ms(name, size)
    ratio = peer_ms / ms["decide"]
    goal = GOALS.get(size)
    return Row(
        size,
        name,
        f"sdk-go {peer.sdk}" if peer else recorded.SOURCE,
        ms["decide"],
        ms["build"],
        peer_ms,
        ratio,
        peer_ms / (ms["build"] + ms["decide"]),
        None if goal is None else ratio >= goal,
        changing,
        peer.to_rollout if peer else None,
    )


def _table(rows: list[Row]) -> str:
    heads = ("TARGETS", "SCENARIO", "DECIDE MS", "PEER MS", "RATIO", "WITH BUILD", "GOAL", "PEER")
    lines = [
        (
            count(row.targets),
            row.scenario,
            figure(row.decide_ms),
            figure(row.peer_ms),
            times(row.ratio),
            times(row.ratio_with_build),
            _goal(row),
            row.source,
        )
        for row in rows
    ]
    title = "Beside the Go library: RATIO is its CPU time over ours, 41× means ours takes a 41st"
    return "\n".join((draw(title, heads, lines), "", *_notes(rows)))


def _goal(row: Row) -> str:
    if row.goal_met is None:
        return NOTHING
    word = "met" if row.goal_met else "missed"
    return f"goal {word} ({GOALS[row.targets]}×)"


def _notes(rows: list[Row]) -> list[str]:
    notes = [
        f"{size:,} targets: {sum(bool(row.goal_met) for row in mine)} of {len(mine)}"
        f" meet the goal of {goal}×"
        for size, goal in GOALS.items()
        if (mine := [row for row in rows if row.targets == size])
    ]
    notes += [
        f"{row.targets:,} targets, {row.scenario}: {row.changing:,} change by our rules,"
        f" {row.peer_changing:,} by the library's"
        for row in rows
        if row.peer_changing not in (None, row.changing)
    ]
    if any(row.source == recorded.SOURCE for row in rows):
        notes.append(recorded.NOTE)
    return notes
