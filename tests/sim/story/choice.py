"""Stories chosen for what they reach: each the one that adds most, in the time that it takes.

    python -m tests.sim.story.choice loop 200               among the first 200 seeds
    python -m tests.sim.story.choice upgrades 30 6          stories of six days

Prints how many branches of `src` all of them reach, and the seeds that reach the same together. A
change of the rules moves stories: choose again when a few seeds reach much less than all.
"""

import sys
import time
from collections.abc import Callable
from functools import partial

from tests.sim.branches import branches
from tests.sim.loop.story import live_through as live_loop
from tests.sim.shards import live_through as live_shards
from tests.sim.upgrades.story import live_through as live_upgrades

STORIES: dict[str, Callable[..., object]] = {
    "loop": live_loop,
    "upgrades": live_upgrades,
    "shards": live_shards,
}


def main(name: str, count: int, *more: str) -> None:
    """Choose among so many seeds."""
    live_through = STORIES[name]
    numbers = [float(each) for each in more]
    live_through(0, *numbers)  # what a process does once
    reached: dict[int, set[object]] = {}
    took: dict[int, float] = {}
    for seed in range(count):
        began = time.process_time()
        reached[seed] = branches(partial(live_through, seed, *numbers))
        took[seed] = time.process_time() - began
    every = set().union(*reached.values())
    print(f"{len(every)} branches by {count} stories in {sum(took.values()):.0f} s")
    seen: set[object] = set()
    chosen: list[int] = []
    while seen != every:
        best = max(reached, key=lambda seed: len(reached[seed] - seen) / took[seed])
        seen |= reached.pop(best)
        chosen.append(best)
        left, spent = len(every - seen), sum(took[each] for each in chosen)
        print(f"{len(chosen):4}  seed {best:4}  {left:5} left after {spent:.1f} s")
    print(", ".join(map(str, chosen)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
