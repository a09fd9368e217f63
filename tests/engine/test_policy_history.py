"""Old revisions are removed from a simulated hub, and none that is needed."""

import pytest

from tests.hub_stage import MINUTE, PARTITION, HubStage, Worker, play, strategy
from tidegate.kinds.policies.app.revision_diff import compare_revisions
from tidegate.kubernetes.port import CONFIG_MAP
from tidegate.model.errors import NotFoundError, OutsideError

QUICK = {"type": "All", "all": {"progressDeadline": "20m"}}


def kept(stage: HubStage) -> list[str]:
    """The revisions on the hub, in the order in which they were made."""
    found = [
        (record.version, key[2].rpartition("-")[2])
        for key, record in stage.hub.api.listed(CONFIG_MAP, "policies")
        if "-rev-" in key[2]
    ]
    return [name for _, name in sorted(found)]


async def revise(stage: HubStage, worker: Worker, *values: str) -> None:
    """Revisions, one after the other, each to its end."""
    for value in values:
        stage.write(value)
        await worker.live(10 * MINUTE)


def test_the_last_few_are_kept_and_can_be_compared() -> None:
    """With those that clusters have, and the last success; one that is gone is said to be."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(10 * MINUTE)
        (first,) = kept(stage)
        await revise(stage, worker, "2", "3", "4")
        assert len(kept(stage)) == 3
        await revise(stage, worker, "5")
        assert first not in kept(stage)
        assert len(kept(stage)) == 3
        assert set(stage.values().values()) == {"5"}
        one, other, _ = kept(stage)
        found = await compare_revisions(worker.fleet, "policies.web", one, other[:6])
        assert [(each.before, each.after) for each in found.changes] == [('"3"', '"4"')]
        with pytest.raises(NotFoundError, match="only the last are kept"):
            await compare_revisions(worker.fleet, "policies.web", first)

    play(story, HubStage(rolloutStrategy=QUICK, revisionHistoryLimit=2))


def test_what_a_cluster_has_or_is_returned_to_is_never_removed() -> None:
    """A silent group keeps its revision, however many follow; and so does the last success."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        (good,) = kept(stage)
        for name, agent in stage.hub.agents.items():
            if name.startswith("dev"):
                agent.fails.update(dict.fromkeys(("2", "3", "4"), "quota exceeded"))
        for value in ("2", "3", "4"):
            stage.write(value)
            await worker.live(30 * MINUTE)
            assert good in kept(stage)
        assert worker.part.state.rollout.last_good == good
        # Only the last success and what dev has: none is kept beside what is in use.
        assert len(kept(stage)) == 2
        errors = [key for key, each in stage.hub.agents.items() if each.deleted]
        assert errors == []

    play(
        story, HubStage(rolloutStrategy=strategy(onNewRevision="supersede"), revisionHistoryLimit=0)
    )


def test_nothing_is_removed_on_a_list_that_could_not_be_read() -> None:
    """It is reported, and the rollout goes on."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(10 * MINUTE)
        await revise(stage, worker, "2")
        before = kept(stage)
        broken = []

        def fault(call: str) -> None:
            if call == "delete":
                broken.append(call)
                raise OutsideError("hub: HTTP 403: configmaps: no permission to delete")

        stage.hub.api.fault = fault
        stage.declare(rolloutStrategy=QUICK, revisionHistoryLimit=0)
        result = await worker.round()
        assert broken
        assert "no permission" in result.troubles["revisions that are not in use"]
        assert kept(stage) == before
        await revise(stage, worker, "3")
        assert set(stage.values().values()) == {"3"}
        stage.hub.api.fault = lambda _: None
        await worker.round()
        assert len(kept(stage)) == 1

        def partial(call: str) -> None:
            if call == "read ConfigMap":
                raise OutsideError("hub: timed out")

        await revise(stage, worker, "4")
        many = kept(stage)
        stage.hub.api.fault = partial
        with pytest.raises(OutsideError):
            await worker.fleet.tidy(PARTITION, ())
        assert kept(stage) == many

    play(story, HubStage(rolloutStrategy=QUICK))


def test_the_pointers_of_a_cluster_that_left_are_removed() -> None:
    """With the last of them, the ConfigMap; another policy's pointer stays."""

    async def story(stage: HubStage, worker: Worker) -> None:
        stage.declare_policy("other")
        other = stage.start("policies/policies.other")
        await worker.live(60 * MINUTE)
        await other.live(60 * MINUTE)
        stage.hub.drop_cluster("prod-1")
        await worker.live(20 * MINUTE)
        key = (CONFIG_MAP, "policies", "tidegate-pointers-prod-1")
        left = stage.hub.api.document(stage.hub.api.records[key])
        assert list(left["data"]) == ["other"]
        await other.live(20 * MINUTE)
        assert key not in stage.hub.api.records

    play(story)
