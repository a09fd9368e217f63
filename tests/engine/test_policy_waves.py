"""Policies enforced in waves on a simulated hub: group by group, proved, and taken back."""

from typing import Any

import pytest

from tests.engine.test_policy_hand_over import refused
from tests.hub_stage import MINUTE, PARTITION, HubStage, Worker, first_given, play, strategy
from tests.policies import body, spec, template
from tests.wave_stage import OWN, WaveStage
from tidegate.kinds.policies.hub.wave_view import WaveView
from tidegate.kubernetes.port import (
    CLUSTER_GROUP_UPGRADE,
    PLACEMENT,
    PLACEMENT_BINDING,
    PLACEMENT_DECISION,
    POLICY,
)
from tidegate.model.errors import StaleError, UserError
from tidegate.model.time import SECOND, Duration

DEV = {"dev-1", "dev-2"}


async def seen(worker: Worker) -> WaveView:
    found = await worker.fleet.any_view(PARTITION)
    assert isinstance(found, WaveView)
    return found


def status_of(worker: Worker, cluster: str) -> tuple[str, str]:
    report = worker.part.state.reports[cluster]
    return report.status.name, (report.revision or "").partition("-")[0]


def test_dev_is_enforced_before_prod_and_every_cluster_has_soaked() -> None:
    """The policy informs everywhere from the beginning; what it wants appears group by group."""

    async def story(stage: HubStage, worker: Worker) -> None:
        assert isinstance(stage, WaveStage)
        stage.pass_time(MINUTE)
        assert stage.values() == {}
        await worker.live(2 * MINUTE)
        assert stage.enforced() == set(stage.values()) == DEV
        assert status_of(worker, "dev-1") == ("Succeeded", "enforce")
        await worker.live(60 * MINUTE)
        assert len(stage.values()) == 6
        assert worker.summary() == "Succeeded"
        root = stage.hub.api.document(stage.hub.api.records[POLICY, "policies", "web"])
        assert root["spec"]["remediationAction"] == "inform"

    stage = play(story, WaveStage())
    given = first_given(stage, "1")
    assert max(given["dev-1"], given["dev-2"]) + 5 <= given["stage-1"]
    assert given["stage-2"] + 5 <= given["prod-1"]


def test_what_was_compliant_before_is_believed_only_once_it_is_evaluated_again() -> None:
    """The objects are there already, the hub says Compliant, and an agent is silent."""

    async def story(stage: HubStage, worker: Worker) -> None:
        assert isinstance(stage, WaveStage)
        stage.write("1", remediationAction="enforce")
        stage.pass_time(MINUTE)
        stage.write("1")
        stage.pass_time(MINUTE)
        assert len(stage.values()) == 6
        # However far ahead its clock is: an older word does not pass for a newer one.
        stage.hub.agents["dev-1"].silent = True
        await worker.live(19 * MINUTE)
        replica = stage.hub.api.document(stage.hub.api.records[POLICY, "dev-1", "policies.web"])
        assert replica["status"]["compliant"] == "Compliant"
        assert stage.enforced() == DEV
        assert status_of(worker, "dev-1") == ("Progressing", "enforce")
        assert status_of(worker, "dev-2") == ("Succeeded", "enforce")
        await worker.live(10 * MINUTE)
        assert worker.summary() == "Failed"
        assert stage.enforced() == DEV
        stage.hub.agents["dev-1"].silent = False
        await worker.live(MINUTE)
        assert status_of(worker, "dev-1") == ("Succeeded", "enforce")

    play(story, WaveStage())


@pytest.mark.parametrize("ahead", [-3600, 3600])
def test_clocks_of_clusters_need_not_agree_with_the_hubs(ahead: int) -> None:
    """An entry is newer than another of the same cluster, whatever the hub's clock says."""

    async def story(stage: HubStage, worker: Worker) -> None:
        for agent in stage.hub.agents.values():
            agent.ahead = Duration(ahead * SECOND)
        stage.pass_time(MINUTE)
        stage.hub.agents["dev-1"].silent = True
        await worker.live(10 * MINUTE)
        assert status_of(worker, "dev-1") == ("Progressing", "enforce")
        assert status_of(worker, "dev-2") == ("Succeeded", "enforce")
        stage.hub.agents["dev-1"].silent = False
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"

    play(story, WaveStage())


