"""The story of some rollouts, from its seed."""

from functools import partial

from tests.sim.loop.scene import RolloutScene
from tests.sim.story import run
from tidegate.store.client.memory import MemoryStore


def live_through(seed: int, make_store: run.StoreMaker = MemoryStore) -> run.Told:
    """The whole story of a seed; a failure has the command that repeats it."""
    again = f"python -m tests.sim --loops 1 --seed {seed}"
    return run.live_through(partial(RolloutScene, seed), RolloutScene.start, again, make_store)
