"""Policies on a simulated hub, in virtual time: revisions go out group by group, and are proved."""

from typing import Any

from tests.hub_stage import (
    MINUTE,
    NAME,
    OBJECT,
    PARTITION,
    HubStage,
    Worker,
    adopted,
    first_given,
    play,
    snapshot,
    strategy,
)
from tests.policies import body, spec, template
from tidegate.journal.facts import Acted, Mode
from tidegate.kubernetes.port import (
    CONFIG_MAP,
    POLICY,
)
from tidegate.model.time import SECOND, Instant


def test_a_new_policy_goes_from_dev_to_prod_with_soak() -> None:
    """No group begins before the one before it has soaked; clusters not reached have nothing."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(2 * MINUTE)
        assert set(stage.values()) == {"dev-1", "dev-2"}
        assert not stage.hub.api.records.get((POLICY, "prod-1", NAME))
        await worker.live(60 * MINUTE)
        assert set(stage.values().values()) == {"1"}
        assert len(stage.values()) == 6
        assert worker.summary() == "Succeeded"

    stage = play(story)
    given = first_given(stage, "1")
    assert max(given["dev-1"], given["dev-2"]) + 5 <= given["stage-1"]
    assert given["stage-2"] + 5 <= given["prod-1"]


def test_a_revision_moves_and_the_object_stays_the_same_one() -> None:
    """Its uid is kept, it is never deleted, and it changes once on each cluster."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        before = snapshot(stage)
        stage.write("2")
        await worker.live(2 * MINUTE)
        assert stage.values() == {
            **{f"dev-{at}": "2" for at in (1, 2)},
            **{f"{env}-{at}": "1" for env in ("stage", "prod") for at in (1, 2)},
        }
        await worker.live(60 * MINUTE)
        assert set(stage.values().values()) == {"2"}
        assert snapshot(stage) == {name: (uid, gen + 1) for name, (uid, gen) in before.items()}

    stage = play(story)
    assert not any(agent.deleted for agent in stage.hub.agents.values())


def test_a_failing_revision_stays_in_the_canary() -> None:
    """At its deadline it has failed, by what the agent says; no other group ever gets it."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        stage.hub.agents["dev-1"].fails["2"] = "quota exceeded"
        stage.write("2")
        await worker.live(19 * MINUTE)
        assert worker.summary() == "Progressing"
        assert worker.part.state.reports["dev-1"].detail.endswith("quota exceeded")
        await worker.live(180 * MINUTE)
        assert worker.summary() == "Failed"
        assert worker.part.state.reports["dev-1"].status.name == "Failed"
        assert {name for name, value in stage.values().items() if value == "2"} == {"dev-2"}

    play(story)


def test_a_failing_revision_is_rolled_back_where_that_is_wanted() -> None:
    """To what was good before."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        stage.declare(rolloutStrategy=strategy(onFailure="rollback"))
        stage.hub.agents["dev-1"].fails["2"] = "quota exceeded"
        stage.write("2")
        await worker.live(10 * MINUTE)
        assert stage.values()["dev-2"] == "2"
        await worker.live(60 * MINUTE)
        assert set(stage.values().values()) == {"1"}

    play(story)


def test_a_rollback_names_what_was_deleted_and_what_stays() -> None:
    """For each cluster that returns, in the outcome that the journal keeps."""

    def content(*names: str, prune: str) -> dict[str, Any]:
        templates = [body("1", name)["object-templates"][0] for name in names]
        wanted: dict[str, Any] = {"pruneObjectBehavior": prune, "object-templates": templates}
        return spec(template(spec=body(**wanted)))

    async def story(stage: HubStage, worker: Worker) -> None:
        stage.declare(rolloutStrategy=strategy(onFailure="rollback"))
        stage.hub.put(POLICY, "web-source", "web", spec=content("web", "old", prune="None"))
        await worker.live(60 * MINUTE)
        stage.hub.agents["dev-1"].silent = True
        failing = content("web", "new", prune="DeleteIfCreated")
        stage.hub.put(POLICY, "web-source", "web", spec=failing)
        await worker.live(60 * MINUTE)
        failed = (await worker.fleet.view(PARTITION)).revision_name
        facts = [entry.fact() for entry in stage.store.read(PARTITION)]
        told = [each.detail for each in facts if isinstance(each, Acted)]
        noted = [each for each in told if failed in each]
        words = f"pointer moved; deleted by {failed} and made anew: ConfigMap default/old"
        assert noted == [f"{words}; made by {failed} and left: ConfigMap default/new"] * 2

    play(story)


