"""Many generated states, each decided and held against the invariants and the oracle.

What needs a second decision costs several times the first, so it is checked on a fixed share of the
seeds: a seed is checked the same way everywhere.
"""

from collections import Counter

from tests.sim.again import acting_settles, order_means_nothing, times_are_honest, waits_say_until
from tests.sim.drawing import describe_case
from tests.sim.generator import case_of
from tests.sim.invariants import RULES
from tests.sim.oracle import agree
from tests.sim.telling import TELLING
from tidegate.kinds.rollouts.core.decide import decide

# One state in so many has its explanation checked, is decided again later and after acting, or is
# shuffled: what a state costs then stays close to what deciding it costs.
TELL_EVERY = 4
AGAIN_EVERY = 25
SHUFFLE_EVERY = 80


class BrokenStateError(AssertionError):
    """A state that breaks a law, with what makes it again."""

    def __init__(self, seed: int, error: BaseException) -> None:
        # Only texts are kept, so that it can cross from a worker to the process that started it.
        super().__init__(seed, str(error))
        self.seed = seed

    def __str__(self) -> str:
        again = f"python -m tests.sim --states 1 --seed {self.seed}"
        return f"{self.args[1]}\n{describe_case(case_of(self.seed))}\nseed {self.seed}: {again}"


def run_states(first: int, count: int) -> Counter[str]:
    """Check so many seeds, and count what was seen; BrokenStateError names the first that fails."""
    seen: Counter[str] = Counter()
    for seed in range(first, first + count):
        check_seed(seed, seen)
    return seen


def check_seed(seed: int, seen: Counter[str], *, whole: bool = False) -> None:
    """Check one seed; BrokenStateError names it. `whole`: every check, whatever its share."""
    try:
        check_state(seed, seen, whole=whole)
    except Exception as error:  # any error must name its seed
        raise BrokenStateError(seed, error) from error


def check_state(seed: int, seen: Counter[str], *, whole: bool = False) -> None:
    """Decide one state and hold it against everything."""
    case = case_of(seed)
    world = case.world()
    plan = decide(world, case.now)
    for rule in RULES:
        rule(world, case.now, plan)
    agree(case, world, plan)
    if whole or seed % TELL_EVERY == 0:
        for check in TELLING:
            check(world, case.now, plan)
    if whole or seed % AGAIN_EVERY == 0:
        times_are_honest(world, case.now, plan)
        waits_say_until(world, case.now, plan)
        acting_settles(case, world, plan)
    if whole or seed % SHUFFLE_EVERY == 0:
        order_means_nothing(case, seed)
    seen[world.strategy.type.value] += 1
    seen["started"] += bool(plan.started)
    seen["breached"] += plan.breached
    seen["acted"] += bool(plan.actions)
    seen[plan.course.mode.value] += 1
    for event in plan.events:
        seen[event.value] += 1
