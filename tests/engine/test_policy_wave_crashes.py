"""A worker that dies at any call enforces no cluster before its turn, and another finishes."""

import asyncio
from typing import Any

from tests.engine.stage import Tripwire
from tests.engine.test_policy_crashes import MINUTE, live
from tests.hub_stage import Propagation, strategy
from tests.sim import sized
from tests.wave_stage import WaveStage

# Of the calls of the story, one in so many is died at.
EVERY = sized(8, 5, 1)
ORDER = ("dev-1", "stage-1", "prod-1")


def story(at: int | None, **rollout: Any) -> tuple[WaveStage, Tripwire]:
    """A policy that informs is enforced, one group after the other; one death on the way."""
    stage = WaveStage(each=1, **rollout)
    if rollout:
        stage.hub.agents["stage-1"].fails["1"] = "quota exceeded"
    stage.pass_time(60)
    trip, propagate = Tripwire(at), Propagation(stage)

    def call(where: str) -> None:
        """The propagator acts between any two calls; whatever it does must be right."""
        if propagate():
            enforced = stage.enforced()
            if rollout:
                # The way back has no order; the group behind the one that failed has no turn.
                assert "prod-1" not in enforced
            else:
                assert enforced in ({*ORDER[:count]} for count in range(4)), enforced
        trip(where)

    stage.hub.api.fault = call
    asyncio.run(live(stage, 90 * MINUTE))
    return stage, trip


def check(stage: WaveStage) -> None:
    """Every cluster is enforced once, in order, each after the soak of the one before."""
    assert stage.enforced() == set(ORDER)
    given = []
    for name in ORDER:
        agent = stage.hub.agents[name]
        assert agent.deleted == []
        assert len(agent.applied) == 1
        given.append(agent.applied[0][0])
    assert given[0] + 300 * 10**9 <= given[1]
    assert given[1] + 300 * 10**9 <= given[2]


def check_back(stage: WaveStage) -> None:
    """Every cluster informs, and the last one was never enforced."""
    assert stage.enforced() == stage.decided() == set()
    assert set(stage.values()) == {"dev-1"}
    assert not any(agent.deleted for agent in stage.hub.agents.values())


def test_a_death_at_any_call_enforces_in_order() -> None:
    """Before the call, that is after the one before it."""
    stage, trip = story(None)
    check(stage)
    for at in trip.points(EVERY):
        check(story(at)[0])


def test_a_death_at_any_call_takes_the_wave_back() -> None:
    """Whichever part of taking it back was done."""
    wanted = {"rolloutStrategy": strategy(onFailure="rollback")}
    stage, trip = story(None, **wanted)
    check_back(stage)
    for at in trip.points(EVERY):
        check_back(story(at, **wanted)[0])