def test_a_silent_agent_never_succeeds_and_times_out() -> None:
    """However compliant the hub still calls it."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        stage.hub.agents["dev-1"].silent = True
        stage.write("2")
        for _ in range(25):
            await worker.live(MINUTE)
            replica = stage.hub.api.document(stage.hub.api.records[POLICY, "dev-1", NAME])
            assert replica["status"]["compliant"] == "Compliant"
            assert worker.part.state.reports["dev-1"].status.name == "Progressing"
        assert worker.summary() == "Failed"
        assert {name for name, value in stage.values().items() if value == "2"} == {"dev-2"}
        # It comes back: now it is proved.
        stage.hub.agents["dev-1"].silent = False
        await worker.live(MINUTE)
        assert worker.part.state.reports["dev-1"].status.name == "Succeeded"

    play(story)


def test_an_unreachable_cluster_starts_its_soak_again_and_a_later_one_changes_nothing() -> None:
    """Within the soak it is no success; after it, the rollout goes on."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(2 * MINUTE)
        assert worker.part.state.reports["dev-1"].status.name == "Succeeded"
        stage.hub.put_cluster("dev-1", {"env": "dev"}, available=False)
        await worker.live(4 * MINUTE)
        assert worker.part.state.reports["dev-1"].status.name == "Progressing"
        stage.hub.put_cluster("dev-1", {"env": "dev"})
        await worker.live(4 * MINUTE)
        assert "stage-1" not in stage.values()
        await worker.live(2 * MINUTE)
        assert "stage-1" in stage.values()
        stage.hub.put_cluster("dev-1", {"env": "dev"}, available=False)
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"

    play(story)


def test_a_taint_that_comes_and_goes_removes_nothing() -> None:
    """The scheduler takes the cluster out of its decisions; ours keep it."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        before = snapshot(stage)
        stage.hub.put_cluster("prod-1", {"env": "prod"}, taint="unreachable", available=False)
        await worker.live(10 * MINUTE)
        stage.hub.put_cluster("prod-1", {"env": "prod"})
        await worker.live(10 * MINUTE)
        assert snapshot(stage) == before

    stage = play(story)
    assert not stage.hub.agents["prod-1"].deleted


def test_a_new_revision_in_the_middle_starts_again_from_the_first_group() -> None:
    """Where the older one has failures; it leaves no cluster behind."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        stage.hub.agents["dev-1"].fails["2"] = "quota exceeded"
        stage.write("2")
        await worker.live(2 * MINUTE)
        stage.write("3")
        await worker.live(60 * MINUTE)
        assert set(stage.values().values()) == {"3"}
        assert worker.summary() == "Succeeded"

    stage = play(story)
    assert not any(
        content["data"]["value"] == "2"
        for name, agent in stage.hub.agents.items()
        if not name.startswith("dev")
        for _, _, content in agent.applied
    )


def test_clusters_join_and_leave() -> None:
    """One that joins gets the last good revision at once; one that leaves loses the policy."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        stage.hub.add("prod-3", {"env": "prod"})
        await worker.live(MINUTE)
        assert stage.values()["prod-3"] == "1"
        stage.hub.drop_cluster("dev-2")
        await worker.live(MINUTE)
        assert (POLICY, "dev-2", NAME) not in stage.hub.api.records
        assert len(stage.values()) == 6
        left = (CONFIG_MAP, "policies", "tidegate-pointers-dev-2")
        assert left not in stage.hub.api.records

    stage = play(story)
    assert stage.hub.agents["dev-2"].deleted == [OBJECT]


def test_a_cluster_that_joins_a_later_group_waits_for_it() -> None:
    """It has nothing until its group is reached, and no error either."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(2 * MINUTE)
        stage.hub.add("prod-3", {"env": "prod"})
        await worker.live(2 * MINUTE)
        assert (POLICY, "prod-3", NAME) not in stage.hub.api.records
        await worker.live(60 * MINUTE)
        assert stage.values()["prod-3"] == "1"

    play(story)


