"""A worker that dies at any call to the hub harms no cluster, and another finishes its work."""

import asyncio

from tests.engine.stage import Crash, Tripwire
from tests.hub_stage import OBJECT, PARTITION, HubStage, Propagation
from tests.sim import sized
from tidegate.kinds.policies.wire.hub_doc import replica_of
from tidegate.kubernetes.port import POLICY

# Of the calls of the story, one in so many is died at.
EVERY = sized(3, 2, 1)
MINUTE = 60.0


async def live(stage: HubStage, seconds: float, partition: str = PARTITION) -> None:
    """Let time pass, with a new worker after each death."""
    end = stage.clock.at + int(seconds * 10**9)
    worker = stage.start(partition)
    while stage.clock.at < end:
        try:
            await worker.live((end - stage.clock.at) / 10**9)
            return
        except Crash:
            # The lease of the dead one runs out before another may lead.
            stage.pass_time(11)
            worker = stage.start(partition)


def story(stage: HubStage, at: int | None, partition: str = PARTITION) -> Tripwire:
    """What was plain is taken over, and another revision goes out; one death on the way."""
    stage.write("1", "policies")
    stage.pass_time(60)
    stage.write("2")
    trip = Tripwire(at)

    propagate = Propagation(stage)

    def call(where: str) -> None:
        """The propagator acts between any two calls; whatever it does must be right."""
        if propagate():
            for key, record in stage.hub.api.listed(POLICY, ""):
                assert not replica_of(stage.hub.api.document(record)).hub_error, key
        trip(where)

    stage.hub.api.fault = call
    asyncio.run(live(stage, 60 * MINUTE, partition))
    return trip


def check(stage: HubStage) -> None:
    """Every cluster has the revision, got it once and in order, and never lost its object."""
    assert set(stage.values().values()) == {"2"}
    given = []
    for env in ("dev", "stage", "prod"):
        agent = stage.hub.agents[f"{env}-1"]
        assert agent.deleted == []
        assert [content["data"]["value"] for _, _, content in agent.applied] == ["1", "2"]
        assert agent.objects[OBJECT].uid == 1
        given.append(agent.applied[1][0])
    assert given[0] + 300 * 10**9 <= given[1]
    assert given[1] + 300 * 10**9 <= given[2]


def test_a_death_at_any_call_harms_no_cluster() -> None:
    """Before the call, that is after the one before it."""
    stage = HubStage(each=1)
    trip = story(stage, None)
    check(stage)
    assert trip.passed > 100
    for at in trip.points(EVERY):
        stage = HubStage(each=1)
        story(stage, at)
        check(stage)
