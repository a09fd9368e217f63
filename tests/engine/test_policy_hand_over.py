"""A policy taken over in place, handed back, and refused where that could change a cluster."""

from collections.abc import Callable

import pytest

from tests.hub_stage import (
    MINUTE,
    PARTITION,
    HubStage,
    Worker,
    adopted,
    play,
    snapshot,
)
from tidegate.kubernetes.port import (
    PLACEMENT,
    PLACEMENT_BINDING,
    POLICY,
    POLICY_SET,
    ROLLOUT,
)
from tidegate.model.errors import OutsideError, StaleError, UserError


def test_adopting_changes_nothing_on_any_cluster() -> None:
    """The same uid and generation, with the same content as before."""

    async def story(stage: HubStage, worker: Worker) -> None:
        before = snapshot(stage)
        revision = await worker.fleet.adopt(PARTITION)
        stage.pass_time(60)
        assert snapshot(stage) == before
        view = await worker.fleet.view(PARTITION)
        assert view.staged
        assert set(view.pointers.values()) == {revision}
        assert len(view.pointers) == 6
        await worker.fleet.adopt(PARTITION)
        # And what they have is proved now.
        result = await worker.live(10 * MINUTE)
        assert result.plan is not None
        assert snapshot(stage) == before
        assert {each.status.name for each in worker.part.state.reports.values()} == {"Succeeded"}

    stage = play(story, adopted())
    assert not any(agent.deleted for agent in stage.hub.agents.values())


def test_leaving_changes_nothing_on_any_cluster() -> None:
    """The root is the author's plain policy again, bound as before, and nothing of ours is left."""

    async def story(stage: HubStage, worker: Worker) -> None:
        before = snapshot(stage)
        await worker.fleet.adopt(PARTITION)
        stage.pass_time(60)
        with pytest.raises(UserError, match="paused is not true"):
            await worker.fleet.leave(PARTITION)
        stage.declare(paused=True)
        assert await worker.fleet.leave(PARTITION) == (await worker.fleet.view(PARTITION)).last_good
        stage.pass_time(60)
        assert snapshot(stage) == before
        documents = stage.hub.api.document
        root = documents(stage.hub.api.records[POLICY, "policies", "web"])
        source = documents(stage.hub.api.records[POLICY, "web-source", "web"])
        assert root["spec"] == source["spec"]
        assert not root["metadata"].get("annotations")
        binding = documents(stage.hub.api.records[PLACEMENT_BINDING, "policies", "web"])
        assert binding["placementRef"]["name"] == "fleet"
        assert (PLACEMENT, "policies", "tidegate-web") not in stage.hub.api.records

    stage = play(story, adopted())
    assert not any(agent.deleted for agent in stage.hub.agents.values())


def test_an_edit_after_adoption_reaches_no_cluster_before_its_turn() -> None:
    """The plain policy is taken over with the first move, and only dev moves."""

    async def story(stage: HubStage, worker: Worker) -> None:
        stage.write("2")
        await worker.live(2 * MINUTE)
        assert {name for name, value in stage.values().items() if value == "2"} == {
            "dev-1",
            "dev-2",
        }
        await worker.live(60 * MINUTE)
        assert set(stage.values().values()) == {"2"}

    stage = play(story, adopted())
    assert not any(agent.deleted for agent in stage.hub.agents.values())


async def refused(worker: Worker, partition: str = PARTITION) -> str:
    with pytest.raises(OutsideError) as error:
        await worker.fleet.observe(partition)
    return str(error.value)