def test_a_cluster_that_was_never_evaluated_has_to_say_two_things() -> None:
    """The first may be of the time before it was enforced."""

    async def story(stage: HubStage, worker: Worker) -> None:
        # The objects are there by other hands, and no agent has said anything yet.
        for agent in stage.hub.agents.values():
            agent.delay = Duration(3600 * SECOND)
        await worker.round()
        await worker.round()
        view = await seen(worker)
        assert {name: grant.after for name, grant in view.grants.items()} == dict.fromkeys(DEV, 0)
        for agent in stage.hub.agents.values():
            agent.delay = Duration(SECOND)
        await worker.live(10 * MINUTE)
        assert status_of(worker, "dev-1") == ("Progressing", "enforce")
        assert "not evaluated since" in worker.part.state.reports["dev-1"].detail

    play(story, WaveStage())


def test_a_wave_that_fails_is_taken_back_where_that_is_wanted() -> None:
    """Every cluster informs again, and is known to; what was made stays, and prod had nothing."""

    async def story(stage: HubStage, worker: Worker) -> None:
        assert isinstance(stage, WaveStage)
        stage.pass_time(MINUTE)
        stage.hub.agents["dev-1"].fails["1"] = "quota exceeded"
        await worker.live(19 * MINUTE)
        assert stage.enforced() == DEV
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Aborted"
        assert stage.enforced() == stage.decided() == set()
        assert status_of(worker, "dev-1") == status_of(worker, "dev-2") == ("Succeeded", "inform")
        assert set(stage.values()) == {"dev-2"}

    stage = play(story, WaveStage(rolloutStrategy=strategy(onFailure="rollback")))
    assert not any(agent.deleted for agent in stage.hub.agents.values())


def test_a_silent_agent_is_not_believed_to_inform_again() -> None:
    """The hub informs; the agent has not said so."""

    async def story(stage: HubStage, worker: Worker) -> None:
        assert isinstance(stage, WaveStage)
        stage.pass_time(MINUTE)
        stage.hub.agents["dev-1"].fails["1"] = "quota exceeded"
        await worker.live(19 * MINUTE)
        stage.hub.agents["dev-2"].silent = True
        await worker.live(2 * MINUTE)
        assert stage.enforced() == set()
        assert status_of(worker, "dev-1") == ("Succeeded", "inform")
        assert status_of(worker, "dev-2") == ("Progressing", "inform")
        stage.hub.agents["dev-2"].silent = False
        await worker.live(2 * MINUTE)
        assert status_of(worker, "dev-2") == ("Succeeded", "inform")

    play(story, WaveStage(rolloutStrategy=strategy(onFailure="rollback")))


def test_an_edit_in_the_middle_starts_the_count_again() -> None:
    """It reaches enforced clusters at once, which is said; each is enforced anew in its turn."""

    async def story(stage: HubStage, worker: Worker) -> None:
        assert isinstance(stage, WaveStage)
        stage.pass_time(MINUTE)
        await worker.live(8 * MINUTE)
        assert stage.enforced() == {*DEV, "stage-1", "stage-2"}
        stage.write("2")
        stage.pass_time(10)
        assert set(stage.values().values()) == {"2"}
        view = await seen(worker)
        assert sorted(view.edited) == sorted(stage.enforced())
        before = view.grants
        await worker.live(MINUTE)
        view = await seen(worker)
        assert set(view.edited) == {"stage-1", "stage-2"}
        assert status_of(worker, "dev-1") == ("Succeeded", "enforce")
        assert view.grants["dev-1"].after > before["dev-1"].after
        assert worker.part.state.reports["dev-1"].revision == view.revision
        assert worker.part.state.reports["stage-1"].revision != view.revision
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"
        assert (await seen(worker)).edited == []

    stage = play(story, WaveStage())
    assert not any(agent.deleted for agent in stage.hub.agents.values())


