"""Rollouts lived through in virtual time."""

import pytest

from tests.sim import sized
from tests.sim.rollouts import live_through

ROLLOUTS = sized(50, 200, 500)
CHUNKS = 10


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_rollout_arrives_or_says_why_not(chunk: int) -> None:
    """Every step keeps the laws; in the end everybody is there, or truly says why not."""
    size = ROLLOUTS // CHUNKS
    stories = [live_through(seed) for seed in range(chunk * size, (chunk + 1) * size)]
    arrived = sum(story.rollout.completed for story in stories)
    assert arrived or size < 20, "no rollout arrives any more"