def test_what_cannot_be_staged_is_refused_with_its_reason() -> None:
    """And nothing is written."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        before = stage.values()
        stage.write("2", remediationAction="inform")
        assert "spec.remediationAction" in await refused(worker)
        stage.write("2")
        stage.write("2", "policies")
        assert "was rewritten by another tool" in await refused(worker)
        stage.hub.drop(POLICY, "web-source", "web")
        assert "policy/web-source/web: missing" in await refused(worker)
        assert before == dict.fromkeys(before, "1")

    play(story)


def test_a_rollout_that_cannot_be_read_or_is_declared_twice_is_refused() -> None:
    """It is listed, so that people see it."""

    async def story(stage: HubStage, worker: Worker) -> None:
        stage.declare(paused="yes")
        assert await worker.fleet.partitions() == [PARTITION]
        assert "spec.paused" in await refused(worker)
        stage.declare()
        note = "{namespace: policies, rolloutStrategy: {type: All}}"
        stage.hub.put(
            POLICY,
            "web-source",
            "web",
            metadata={"annotations": {"tidegate.dev/rollout": note}},
            spec={"disabled": False, "policy-templates": []},
        )
        assert await worker.fleet.partitions() == [PARTITION]
        assert "2 rollouts are declared" in await refused(worker)
        stage.hub.drop(ROLLOUT, "policies", "web")
        assert await worker.fleet.partitions() == [PARTITION]
        assert "spec.policy-templates: missing" in await refused(worker)

    play(story)


@pytest.mark.parametrize(
    "change, words",
    [
        (
            lambda stage: stage.hub.put(
                PLACEMENT_BINDING,
                "policies",
                "web",
                placementRef={"kind": "Placement", "name": "fleet"},
                subjects=[{"kind": "Policy", "name": "web"}, {"kind": "Policy", "name": "db"}],
            ),
            "binds Policy/web, Policy/db together; give the policy a binding of its own",
        ),
        (
            lambda stage: (
                stage.hub.put(POLICY_SET, "policies", "all", spec={"policies": ["web", "db"]}),
                stage.hub.put(
                    PLACEMENT_BINDING,
                    "policies",
                    "all",
                    placementRef={"kind": "Placement", "name": "fleet"},
                    subjects=[{"kind": "PolicySet", "name": "all"}],
                ),
            ),
            "placementbinding/policies/all: binds PolicySet/all together",
        ),
        (
            lambda stage: stage.hub.put(
                PLACEMENT_BINDING,
                "web-source",
                "web",
                placementRef={"kind": "Placement", "name": "fleet"},
                subjects=[{"kind": "Policy", "name": "web"}],
            ),
            "policy/web-source/web: is bound to clusters itself",
        ),
        (
            lambda stage: stage.hub.drop(PLACEMENT_BINDING, "policies", "web"),
            "policy/policies/web: is bound to no placement",
        ),
    ],
)
def test_a_binding_that_reaches_past_the_policy_is_refused(
    change: Callable[[HubStage], object], words: str
) -> None:
    """Pointing it elsewhere would move other policies, or leave a second way in."""

    async def story(stage: HubStage, worker: Worker) -> None:
        change(stage)
        assert words in await refused(worker)

    play(story)


def test_a_binding_that_is_pointed_elsewhere_is_put_back_with_the_next_move() -> None:
    """Another tool wrote it again; no cluster lost anything by that."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        stage.bind("fleet")
        stage.pass_time(60)
        assert (await worker.fleet.view(PARTITION)).astray
        stage.write("2")
        await worker.live(60 * MINUTE)
        view = await worker.fleet.view(PARTITION)
        assert not view.astray
        assert {each.placement for each in view.bindings} == {"fleet"}

    stage = play(story)
    assert set(stage.values().values()) == {"2"}
    assert not any(agent.deleted for agent in stage.hub.agents.values())


def test_leaving_is_refused_where_a_cluster_would_get_or_lose_the_policy() -> None:
    """The author's placement means other clusters than have it."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(2 * MINUTE)
        assert set(stage.values()) == {"dev-1", "dev-2"}
        stage.declare(paused=True)
        with pytest.raises(StaleError, match="4 clusters without it would get it at once"):
            await worker.fleet.leave(PARTITION)
        stage.declare()
        await worker.live(60 * MINUTE)
        stage.declare(paused=True)
        stage.hub.put_cluster("dev-1", {"env": "dev"}, taint="unreachable", available=False)
        stage.hub.settle()
        with pytest.raises(
            StaleError, match="1 cluster in no decision of its placement would lose it"
        ):
            await worker.fleet.leave(PARTITION)
        stage.hub.put_cluster("dev-1", {"env": "dev"})
        stage.hub.settle()
        await worker.fleet.leave(PARTITION)

    stage = play(story)
    assert not any(agent.deleted for agent in stage.hub.agents.values())


def test_a_policy_is_not_taken_over_while_its_groups_are_half_written() -> None:
    """A cluster that is not in the set yet would lose what it has."""

    async def story(stage: HubStage, worker: Worker) -> None:
        before = snapshot(stage)
        stage.hub.stops_after = 1
        stage.hub.put_cluster("dev-1", {"env": "stage"})
        stage.hub.settle()
        with pytest.raises(OutsideError, match="group 0 dev has 1 of 2"):
            await worker.fleet.adopt(PARTITION)
        stage.hub.stops_after = None
        stage.pass_time(60)
        await worker.fleet.adopt(PARTITION)
        stage.pass_time(60)
        assert set(snapshot(stage)) == set(before)

    stage = play(story, adopted())
    assert len(stage.values()) == 6
