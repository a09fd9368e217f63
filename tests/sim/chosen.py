"""Seeds chosen for what they add: each brought a set of verdicts that no seed before it had.

A million drawn states are mostly alike. What a decision says of a target is one tuple of reasons,
under one strategy and one course; of the first million states some two thousand brought a new one
(measured: 1,122 among the first 20,000, 1,696 of 100,000, 1,955 of 200,000). These are kept in
`chosen.txt` and always checked; how many fresh ones are drawn beside them is a matter of time.

    python -m tests.sim.chosen 1000000      choose again, after the generator or the rules changed
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.sim.generator import case_of
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.world import RolloutWorld

FILE = Path(__file__).with_name("chosen.txt")

# What is said of a target: under which strategy, on which course, by which reasons.
Said = tuple[str, str, tuple[str, ...]]


def said_in(world: RolloutWorld, plan: RolloutPlan) -> set[Said]:
    """All that one decision says, each once."""
    every = {id(option.verdicts): option.verdicts for option in plan.options}
    how = (world.strategy.type.value, plan.course.mode.value)
    return {(*how, tuple(each.reason.value for each in some)) for some in every.values()}


def said_by(seeds: Iterable[int]) -> Iterator[tuple[int, set[Said]]]:
    """What the decision on each seed says."""
    for seed in seeds:
        case = case_of(seed)
        world = case.world()
        yield seed, said_in(world, decide(world, case.now))


def chosen() -> list[int]:
    """The seeds that are kept."""
    return [int(word) for word in FILE.read_text(encoding="ascii").split()]


def main(count: int) -> None:
    """Choose among so many seeds, and keep them."""
    seen: set[Said] = set()
    found: list[int] = []
    for seed, said in said_by(range(count)):
        if not said <= seen:
            found.append(seed)
            seen |= said
    lines = [" ".join(map(str, found[at : at + 14])) for at in range(0, len(found), 14)]
    FILE.write_text("\n".join(lines) + "\n", encoding="ascii")
    print(f"{len(found)} of {count} seeds, {len(seen)} different tuples of verdicts")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
