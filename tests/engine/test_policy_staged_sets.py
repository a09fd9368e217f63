"""A set is staged as one: all its policies move together, and a cluster needs all their stamps."""

import pytest

from tests.engine.test_policy_crashes import story as story_of_deaths
from tests.engine.test_policy_hand_over import refused
from tests.hub_stage import GROUPS, MINUTE, HubStage, Worker, play, strategy
from tests.sim import sized
from tests.wave_stage import StagedSetStage
from tidegate.kinds.policies.app.revision_diff import compare_revisions
from tidegate.kinds.policies.app.stage_plan import plan_staging
from tidegate.kubernetes.port import CONFIG_MAP, PLACEMENT, POLICY, ROLLOUT
from tidegate.model.errors import StaleError
from tidegate.model.time import SECOND, Instant

PARTITION = "policies/policies.all"
DEV = {"dev-1", "dev-2"}
# Of the calls of the story, one in so many is died at.
EVERY = sized(5, 3, 1)


def with_set(stage: HubStage) -> StagedSetStage:
    """The stage as what it is."""
    assert isinstance(stage, StagedSetStage)
    return stage


def adopted() -> StagedSetStage:
    """A set that every cluster has already, plain and enforced by its author."""
    stage = StagedSetStage()
    stage.write("1", "policies")
    stage.pass_time(60)
    assert set(stage.all_values().values()) == {("1", "1")}
    return stage


def uids(stage: HubStage) -> dict[str, list[int]]:
    """The objects of every cluster, each by its uid."""
    return {
        name: [agent.objects[each].uid for each in sorted(agent.objects)]
        for name, agent in stage.hub.agents.items()
    }


def test_a_new_set_goes_out_group_by_group() -> None:
    """No cluster has one policy without the other, and none before its turn."""

    async def story(hub_stage: HubStage, _: Worker) -> None:
        stage = with_set(hub_stage)
        worker = stage.start(PARTITION)
        assert await worker.fleet.partitions() == [PARTITION]
        await worker.live(2 * MINUTE)
        values = stage.all_values()
        assert {name for name in values if values[name] == ("1", "1")} == DEV
        assert {values[name] for name in values.keys() - DEV} == {("", "")}
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"
        assert set(stage.all_values().values()) == {("1", "1")}

    stage = play(story, StagedSetStage())
    assert not any(agent.deleted for agent in stage.hub.agents.values())


def test_an_edit_of_one_policy_is_a_revision_of_the_set() -> None:
    """Taken over in place; the edit waits for its turn, and the other policy stays as it is."""
    stage = adopted()
    before = uids(stage)

    async def story(_: HubStage, __: Worker) -> None:
        worker = stage.start(PARTITION)
        first = await worker.fleet.adopt(PARTITION)
        stage.pass_time(60)
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"
        assert set(stage.all_values().values()) == {("1", "1")}
        stage.write_member("db", "2")
        await worker.live(2 * MINUTE)
        values = stage.all_values()
        assert {name for name in values if values[name] == ("1", "2")} == DEV
        assert {values[name] for name in values.keys() - DEV} == {("1", "1")}
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"
        assert set(stage.all_values().values()) == {("1", "2")}
        shown = await compare_revisions(worker.fleet, "policies.all", first)
        assert [each.path.partition(": ")[0] for each in shown.changes] == ["db"]

    play(story, stage)
    assert uids(stage) == before
    assert not any(agent.deleted for agent in stage.hub.agents.values())
    for agent in stage.hub.agents.values():
        assert [name for _, name, _ in agent.applied].count("ConfigMap/web") == 1


