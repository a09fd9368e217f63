"""The story of some organisations, from its seed."""

from functools import partial

from tests.sim.story import run
from tests.sim.upgrades.scene import UpgradeScene
from tidegate.store.client.memory import MemoryStore


def live_through(
    seed: int, days: float = 21, make_store: run.StoreMaker = MemoryStore, *, calm: bool = False
) -> run.Told:
    """The whole story of a seed: so many days of trouble, then quiet."""
    again = f"python -m tests.sim --upgrades 1 --seed {seed} --days {days:g}"
    make = partial(UpgradeScene, seed, days, calm)
    return run.live_through(make, UpgradeScene.start, again, make_store)
