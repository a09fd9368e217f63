"""Generated states and simulated rollouts from the command line, as many as one likes.

    python -m tests.sim --states 1000000 --jobs 2      states, each held against every law
    python -m tests.sim --seeds 500                    rollouts lived through in virtual time
    python -m tests.sim --seeds 1 --seed 42 --story    one of them, told
    python -m tests.sim --loops 1200                   the whole loop under faults, some 10⁶ steps
    python -m tests.sim --shards 40                    images and shards of a bundle
    python -m tests.sim --upgrades 100 --days 30       organisations over months, under faults
    python -m tests.sim --pipelines 40                 promotions over three months, under faults

Whatever fails names its seed and the command that brings it back.
"""

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from tests.sim.loop.story import live_through as live_loop
from tests.sim.pipelines.scene import MONTHS
from tests.sim.pipelines.scene import live_through as live_pipelines
from tests.sim.rollouts import live_through
from tests.sim.shards import live_through as live_shards
from tests.sim.states import BrokenStateError, run_states
from tests.sim.story.run import Told
from tests.sim.upgrades.story import live_through as live_upgrades

# Small enough for progress to be seen, large enough for handing them out to cost nothing.
STATES_A_CHUNK = 2_000
ROLLOUTS_A_CHUNK = 10
LOOPS_A_CHUNK = 5
DEFAULT_STATES, DEFAULT_SEEDS, DEFAULT_LOOPS, DEFAULT_UPGRADES = 20_000, 200, 100, 20
DEFAULT_DAYS = 21.0

Span = tuple[int, int]


def main() -> int:
    """Run what was asked for; 1 if anything is broken."""
    options = _options()
    some = (options.states, options.seeds, options.loops)
    if not any((*some, options.upgrades, options.shards, options.pipelines)):
        options.states, options.seeds = DEFAULT_STATES, DEFAULT_SEEDS
        options.loops, options.upgrades = DEFAULT_LOOPS, DEFAULT_UPGRADES
    try:
        if options.states:
            spans = _spans(options.seed, options.states, STATES_A_CHUNK)
            seen, took_s = _run(_states, spans, options.states, options.jobs, "states")
            print(_states_line(seen, options.states, took_s))
        if options.seeds:
            spans = _spans(options.seed, options.seeds, ROLLOUTS_A_CHUNK)
            seen, took_s = _run(_rollouts, spans, options.seeds, options.jobs, "rollouts")
            print(_rollouts_line(seen, options.seeds, took_s))
            if options.story:
                print(live_through(options.seed).tell())
        if options.loops:
            spans = _spans(options.seed, options.loops, LOOPS_A_CHUNK)
            seen, took_s = _run(
                partial(_stories, live_loop), spans, options.loops, options.jobs, "loops"
            )
            print(_stories_line(f"{options.loops} loops", _OF_LOOPS, seen, took_s))
        if options.shards:
            spans = _spans(options.seed, options.shards, 1)
            seen, took_s = _run(_shards, spans, options.shards, options.jobs, "shards")
            print(_stories_line(f"{options.shards} bundles", _OF_SHARDS, seen, took_s))
        if options.upgrades:
            spans = _spans(options.seed, options.upgrades, 1)
            work = partial(_stories, partial(live_upgrades, days=options.days))
            seen, took_s = _run(work, spans, options.upgrades, options.jobs, "upgrades")
            print(_stories_line(f"{options.upgrades} fleets", _OF_UPGRADES, seen, took_s))
        if options.pipelines:
            spans = _spans(options.seed, options.pipelines, 1)
            work = partial(_stories, partial(live_pipelines, days=MONTHS))
            seen, took_s = _run(work, spans, options.pipelines, options.jobs, "pipelines")
            print(_stories_line(f"{options.pipelines} pipelines", _OF_PIPELINES, seen, took_s))
    except (BrokenStateError, AssertionError) as error:
        print(f"\n{error}")
        return 1
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--states", type=int, default=0, help="how many states to decide")
    parser.add_argument("--seeds", type=int, default=0, help="how many rollouts to live through")
    parser.add_argument("--loops", type=int, default=0, help="how many stories of the whole loop")
    parser.add_argument("--shards", type=int, default=0, help="how many stories of shards")
    parser.add_argument("--upgrades", type=int, default=0, help="how many stories of upgrades")
    parser.add_argument("--pipelines", type=int, default=0, help="how many stories of pipelines")
    days = "how long upgrades are troubled, before it is quiet"
    parser.add_argument("--days", type=float, default=DEFAULT_DAYS, help=days)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes share the work")
    parser.add_argument("--story", action="store_true", help="tell the rollout of the first seed")
    return parser.parse_args()