def test_policies_that_are_written_one_after_the_other_go_out_together() -> None:
    """What is there in between goes to no cluster, nor after a start in that moment."""
    stage = adopted()

    async def story(_: HubStage, __: Worker) -> None:
        worker = stage.start(PARTITION)
        await worker.fleet.adopt(PARTITION)
        await worker.live(60 * MINUTE)
        stage.write_member("web", "2")
        result = await worker.round()
        assert result.recheck_at == Instant(stage.clock.at + 10 * SECOND)
        stage.pass_time(8)
        await worker.round()
        stage.pass_time(11)
        worker = stage.start(PARTITION)
        await worker.round()
        stage.pass_time(8)
        assert not (await worker.round()).done
        stage.write_member("db", "2")
        await worker.round()
        stage.pass_time(8)
        assert not (await worker.round()).done
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"

    play(story, stage)
    assert set(stage.all_values().values()) == {("2", "2")}
    kept = [key[2] for key, _ in stage.hub.api.listed(CONFIG_MAP, "policies")]
    assert sum(name.startswith("all-rev-") for name in kept) == 2


def test_one_write_gives_a_cluster_all_policies_of_a_set() -> None:
    """The pointers of a cluster are one object, and move together."""
    stage = adopted()
    maps: list[int] = []

    async def story(_: HubStage, __: Worker) -> None:
        worker = stage.start(PARTITION)
        await worker.fleet.adopt(PARTITION)
        await worker.live(60 * MINUTE)
        stage.write("2")

        def call(name: str) -> None:
            maps.extend([1] if name == "entries set" else [])

        stage.hub.api.fault = call
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"

    play(story, stage)
    assert set(stage.all_values().values()) == {("2", "2")}
    assert len(maps) == 2 * len(GROUPS)


def test_a_cluster_succeeds_only_with_the_stamps_of_all() -> None:
    """One policy that fails on one cluster stops the set; the others are named as they are."""
    stage = adopted()

    async def story(_: HubStage, __: Worker) -> None:
        worker = stage.start(PARTITION)
        await worker.fleet.adopt(PARTITION)
        await worker.live(60 * MINUTE)
        good = worker.part.state.reports["dev-1"].revision
        stage.declare(rolloutStrategy=strategy(onFailure="rollback"))
        stage.hub.agents["dev-1"].fails["bad"] = "no such quota"
        stage.write_member("web", "2")
        stage.write_member("db", "bad")
        await worker.live(5 * MINUTE)
        report = worker.part.state.reports["dev-1"]
        assert report.status.name == "Progressing"
        assert report.detail is not None
        assert report.detail.startswith("db: NonCompliant; [rev ")
        assert stage.all_values()["dev-1"] == ("2", "1")
        await worker.live(60 * MINUTE)
        # Both policies return, also the one that was well.
        assert set(stage.all_values().values()) == {("1", "1")}
        assert {each.revision for each in worker.part.state.reports.values()} == {good}

    play(story, stage)
    assert not any(agent.deleted for agent in stage.hub.agents.values())


def test_a_pointer_of_one_policy_that_another_moves_is_put_back() -> None:
    """Also one that is removed: the cluster has no revision of the set then."""
    stage = adopted()

    async def story(_: HubStage, __: Worker) -> None:
        worker = stage.start(PARTITION)
        await worker.fleet.adopt(PARTITION)
        await worker.live(60 * MINUTE)
        stage.write("2")
        await worker.live(60 * MINUTE)
        key = (CONFIG_MAP, "policies", "tidegate-pointers-prod-1")
        good = stage.hub.api.document(stage.hub.api.records[key])
        data = dict(good["data"])
        other = stage.hub.api.document(stage.hub.api.records[key])["data"]["web"]
        for changed in ({**data, "db": other}, {"web": data["web"]}):
            stage.hub.api.put(key, {**good, "data": changed})
            await worker.live(10 * MINUTE)
            assert stage.hub.api.document(stage.hub.api.records[key])["data"] == data
            assert worker.summary() == "Succeeded"
        assert ("DriftPutBack", "changed by others, and put back: pointer of prod-1") in (
            stage.events()
        )

    play(story, stage)


