"""Generated states, each held against every law: those chosen for what they add, and fresh ones."""

from collections import Counter

import pytest

from tests.sim import sized
from tests.sim.chosen import chosen, said_by
from tests.sim.states import check_seed, run_states

# Fresh states beside the chosen ones; `make sim STATES=1000000` draws as many as one likes.
STATES = sized(2_400, 2_400, 60_000)
# Enough for every worker to have something to do until the end.
CHUNKS = 12
# The chosen ones say at least this many different things of targets; else choose again.
SAID_MIN = 2_400


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_generated_state_keeps_every_law(chunk: int) -> None:
    """Whatever the state, the decision keeps the invariants and agrees with the oracle."""
    size = STATES // CHUNKS
    seen = run_states(chunk * size, size)
    assert seen["started"] > size // 4, "hardly anything starts: the states have become dull"
    assert seen["breached"], "nothing is breached: the states have become dull"


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_chosen_state_keeps_every_law(chunk: int) -> None:
    """All that a decision was ever seen to say is held against every law, in full."""
    seen: Counter[str] = Counter()
    for seed in chosen()[chunk::CHUNKS]:
        check_seed(seed, seen, whole=True)
    assert seen["started"]


def test_the_chosen_states_are_worth_it() -> None:
    """Together they say nearly all that a million states say; else they are to be chosen again."""
    said = {each for _, some in said_by(chosen()) for each in some}
    assert len(said) >= SAID_MIN, "python -m tests.sim.chosen 1000000"
