"""The whole loop under every fault."""

from collections import Counter
from pathlib import Path

import pytest

from tests.sim import sized
from tests.sim.loop.story import live_through
from tests.sim.story.elsewhere import ends_elsewhere
from tidegate.simulation.faults import CallFault
from tidegate.store.port import Store
from tidegate.wiring import open_store

# Together they reach every branch that the first 200 stories reach, in a sixth of the time
# (`python -m tests.sim.story.choice loop 200`).
CHOSEN: tuple[int, ...] = (131, 159, 190, 149, 121, 47, 136, 160, 70, 69, 83, 10, 109, 62, 143)
CHOSEN += (99, 27, 64, 54, 58, 155, 184, 120, 147, 76, 172, 123, 194, 169, 152, 138, 61, 154)
# The rarest fault, once more in each half.
CHOSEN += (6, 11)
# Fresh ones beside them.
STEPS = sized(4_000, 4_000, 200_000)
CHUNKS = 4
# Far enough apart for chunks never to meet; none of the chosen ones is among them.
SEEDS_A_CHUNK = 1_000


@pytest.mark.parametrize("half", [CHOSEN[::2], CHOSEN[1::2]], ids=["even", "odd"])
def test_the_chosen_stories_keep_their_promises(half: tuple[int, ...]) -> None:
    """Whatever is known to happen, happens in each half of them."""
    seen: Counter[str] = Counter()
    for seed in half:
        seen += live_through(seed).seen
    missing = [one.value for one in CallFault if not seen[f"fault: {one.value}"]]
    assert not missing, f"these faults are not met any more: {missing}"


@pytest.mark.parametrize("chunk", range(1, CHUNKS + 1))
def test_the_loop_keeps_its_promises_under_every_fault(chunk: int) -> None:
    """Order, limits, budget, keys, brakes and the journal hold; in the end every target arrives."""
    seen: Counter[str] = Counter()
    seed = chunk * SEEDS_A_CHUNK
    while seen["steps"] < STEPS // CHUNKS:
        seen += live_through(seed).seen
        seed += 1
    assert seen["carried out"], "nothing is ever carried out: the stories have become dull"


@pytest.mark.parametrize("seed", [3, 10])
def test_a_story_in_a_file_keeps_the_same_promises(seed: int, tmp_path: Path) -> None:
    """SQLite in the place of memory; and the same story comes out, entry for entry."""

    def in_file() -> Store:
        return open_store(str(tmp_path / "journal.db"))

    assert live_through(seed, in_file).ends == live_through(seed).ends


def test_a_seed_tells_the_same_story_in_every_process() -> None:
    """The same journal, hash for hash, whatever order another process has its sets in."""
    here = live_through(6).ends
    for hash_seed in ("1", "2"):
        assert ends_elsewhere("tests.sim.loop.story", "live_through(6)", hash_seed) == here