def test_a_half_written_set_of_decisions_removes_nobody() -> None:
    """Nor does it move a cluster to another group."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        before = snapshot(stage)
        stage.hub.stops_after = 1
        stage.hub.drop_cluster("dev-1")
        await worker.live(5 * MINUTE)
        assert snapshot(stage) == before
        assert not worker.part.state.complete
        stage.hub.stops_after = None
        await worker.live(5 * MINUTE)
        assert worker.part.state.complete

    stage = play(story)
    assert stage.hub.agents["dev-1"].deleted == [OBJECT]
    assert not stage.hub.agents["stage-1"].deleted


def test_observing_writes_nothing() -> None:
    """Not even what would be taken over."""

    async def story(stage: HubStage, worker: Worker) -> None:
        stage.write("2")
        stage.hub.settle()
        before = stage.hub.api.version
        await worker.live(30 * MINUTE, Mode.OBSERVE)
        assert stage.hub.api.version == before

    play(story, adopted())


def test_a_worker_that_dies_anywhere_gives_nothing_twice() -> None:
    """Another goes on from the journal and the hub."""
    stage = HubStage()

    async def story(stage: HubStage, worker: Worker) -> None:
        for _ in range(40):
            await worker.round()
            stage.clock.at = Instant(stage.clock.at + 30 * SECOND)
            worker = stage.start()
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"

    play(story, stage)
    assert all(len(agent.applied) == 1 for agent in stage.hub.agents.values())


def test_approvals_of_the_document_open_their_groups() -> None:
    """Groups that are not approved get nothing; what is approved for a version counts for it."""
    manual = {"type": "manualPerGroup", "manualPerGroup": {"progressDeadline": "20m"}}
    stage = HubStage(rolloutStrategy=manual)

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(5 * MINUTE)
        assert stage.values() == {}
        approved = [{"groupName": "prod", "rolloutApproved": True}]
        stage.declare(rolloutStrategy=manual, decisionGroups=approved, approvalsForVersion="9")
        await worker.live(5 * MINUTE)
        assert stage.values() == {}
        stage.declare(rolloutStrategy=manual, decisionGroups=approved)
        await worker.live(5 * MINUTE)
        assert set(stage.values()) == {"prod-1", "prod-2"}
        stage.declare(rolloutStrategy=manual)
        stage.hub.add("prod-3", {"env": "prod"})
        await worker.live(5 * MINUTE)
        assert set(stage.values()) == {"prod-1", "prod-2"}

    play(story, stage)


def test_a_pause_in_the_document_holds_and_its_end_goes_on() -> None:
    """Nothing starts in between."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(2 * MINUTE)
        stage.declare(paused=True)
        await worker.live(60 * MINUTE)
        assert set(stage.values()) == {"dev-1", "dev-2"}
        stage.declare()
        await worker.live(60 * MINUTE)
        assert len(stage.values()) == 6

    play(story)


def test_a_pointer_that_a_person_removed_is_given_again() -> None:
    """The cluster has lost what it was given; its objects stay meanwhile."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        before = snapshot(stage)
        stage.hub.drop(CONFIG_MAP, "policies", "tidegate-pointers-dev-1")
        stage.pass_time(60)
        await worker.live(60 * MINUTE)
        assert worker.part.state.reports["dev-1"].status.name == "Succeeded"
        assert snapshot(stage) == before

    stage = play(story)
    assert not any(agent.deleted for agent in stage.hub.agents.values())


def test_two_policies_keep_their_pointers_apart() -> None:
    """On the same clusters, in the same ConfigMaps."""

    async def story(stage: HubStage, worker: Worker) -> None:
        stage.declare_policy("db")
        await worker.live(60 * MINUTE)
        other = stage.start("policies/policies.db")
        await other.live(60 * MINUTE)
        stage.write("2")
        await worker.live(60 * MINUTE)
        kept = stage.hub.api.records[CONFIG_MAP, "policies", "tidegate-pointers-dev-1"]
        data = stage.hub.api.document(kept)["data"]
        assert set(data) == {"web", "db"}
        assert data["web"] == (await worker.fleet.view(PARTITION)).revision_name
        assert data["db"] == (await worker.fleet.view("policies/policies.db")).revision_name
        stage.declare(paused=True)
        await worker.fleet.leave(PARTITION)
        kept = stage.hub.api.records[CONFIG_MAP, "policies", "tidegate-pointers-dev-1"]
        assert set(stage.hub.api.document(kept)["data"]) == {"db"}

    stage = play(story)
    assert not any(agent.deleted for agent in stage.hub.agents.values())


def test_the_object_says_how_its_rollout_goes() -> None:
    """Summary, groups and conditions, whose times change with their status; only where we act."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(2 * MINUTE, Mode.OBSERVE)
        assert stage.status() == {}
        await worker.live(2 * MINUTE)
        now = stage.status()
        assert (now["rolloutStatus"], now["done"]) == ("Progressing", "0 of 6")
        assert now["revision"] == (await worker.fleet.view(PARTITION)).revision_name
        assert [each["groupName"] for each in now["decisionGroups"]] == ["dev", "stage", "prod"]
        await worker.live(60 * MINUTE)
        end = stage.status()
        assert (end["rolloutStatus"], end["done"]) == ("Succeeded", "6 of 6")
        assert end["lastSuccessful"] == now["revision"]
        conditions = {each["type"]: each for each in end["conditions"]}
        assert {kind: each["status"] for kind, each in conditions.items()} == {
            "Accepted": "True",
            "Progressing": "False",
            "Succeeded": "True",
            "Failed": "False",
        }
        before = {each["type"]: each["lastTransitionTime"] for each in now["conditions"]}
        assert conditions["Failed"]["lastTransitionTime"] == before["Failed"]
        assert conditions["Succeeded"]["lastTransitionTime"] > before["Succeeded"]
        # Nothing is written where nothing changed.
        version = stage.hub.api.version
        await worker.live(60 * MINUTE)
        assert stage.hub.api.version == version

    play(story)


