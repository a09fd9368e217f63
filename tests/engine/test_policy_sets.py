"""Policy sets: all policies of a set are enforced together; a set of one is staged like its one."""

from tests.engine.test_policy_hand_over import refused
from tests.hub_stage import MINUTE, HubStage, Worker, play
from tests.wave_stage import SetStage
from tidegate.kubernetes.port import PLACEMENT_BINDING, POLICY, POLICY_SET

PARTITION = "policies/policies.all"
DEV = {"dev-1", "dev-2"}


def test_the_policies_of_a_set_are_enforced_together() -> None:
    """A cluster has succeeded once all of them are; one that fails stops them all."""

    async def story(stage: HubStage, _: Worker) -> None:
        assert isinstance(stage, SetStage)
        worker = stage.start(PARTITION)
        assert await worker.fleet.partitions() == [PARTITION]
        stage.pass_time(MINUTE)
        stage.hub.agents["dev-1"].silent = True
        await worker.live(2 * MINUTE)
        assert stage.enforced() == stage.enforced("policies.db") == DEV
        assert worker.part.state.reports["dev-1"].status.name == "Progressing"
        stage.hub.agents["dev-1"].silent = False
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"
        assert len(stage.enforced()) == len(stage.enforced("policies.db")) == 6
        stage.hub.api.fault = lambda _: stage.hub.settle()
        stage.declare(paused=True)
        await worker.fleet.leave_waves(PARTITION)
        stage.pass_time(MINUTE)
        assert stage.ours() == set()
        assert len(stage.enforced()) == len(stage.enforced("policies.db")) == 6

    stage = play(story, SetStage())
    assert not any(agent.deleted for agent in stage.hub.agents.values())


def test_another_policy_in_the_set_starts_the_count_again() -> None:
    """The hub enforces it at once where the set is; no cluster is believed by what was before."""

    async def story(stage: HubStage, _: Worker) -> None:
        assert isinstance(stage, SetStage)
        worker = stage.start(PARTITION)
        stage.pass_time(MINUTE)
        await worker.live(2 * MINUTE)
        first = worker.part.state.reports["dev-1"].revision
        stage.members("web", "db", "more")
        assert "policy/policies/more: missing" in await refused(worker, PARTITION)
        stage.write_member("more", "1")
        stage.pass_time(10)
        assert stage.enforced("policies.more") == DEV
        await worker.round()
        reports = worker.part.state.reports
        assert {reports[each].status.name for each in DEV} == {"Progressing"}
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"
        assert reports["dev-1"].revision != first
        assert len(stage.enforced("policies.more")) == 6

    play(story, SetStage())


def test_a_set_that_is_not_there_or_names_nothing_is_refused() -> None:
    """It is listed, so that people see it."""

    async def story(stage: HubStage, _: Worker) -> None:
        assert isinstance(stage, SetStage)
        worker = stage.start(PARTITION)
        stage.members()
        assert "spec.policies: names no policy" in await refused(worker, PARTITION)
        stage.hub.drop(POLICY_SET, "policies", "all")
        assert "policyset/policies/all: missing" in await refused(worker, PARTITION)
        assert await worker.fleet.partitions() == [PARTITION]

    play(story, SetStage())


def test_a_policy_that_is_bound_by_a_set_of_its_own_is_staged() -> None:
    """Pointing that binding elsewhere moves no other policy; with another in the set, it would."""

    async def story(stage: HubStage, worker: Worker) -> None:
        stage.hub.drop(PLACEMENT_BINDING, "policies", "web")
        stage.hub.put(POLICY_SET, "policies", "all", spec={"policies": ["web"]})
        stage.hub.put(
            PLACEMENT_BINDING,
            "policies",
            "all",
            placementRef={"kind": "Placement", "name": "fleet"},
            subjects=[{"kind": "PolicySet", "name": "all"}],
        )
        await worker.live(2 * MINUTE)
        assert set(stage.values()) == DEV
        assert (POLICY, "prod-1", "policies.web") not in stage.hub.api.records
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"
        stage.hub.put(POLICY_SET, "policies", "all", spec={"policies": ["web", "db"]})
        assert "binds PolicySet/all together" in await refused(worker)

    play(story)