def test_going_back_to_content_that_was_edited_away_is_refused() -> None:
    """It is not on the hub any more: nothing is done, and the reason is shown."""

    async def story(stage: HubStage, worker: Worker) -> None:
        assert isinstance(stage, WaveStage)
        stage.pass_time(MINUTE)
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"
        for agent in stage.hub.agents.values():
            agent.fails["2"] = "quota exceeded"
        stage.write("2")
        await worker.live(60 * MINUTE)
        details = {each.detail for each in worker.part.state.pending.values()}
        assert any("take the waves back" in each for each in details), details
        assert len(stage.enforced()) == 6

    play(story, WaveStage(rolloutStrategy=strategy(onFailure="rollback")))


def test_a_binding_that_a_person_deleted_is_put_back_in_order() -> None:
    """Not for all at once: each is enforced, and believed, anew."""

    async def story(stage: HubStage, worker: Worker) -> None:
        assert isinstance(stage, WaveStage)
        stage.pass_time(MINUTE)
        await worker.live(8 * MINUTE)
        assert stage.enforced() == {*DEV, "stage-1", "stage-2"}
        stage.hub.drop(PLACEMENT_BINDING, "policies", OWN)
        stage.pass_time(10)
        assert stage.enforced() == set()
        await worker.live(MINUTE)
        assert stage.enforced() == DEV
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"
        assert len(stage.enforced()) == 6

    play(story, WaveStage())


def test_clusters_that_a_deleted_placement_left_enforced_are_taken_back_first() -> None:
    """The hub itself leaves them enforced until something touches them."""

    async def story(stage: HubStage, worker: Worker) -> None:
        assert isinstance(stage, WaveStage)
        stage.pass_time(MINUTE)
        await worker.live(8 * MINUTE)
        stage.hub.drop(PLACEMENT, "policies", OWN)
        stage.pass_time(10)
        assert stage.enforced() == {*DEV, "stage-1", "stage-2"}
        stage.hub.api.fault = lambda _: stage.hub.settle()
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"
        assert len(stage.enforced()) == 6

    play(story, WaveStage())


def test_a_cluster_that_left_is_enforced_no_more() -> None:
    """Nothing is noted of it either."""

    async def story(stage: HubStage, worker: Worker) -> None:
        assert isinstance(stage, WaveStage)
        stage.pass_time(MINUTE)
        await worker.live(60 * MINUTE)
        stage.hub.drop_cluster("prod-1")
        await worker.live(60 * MINUTE)
        assert "prod-1" not in stage.decided()
        assert len(stage.decided()) == 5
        stage.hub.add("prod-3", {"env": "prod"})
        await worker.live(60 * MINUTE)
        assert "prod-3" in stage.enforced()

    play(story, WaveStage())


@pytest.mark.parametrize(
    "more, words",
    [
        ({"remediationAction": "enforce"}, "every cluster has it enforced already"),
        ({"remediationAction": ""}, "spec.remediationAction: missing; write inform"),
        ({"disabled": True}, "spec.disabled: no cluster has the policy"),
        (
            {"policy-templates": [template(kind="OperatorPolicy")]},
            'OperatorPolicy" is not known to say when it was evaluated as enforced',
        ),
        (
            {"policy-templates": [template(spec=body(remediationAction="InformOnly"))]},
            "InformOnly is never enforced",
        ),
        ({"policy-templates": []}, "spec.policy-templates: missing"),
    ],
)
def test_what_cannot_be_enforced_in_waves_is_refused_with_its_reason(
    more: dict[str, Any], words: str
) -> None:
    """And nothing is written."""

    async def story(stage: HubStage, worker: Worker) -> None:
        assert isinstance(stage, WaveStage)
        stage.write("1", **more)
        assert words in await refused(worker)
        assert stage.ours() == set()

    play(story, WaveStage())


