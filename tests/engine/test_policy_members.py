"""Clusters that join, leave, go offline and change their group while a revision is on its way.

A cluster that joins a group still to come waits with it, and has nothing meanwhile: it is not given
the revision before, only to be moved minutes later. Of two readings, the one that starts less.
"""

from tests.hub_stage import MINUTE, NAME, OBJECT, HubStage, Worker, play
from tidegate.kinds.policies.simulated.agent import DELAY
from tidegate.kubernetes.port import CONFIG_MAP, POLICY
from tidegate.model.time import Duration


async def second_on_its_way(stage: HubStage, worker: Worker) -> None:
    """All have the first revision; the second is in dev and soaks there."""
    await worker.live(60 * MINUTE)
    stage.write("2")
    await worker.live(2 * MINUTE)
    assert holders(stage, "2") == {"dev-1", "dev-2"}


def holders(stage: HubStage, value: str) -> set[str]:
    """The clusters that have a value."""
    return {name for name, found in stage.values().items() if found == value}


def given(stage: HubStage, name: str) -> list[str]:
    """Everything that a cluster ever had."""
    return [content["data"]["value"] for _, _, content in stage.hub.agents[name].applied]


def test_who_joins_a_later_group_gets_nothing_before_its_turn_and_then_only_the_new() -> None:
    """No replica, no pointer and no error in between."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await second_on_its_way(stage, worker)
        stage.hub.add("prod-3", {"env": "prod"})
        await worker.live(2 * MINUTE)
        assert (POLICY, "prod-3", NAME) not in stage.hub.api.records
        assert (CONFIG_MAP, "policies", "tidegate-pointers-prod-3") not in stage.hub.api.records
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"

    assert given(play(story), "prod-3") == ["2"]


def test_who_joins_an_earlier_group_starts_at_once_and_later_groups_wait_for_it() -> None:
    """They wait until it has soaked."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await second_on_its_way(stage, worker)
        await worker.live(4 * MINUTE)
        assert holders(stage, "2") == {"dev-1", "dev-2", "stage-1", "stage-2"}
        stage.hub.add("dev-3", {"env": "dev"}).silent = True
        await worker.live(10 * MINUTE)
        assert not holders(stage, "2") & {"prod-1", "prod-2"}
        stage.hub.agents["dev-3"].silent = False
        await worker.live(4 * MINUTE)
        assert "dev-3" in holders(stage, "2")
        assert not holders(stage, "2") & {"prod-1", "prod-2"}
        await worker.live(10 * MINUTE)
        assert holders(stage, "2") == set(stage.hub.agents)

    assert given(play(story), "dev-3") == ["2"]


def test_who_joins_the_group_that_is_on_its_way_starts_with_it() -> None:
    """The next group waits for it as for the others."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await second_on_its_way(stage, worker)
        stage.hub.add("dev-3", {"env": "dev"})
        await worker.live(4 * MINUTE)
        # The others have soaked by now.
        assert holders(stage, "2") == {"dev-1", "dev-2", "dev-3"}
        await worker.live(30 * MINUTE)
        assert holders(stage, "2") == set(stage.hub.agents)

    assert given(play(story), "dev-3") == ["2"]


def test_who_leaves_in_flight_holds_no_later_group() -> None:
    """What it had is taken from it; the others go on."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        stage.hub.agents["dev-2"].delay = Duration(10**18)
        stage.write("2")
        await worker.live(10 * MINUTE)
        assert holders(stage, "2") == {"dev-1"}
        stage.hub.agents["dev-2"].delay = DELAY
        stage.hub.drop_cluster("dev-2")
        await worker.live(60 * MINUTE)
        assert holders(stage, "2") == set(stage.hub.agents) - {"dev-2"}
        assert worker.summary() == "Succeeded"

    stage = play(story)
    assert stage.hub.agents["dev-2"].deleted == [OBJECT]


def test_who_goes_offline_stops_its_group_at_the_deadline_and_comes_back_as_it_says() -> None:
    """Offline is no success and, after its deadline, a failure; back, its own word counts."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        stage.hub.agents["dev-2"].silent = True
        stage.hub.put_cluster("dev-2", {"env": "dev"}, taint="unreachable", available=False)
        stage.write("2")
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Failed"
        assert holders(stage, "2") == {"dev-1"}
        stage.hub.agents["dev-2"].silent = False
        stage.hub.put_cluster("dev-2", {"env": "dev"})
        await worker.live(60 * MINUTE)
        assert holders(stage, "2") == set(stage.hub.agents)
        assert worker.summary() == "Succeeded"

    stage = play(story)
    assert not any(agent.deleted for agent in stage.hub.agents.values())


def test_who_changes_its_group_keeps_what_it_has_and_goes_with_the_new_one() -> None:
    """From prod to dev it starts at once; from dev to prod it has the revision already."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await second_on_its_way(stage, worker)
        stage.hub.put_cluster("prod-1", {"env": "dev"})
        stage.hub.put_cluster("dev-1", {"env": "prod"})
        await worker.live(2 * MINUTE)
        assert holders(stage, "2") == {"dev-1", "dev-2", "prod-1"}
        await worker.live(60 * MINUTE)
        assert holders(stage, "2") == set(stage.hub.agents)

    stage = play(story)
    assert given(stage, "dev-1") == given(stage, "prod-1") == ["1", "2"]
    assert not any(agent.deleted for agent in stage.hub.agents.values())