def test_a_retry_in_the_document_is_for_the_rollout_that_its_status_names() -> None:
    """Taken up once; one for another rollout does nothing."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        stage.hub.agents["dev-1"].fails["2"] = "quota exceeded"
        stage.write("2")
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Failed"
        stage.declare(retryRollout={"rolloutUID": "another", "failedOnly": True})
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Failed"
        uid = stage.status()["rolloutUID"]
        stage.declare(retryRollout={"rolloutUID": uid, "failedOnly": True})
        await worker.live(MINUTE)
        assert worker.summary() == "Progressing"
        stage.hub.agents["dev-1"].fails.clear()
        stage.hub.agents["dev-1"].recheck(stage.clock.now())
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"
        assert set(stage.values().values()) == {"2"}

    play(story)


def test_a_cluster_that_is_back_before_the_scheduler_noticed_loses_nothing() -> None:
    """It is well and in no decision; only one that stays so for a while has left."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        before = snapshot(stage)
        stage.hub.put_cluster("prod-1", {"env": "prod"}, taint="unreachable", available=False)
        await worker.live(10 * MINUTE)
        stage.hub.stops_after = 0
        stage.hub.put_cluster("prod-1", {"env": "prod"})
        for _ in range(4):
            await worker.round()
            stage.pass_time(60)
        stage.hub.stops_after = None
        await worker.live(10 * MINUTE)
        assert snapshot(stage) == before
        # The author's placement selects it no more.
        stage.hub.put_cluster("prod-1", {"env": "prod"}, taint="maintenance")
        for _ in range(4):
            await worker.round()
            stage.pass_time(60)
        assert snapshot(stage) == before
        stage.pass_time(120)
        await worker.live(MINUTE)
        assert (POLICY, "prod-1", NAME) not in stage.hub.api.records

    play(story)


def test_one_group_is_retried_and_a_name_that_is_wrong_retries_nothing() -> None:
    """The other group keeps its failure; `plan` names it."""
    tolerant = {"progressDeadline": "20m", "maxFailures": 1}
    plan = {"type": "ProgressivePerGroup", "progressivePerGroup": tolerant}

    async def story(stage: HubStage, worker: Worker) -> None:
        for name in ("dev-1", "stage-1"):
            stage.hub.agents[name].fails["1"] = "quota exceeded"
        await worker.live(180 * MINUTE)
        uid = stage.status()["rolloutUID"]
        stage.declare(rolloutStrategy=plan, retryRollout={"rolloutUID": uid, "group": "stag"})
        await worker.live(MINUTE)
        view = await worker.fleet.view(PARTITION)
        (warning,) = [each.text() for each in view.warnings]
        assert 'no group "stag", so that nothing is retried' in warning
        failed = {
            name for name, each in worker.part.state.reports.items() if each.status.name == "Failed"
        }
        assert failed == {"dev-1", "stage-1"}
        for name in failed:
            stage.hub.agents[name].fails.clear()
        retry = {"rolloutUID": uid, "failedOnly": True, "group": "stage"}
        stage.declare(rolloutStrategy=plan, retryRollout=retry)
        stage.hub.agents["stage-1"].recheck(stage.clock.now())
        await worker.live(60 * MINUTE)
        names = {name: each.status.name for name, each in worker.part.state.reports.items()}
        assert (names["dev-1"], names["stage-1"]) == ("Failed", "Succeeded")

    play(story, HubStage(rolloutStrategy=plan))