def test_another_binding_that_enforces_is_refused() -> None:
    """By whatever tool: clusters would be enforced before their turn."""

    async def story(stage: HubStage, worker: Worker) -> None:
        stage.hub.put(
            PLACEMENT_BINDING,
            "policies",
            "other",
            bindingOverrides={"remediationAction": "Enforce"},
            subFilter="restricted",
            placementRef={"kind": "Placement", "name": "fleet"},
            subjects=[{"kind": "Policy", "name": "web"}],
        )
        assert "placementbinding/policies/other: enforces it as well" in await refused(worker)

    play(story, WaveStage())


def test_a_cluster_group_upgrade_that_would_enforce_it_is_refused() -> None:
    """Before it has bound anything: its batches are not our groups."""

    async def story(stage: HubStage, worker: Worker) -> None:
        named = {"enable": False, "managedPolicies": ["web"]}
        stage.hub.put(CLUSTER_GROUP_UPGRADE, "upgrades", "batch", spec=named)
        assert "clustergroupupgrade/upgrades/batch: enforces" in await refused(worker)

    play(story, WaveStage())


def test_handing_back_keeps_what_is_enforced() -> None:
    """The policy itself says enforce then; nothing of ours is left, and no object is touched."""

    async def story(stage: HubStage, worker: Worker) -> None:
        assert isinstance(stage, WaveStage)
        stage.pass_time(MINUTE)
        await worker.live(2 * MINUTE)
        stage.hub.api.fault = lambda _: stage.hub.settle()
        with pytest.raises(UserError, match="paused is not true"):
            await worker.fleet.leave_waves(PARTITION)
        stage.declare(paused=True)
        with pytest.raises(StaleError, match="4 clusters would be enforced at once"):
            await worker.fleet.leave_waves(PARTITION)
        stage.declare()
        await worker.live(60 * MINUTE)
        before = {name: len(agent.applied) for name, agent in stage.hub.agents.items()}
        stage.declare(paused=True)
        await worker.fleet.leave_waves(PARTITION)
        stage.pass_time(MINUTE)
        assert stage.ours() == set()
        assert len(stage.enforced()) == 6
        assert {name: len(agent.applied) for name, agent in stage.hub.agents.items()} == before
        root = stage.hub.api.document(stage.hub.api.records[POLICY, "policies", "web"])
        assert root["spec"] == spec(template(spec=body("1")))
        # Again: there is nothing to do.
        await worker.fleet.leave_waves(PARTITION)
        assert len(stage.enforced()) == 6

    stage = play(story, WaveStage())
    assert not any(agent.deleted for agent in stage.hub.agents.values())


@pytest.mark.parametrize("lost", [None, PLACEMENT, PLACEMENT_BINDING, PLACEMENT_DECISION])
def test_taking_all_back_leaves_inform_everywhere(lost: Any) -> None:
    """Whatever of ours a person deleted before."""

    async def story(stage: HubStage, worker: Worker) -> None:
        assert isinstance(stage, WaveStage)
        stage.pass_time(MINUTE)
        await worker.live(8 * MINUTE)
        stage.declare(paused=True)
        if lost is not None:
            for key, _ in list(stage.hub.api.listed(lost, "policies")):
                if key[2].startswith(OWN):
                    stage.hub.drop(*key)
            stage.hub.settle()
        stage.hub.api.fault = lambda _: stage.hub.settle()
        if lost in (PLACEMENT, PLACEMENT_BINDING):
            with pytest.raises(StaleError, match="others changed the binding of its waves"):
                await worker.fleet.leave_waves(PARTITION)
        await worker.fleet.leave_waves(PARTITION, back=True)
        stage.pass_time(MINUTE)
        assert stage.enforced() == set()
        assert stage.ours() == set()
        root = stage.hub.api.document(stage.hub.api.records[POLICY, "policies", "web"])
        assert root["spec"]["remediationAction"] == "inform"

    stage = play(story, WaveStage())
    assert not any(agent.deleted for agent in stage.hub.agents.values())
