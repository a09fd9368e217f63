"""Images and shards under faults, in virtual time: laws that only a witness can see."""

from typing import Any

import msgspec
import pytest

from tests.sim import sized
from tests.sim.shards import live_through
from tidegate.kinds.integrations.core.waves.declaration import declared_of
from tidegate.kinds.integrations.core.waves.trial import Trial
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace
from tidegate.kinds.integrations.fleet import fleet, reshard
from tidegate.kinds.integrations.fleet.trials import Trials
from tidegate.kinds.rollouts.core.journal.facts import RolloutDeclared

# 7: a drain concluded from a gap. 143: a worker that had not given an image itself believed it.
# With 1 and 6, they reach 99 of 100 branches that sixteen stories reach.
CHOSEN = (7, 143, 1, 6)
STORIES = sized(0, 1, 12)


@pytest.mark.parametrize("seed", sorted({*range(STORIES), *CHOSEN}))
def test_nothing_is_broken_and_everything_arrives(seed: int) -> None:
    """Edits, faults and dead workers; then quiet, in which the bundle comes true."""
    told = live_through(seed)
    assert told.moves >= 8


def broken(seeds: range) -> str:
    """What the first story that breaks reports; empty: none does."""
    for seed in seeds:
        try:
            live_through(seed)
        except AssertionError as error:
            return str(error).partition("\n\nseed")[0]
    return ""


# The witness is shown able to see: with one rule taken out, some story breaks, and says of which.


def test_without_trials_a_failing_image_gets_past_the_canary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def believed(_: Trials, place: ManagedPlace, *__: object) -> dict[str, Trial]:
        return {shard.workload: Trial(passed=True) for shard in place.shards}

    monkeypatch.setattr(Trials, "read", believed)
    told = broken(range(28, 44))
    assert "nobody before it survives" in told or "had proven it" in told


def test_without_draining_two_numbers_of_shards_run_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reshard, "reshapes_of", lambda *_: [])
    assert "shards" in broken(range(1, 20))


def test_without_pins_a_pinned_shard_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    def unpinned(*args: Any) -> RolloutDeclared:
        return msgspec.structs.replace(declared_of(*args), pinned={})

    monkeypatch.setattr(fleet, "declared_of", unpinned)
    assert "is pinned and moved" in broken(range(12, 30))
