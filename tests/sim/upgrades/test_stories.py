"""Months of virtual time, whatever goes wrong."""

from collections import Counter
from pathlib import Path

import pytest

from tests.sim import IN_CI, sized
from tests.sim.story.elsewhere import ends_elsewhere
from tests.sim.upgrades.story import live_through
from tidegate.store.port import Store
from tidegate.wiring import open_store

# A story is days of trouble, and then as long as it takes. Of the branches that four stories of ten
# days reach, four of five days reach 99 of 100; six meet enough kinds of faults, too.
DAYS = sized(6, 6, 10)
CHUNKS = 2
# Four stories reach 98 of 100 branches that nine reach.
STORIES = sized(2, 4, 6)
# What must be seen in every chunk, or the stories have become dull.
FAULTS_MIN = 5
WANTED = ("upgrade", "channel", "agreement", "told", "deaths")


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_upgrades_keep_their_promises_whatever_goes_wrong(chunk: int) -> None:
    """Mutexes, sectors, limits, soak, brakes, windows, owners; in the end every target arrives."""
    seen: Counter[str] = Counter()
    for seed in range(chunk, STORIES, CHUNKS):
        seen += live_through(seed, DAYS).seen
    if IN_CI:
        missing = [each for each in WANTED if not seen[each]]
        assert not missing, f"these are not met any more: {missing}"
        faults = [name for name in seen if name.startswith("fault: ")]
        assert len(faults) >= FAULTS_MIN, f"only {faults} are met any more"


def test_a_mutex_that_a_sector_does_not_ask_for_is_taken_in_any_order() -> None:
    """Of two that start in one round, one asks for a mutex, and one of a sector with a limit not.

    Seed 1 is where the witness once took the order of the requests for the order of the decisions.
    """
    assert live_through(1, 5).seen["upgrade of a pool"]


def test_a_seed_tells_the_same_story_on_every_store_and_in_every_process(tmp_path: Path) -> None:
    """The same journal, hash for hash: on a file, and in whatever order sets are elsewhere."""

    def in_file() -> Store:
        return open_store(str(tmp_path / "journal.db"))

    here = live_through(2, 3, in_file).ends
    assert ends_elsewhere("tests.sim.upgrades.story", "live_through(2, 3)", "1") == here
