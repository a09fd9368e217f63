"""Images and shards under faults, in virtual time: laws that only a witness can see."""

from typing import Any

import msgspec
import pytest

from tests.sim import sized
from tests.sim.shards import live_through
from tests.sim.story.missing import Missing, find
from tidegate.kinds.integrations.core.waves.declaration import declared_of
from tidegate.kinds.integrations.core.waves.trial import Trial
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace
from tidegate.kinds.integrations.fleet import fleet, reshard
from tidegate.kinds.integrations.fleet.trials import Trials
from tidegate.kinds.rollouts.core.journal.facts import RolloutDeclared

# Seeds that found something once. 7: a drain concluded from a gap. 143: a worker that had not given
# an image itself believed it. In 1 a bad image would go on, were there no trials.
CHOSEN = (7, 143, 1, 6)
SEEDS_MAX = 18
STORIES = sized(0, 0, 12)


@pytest.mark.parametrize("seed", sorted({*range(STORIES), *CHOSEN}))
def test_nothing_is_broken_and_everything_arrives(seed: int) -> None:
    """Edits, faults and dead workers; then quiet, in which the bundle comes true."""
    told = live_through(seed)
    assert told.moves >= 8


async def believed(_: Trials, place: ManagedPlace, *__: object) -> dict[str, Trial]:
    """Every image passes its trial."""
    return {shard.workload: Trial(passed=True) for shard in place.shards}


def unpinned(*args: Any) -> RolloutDeclared:
    """No shard is pinned."""
    return msgspec.structs.replace(declared_of(*args), pinned={})


MISSING = {
    "trials": Missing(Trials, "read", believed, "nobody before it survives|had proven it", 54),
    "draining": Missing(reshard, "reshapes_of", lambda *_: [], "shards", 14),
    "pins": Missing(fleet, "declared_of", unpinned, "is pinned and moved", 31),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_rule_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without trials, draining or pins some story breaks, in words that say which."""
    find(MISSING[name], live_through, monkeypatch, SEEDS_MAX)