def _spans(first: int, count: int, size: int) -> list[Span]:
    return [(at, min(size, first + count - at)) for at in range(first, first + count, size)]


def _states(span: Span) -> Counter[str]:
    return run_states(*span)


def _rollouts(span: Span) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in range(span[0], span[0] + span[1]):
        story = live_through(seed)
        seen["steps"] += story.steps
        seen["completed"] += story.rollout.completed
        seen["aborted"] += story.rollout.aborted
    return seen


def _stories(live_through: Callable[[int], Told], span: Span) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in range(span[0], span[0] + span[1]):
        seen += live_through(seed).seen
    return seen


def _shards(span: Span) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in range(span[0], span[0] + span[1]):
        told = live_shards(seed)
        seen += Counter({"moves": told.moves, "deaths": told.deaths, "edits": told.edits})
        seen += Counter({"fault: api": told.faults, "seconds": round(told.virtual_s)})
    return seen


def _run(
    work: Callable[[Span], Counter[str]], spans: list[Span], count: int, jobs: int, what: str
) -> tuple[Counter[str], float]:
    """Share the spans out; what was seen in all of them, and the seconds it took."""
    seen: Counter[str] = Counter()
    started_s = time.perf_counter()
    for done, each in enumerate(_shared(work, spans, jobs), start=1):
        seen += each
        if sys.stderr.isatty() or done == len(spans):
            share = 100 * done // len(spans)
            print(f"\r{what}: {share:3d} % of {count}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return seen, time.perf_counter() - started_s


def _shared(
    work: Callable[[Span], Counter[str]], spans: list[Span], jobs: int
) -> Iterator[Counter[str]]:
    if jobs <= 1 or len(spans) == 1:
        yield from map(work, spans)
        return
    with multiprocessing.Pool(jobs) as pool:
        yield from pool.imap_unordered(work, spans)


_SHOWN = (
    *("All", "Progressive", "ProgressivePerGroup", "ManualPerGroup"),
    *("forward", "revert", "settled", "started", "breached"),
    *("aborted", "completed", "superseded", "restarted", "retried"),
)


_OF_LOOPS = ("steps", "rounds", "deaths", "carried out")
_OF_SHARDS = ("edits", "deaths", "moves")
_OF_PIPELINES = ("steps", "rounds", "deaths", "open", "merged", "declined", "pushed", "conflicts")
_OF_UPGRADES = ("steps", "rounds", "deaths", "upgrade", "upgrade of a pool", "told")


def _states_line(seen: Counter[str], count: int, took_s: float) -> str:
    told = " · ".join(f"{word} {seen[word]}" for word in _SHOWN)
    return f"{count} states, {count / took_s:.0f} a second: {told}"


def _rollouts_line(seen: Counter[str], count: int, took_s: float) -> str:
    told = f"{seen['steps']} steps · completed {seen['completed']} · aborted {seen['aborted']}"
    return f"{count} rollouts, {count / took_s:.0f} a second: {told}"


def _stories_line(what: str, words: tuple[str, ...], seen: Counter[str], took_s: float) -> str:
    told = " · ".join(f"{seen[word]} {word}" for word in words)
    faults = sum(many for name, many in seen.items() if name.startswith("fault: "))
    hours = round(seen["seconds"] / 3600)
    lived = f"{hours} h" if hours < 1000 else f"{hours // 24} days"
    return f"{what}, {lived} lived in {took_s:.0f} s: {told} · {faults} faults"


if __name__ == "__main__":
    sys.exit(main())
