"""Images and shards under faults, in virtual time: laws that only a witness can see."""

import pytest

from tests.sim import IN_CI
from tests.sim.shards import live_through

STORIES = 12 if IN_CI else 3


@pytest.mark.parametrize("seed", range(STORIES))
def test_nothing_is_broken_and_everything_arrives(seed: int) -> None:
    """Edits, faults and dead workers; then quiet, in which the bundle comes true."""
    told = live_through(seed)
    assert told.moves >= 8