def test_a_set_is_handed_back_as_it_was() -> None:
    """Plain roots, the author's binding, and nothing of ours but revisions."""
    stage = adopted()
    before = uids(stage)

    async def story(_: HubStage, __: Worker) -> None:
        worker = stage.start(PARTITION)
        await worker.fleet.adopt(PARTITION)
        stage.write("2")
        await worker.live(2 * MINUTE)
        stage.declare(paused=True)
        with pytest.raises(StaleError, match="2 revisions"):
            await worker.fleet.leave(PARTITION)
        stage.declare()
        await worker.live(60 * MINUTE)
        stage.declare(paused=True)
        stage.hub.api.fault = lambda _: stage.hub.settle()
        await worker.fleet.leave(PARTITION)
        stage.pass_time(MINUTE)
        assert set(stage.all_values().values()) == {("2", "2")}
        placements = [key[2] for key, _ in stage.hub.api.listed(PLACEMENT, "policies")]
        assert placements == ["fleet"]
        for name in ("web", "db"):
            root = stage.hub.api.document(stage.hub.api.records[POLICY, "policies", name])
            assert "hub" not in str(root["spec"]["policy-templates"][0]["objectDefinition"]["spec"])
        (plan,) = (await plan_staging(worker.fleet)).items
        assert (plan.policy, plan.policies, plan.root) == ("policies.all", ["db", "web"], "plain")

    play(story, stage)
    assert uids(stage) == before
    assert not any(agent.deleted for agent in stage.hub.agents.values())


def test_what_cannot_be_staged_of_a_set_is_named() -> None:
    """A policy with a rollout of its own, one that is new, one that is missing."""

    async def story(hub_stage: HubStage, _: Worker) -> None:
        stage = with_set(hub_stage)
        worker = stage.start(PARTITION)
        await worker.live(60 * MINUTE)
        stage.members("web", "db", "more")
        assert "policy/web-source/more: missing" in await refused(worker, PARTITION)
        stage.write_member("more", "1")
        assert "policy/policies/more: is new in a set that clusters have" in (
            await refused(worker, PARTITION)
        )
        stage.members("web", "db")
        fields = {"policy": "db", "source": {"namespace": "web-source"}}
        stage.hub.put(
            ROLLOUT, "policies", "db", spec={**fields, "rolloutStrategy": {"type": "All"}}
        )
        assert "policy/policies/db: has a rollout of its own" in await refused(worker, PARTITION)
        assert "binds PolicySet/all together" in await refused(worker, "policies/policies.db")
        stage.hub.drop(ROLLOUT, "policies", "db")
        stage.write_member("db", "2", dependencies=[{"kind": "Policy", "name": "x"}])
        assert "db: spec.dependencies: differs" in await refused(worker, PARTITION)

    play(story, StagedSetStage())


def test_revisions_of_a_set_that_nothing_names_are_removed_with_those_of_its_policies() -> None:
    """As many are kept as the document says; what one of them names stays."""

    async def story(hub_stage: HubStage, _: Worker) -> None:
        stage = with_set(hub_stage)
        stage.declare(rolloutStrategy={"type": "All"}, revisionHistoryLimit=1)
        worker = stage.start(PARTITION)
        for value in "12345":
            stage.write_member("db", value)
            await worker.live(60 * MINUTE)
            assert worker.summary() == "Succeeded"
        await worker.live(MINUTE)
        kept = [key[2] for key, _ in stage.hub.api.listed(CONFIG_MAP, "policies")]
        counts = {
            each: sum(f"{each}-rev-" in name for name in kept) for each in ("all", "db", "web")
        }
        # What all have, and one more.
        assert counts == {"all": 2, "db": 2, "web": 1}

    play(story, StagedSetStage())


def test_a_death_at_any_call_harms_no_cluster_of_a_set() -> None:
    """Every cluster gets each revision of both policies once, and loses no object."""
    trip = story_of_deaths(StagedSetStage(each=1), None, PARTITION)
    assert trip.passed > 100
    for at in trip.points(EVERY):
        stage = StagedSetStage(each=1)
        story_of_deaths(stage, at, PARTITION)
        assert set(stage.all_values().values()) == {("2", "2")}, at
        for agent in stage.hub.agents.values():
            assert agent.deleted == []
            for name in ("ConfigMap/web", "ConfigMap/db"):
                given = [each["data"]["value"] for _, who, each in agent.applied if who == name]
                assert given == ["1", "2"], at
