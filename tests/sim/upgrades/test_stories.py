"""Months of virtual time, whatever goes wrong."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sim import FULL, IN_CI, sized
from tests.sim.story.elsewhere import ends_elsewhere
from tests.sim.story.run import Told
from tests.sim.upgrades.story import live_through
from tidegate.store.port import Store
from tidegate.wiring import open_store

# A story is days of trouble, and then as long as it takes. Of 7,477 branches that 14 stories of
# five days reach, these miss 35, in a third of the time
# (`python -m tests.sim.story.choice upgrades 14 5`); without the last two, 116.
CHOSEN = (11, 10, 9, 4, 1, 2)
# Where the witness once took the order of the requests for the order of the decisions: of two that
# start in one round, one asks for a mutex, and one of a sector with a limit not.
ONCE_MISTAKEN = 1
DAYS = 5.0
# Fresh ones beside them, and longer.
FRESH, LONGER = 6, 10.0
CHUNKS = 2
STORIES = CHOSEN[: sized(2, 4, 6)]
# What must be seen in every chunk, or the stories have become dull.
FAULTS_MIN = 5
WANTED = ("upgrade", "channel", "agreement", "told", "deaths")


def told_by(chunk: int) -> Iterator[Told]:
    """The stories of a chunk."""
    for seed in STORIES[chunk::CHUNKS]:
        told = live_through(seed, DAYS)
        assert seed != ONCE_MISTAKEN or told.seen["upgrade of a pool"]
        yield told
    for seed in range(chunk, FRESH, CHUNKS) if FULL else ():
        yield live_through(seed, LONGER)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_upgrades_keep_their_promises_whatever_goes_wrong(chunk: int) -> None:
    """Mutexes, sectors, limits, soak, brakes, windows, owners; in the end every target arrives."""
    seen: Counter[str] = Counter()
    for told in told_by(chunk):
        seen += told.seen
    if IN_CI:
        missing = [each for each in WANTED if not seen[each]]
        assert not missing, f"these are not met any more: {missing}"
        faults = [name for name in seen if name.startswith("fault: ")]
        assert len(faults) >= FAULTS_MIN, f"only {faults} are met any more"


def test_a_seed_tells_the_same_story_on_every_store_and_in_every_process(tmp_path: Path) -> None:
    """The same journal, hash for hash: on a file, and in whatever order sets are elsewhere."""

    def in_file() -> Store:
        return open_store(str(tmp_path / "journal.db"))

    here = live_through(2, 3, in_file).ends
    assert ends_elsewhere("tests.sim.upgrades.story", "live_through(2, 3)", "1") == here
