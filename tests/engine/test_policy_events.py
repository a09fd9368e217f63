"""The Rollout object says what happens to it: Events and conditions with stable reasons."""

import asyncio
from typing import Any

import pytest

from tests.hub_stage import MINUTE, PARTITION, HubStage, Worker, play, strategy
from tests.policies import spec, template
from tidegate.kinds.policies.app.stage_plan import plan_staging
from tidegate.kubernetes.port import CONFIG_MAP, EVENT, PLACEMENT_DECISION, POLICY, ROLLOUT
from tidegate.model.errors import OutsideError


def reasons(stage: HubStage) -> list[str]:
    """What the Events are about, in their order."""
    return [reason for reason, _ in stage.events()]


def accepted(stage: HubStage) -> dict[str, Any]:
    """The condition that says whether the rollout can be carried out."""
    (found,) = [each for each in stage.status()["conditions"] if each["type"] == "Accepted"]
    condition: dict[str, Any] = found
    return condition


WHOLE = [
    "RolloutStarted",
    *(f"Group{what}" for _ in range(3) for what in ("Started", "Done")),
    "RolloutSucceeded",
]


def test_a_rollout_notes_its_moments_once() -> None:
    """Start, every group, the end: whatever becomes of the worker, and however long it runs."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(2 * MINUTE)
        assert stage.events()[0][1].startswith("revision ")
        for _ in range(12):
            stage.pass_time(11)
            await stage.start().live(5 * MINUTE)
        assert reasons(stage) == WHOLE
        notes = [note.split()[0] for reason, note in stage.events() if reason == "GroupDone"]
        assert notes == ["dev", "stage", "prod"]
        stage.pass_time(11)
        await stage.start().live(180 * MINUTE)
        assert reasons(stage) == WHOLE

    play(story)


def test_an_event_is_as_the_server_wants_it() -> None:
    """Of this object, by us, with a time of exactly six digits."""

    async def story(_: HubStage, worker: Worker) -> None:
        await worker.live(2 * MINUTE)

    stage = play(story)
    _, record = next(iter(stage.hub.api.listed(EVENT, "")))
    found = stage.hub.api.document(record)
    assert found["metadata"]["namespace"] == found["regarding"]["namespace"] == "policies"
    assert (found["regarding"]["kind"], found["regarding"]["name"]) == ("Rollout", "web")
    assert found["regarding"]["uid"]
    assert found["type"] == "Normal"
    assert found["reportingController"] == "tidegate.dev/worker"
    assert len(found["eventTime"]) == len("2026-01-05T10:00:00.000000Z")


def test_a_failure_and_the_way_back_are_warnings() -> None:
    """And say what a way back does not undo."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        count = len(stage.events())
        stage.hub.agents["dev-1"].fails["2"] = "quota exceeded"
        stage.write("2")
        await worker.live(60 * MINUTE)
        since = stage.events()[count:]
        assert [reason for reason, _ in since] == [
            *("RolloutStarted", "GroupStarted", "RolloutFailed", "RolledBack")
        ]
        assert "stay, unless it prunes them" in since[-1][1]
        # It is among the few that are named, with its message.
        (named,) = stage.status()["exceptionalClusters"] or [None]
        assert named is None or named["clusterName"] == "dev-1"

    play(story, HubStage(rolloutStrategy=strategy(onFailure="rollback")))


def test_a_cluster_that_failed_is_named_with_its_words() -> None:
    """The others are counted."""

    async def story(stage: HubStage, worker: Worker) -> None:
        stage.hub.agents["dev-1"].fails["1"] = "quota exceeded"
        await worker.round()
        await worker.round()
        assert stage.status()["clusters"]["updating"] == 2
        assert stage.status()["exceptionalClusters"] == []
        await worker.live(60 * MINUTE)
        status = stage.status()
        (named,) = status["exceptionalClusters"]
        assert (named["clusterName"], named["groupName"]) == ("dev-1", "dev")
        assert named["status"] == "Failed"
        assert named["message"].endswith("quota exceeded")
        assert status["clusters"] == {
            "counted": 6,
            "waiting": 4,
            "updating": 0,
            "soaking": 0,
            "done": 1,
            "failed": 1,
            "ignored": 0,
        }
        assert status["decisionGroups"][0]["failed"] == 1

    play(story)


def test_a_pause_that_comes_again_is_one_event_that_counts() -> None:
    """The same words are one Event with a series; a revision that takes over is noted."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(2 * MINUTE)
        for paused in (True, False, True):
            stage.declare(paused=paused)
            await worker.live(MINUTE)
        (found,) = [
            stage.hub.api.document(record)
            for _, record in stage.hub.api.listed(EVENT, "")
            if stage.hub.api.document(record)["reason"] == "RolloutPaused"
        ]
        assert found["series"]["count"] == 2
        stage.declare(paused=False)
        stage.write("2")
        await worker.live(2 * MINUTE)
        assert "RolloutSuperseded" in reasons(stage)

    play(story)


def test_what_cannot_be_staged_is_a_condition_with_the_words_of_plan() -> None:
    """And an Event, once; once it can be, the condition is true again and nothing was lost."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        count = len(stage.events())
        hub = "{{hub .ManagedClusterName hub}}"
        stage.write(hub)
        for _ in range(3):
            with pytest.raises(OutsideError, match="not resolved"):
                await worker.round()
        condition = accepted(stage)
        assert (condition["status"], condition["reason"]) == ("False", "NotStageable")
        (refused,) = (await plan_staging(worker.fleet)).refused
        assert condition["message"] == "; ".join(refused.problems)
        assert reasons(stage)[count:] == ["RolloutRefused"]
        assert condition["message"] in stage.events()[-1][1]
        assert stage.status()["rolloutStatus"] == "Succeeded"
        stage.declare(rolloutStrategy={"type": "All", "all": {"progressDeadline": "soon"}})
        with pytest.raises(OutsideError):
            await worker.round()
        assert accepted(stage)["reason"] == "InvalidRollout"
        stage.declare()
        stage.write("1")
        await worker.live(MINUTE)
        assert accepted(stage)["status"] == "True"
        assert set(stage.values().values()) == {"1"}

    play(story)


def test_a_worker_that_observes_writes_nothing_of_a_refusal() -> None:
    """Two rollouts of one policy are refused on both objects, by a worker that acts."""
    stage = HubStage()
    stage.hub.put(
        ROLLOUT,
        "policies",
        "again",
        spec={"policy": "web", "source": {"namespace": "x"}, "rolloutStrategy": strategy()},
    )

    async def story() -> None:
        from tidegate.journal.facts import Mode

        worker = stage.start()
        with pytest.raises(OutsideError, match="2 rollouts are declared"):
            await worker.round(Mode.OBSERVE)
        assert stage.status() == {}
        with pytest.raises(OutsideError, match="2 rollouts are declared"):
            await worker.round()
        assert accepted(stage)["reason"] == "InvalidRollout"
        assert reasons(stage) == ["RolloutRefused"] * 2

    asyncio.run(story())


def test_an_event_that_cannot_be_written_is_reported_and_stops_nothing() -> None:
    """The status is written all the same."""

    async def story(stage: HubStage, worker: Worker) -> None:
        client = worker.fleet._hub
        real = client.apply

        async def apply(document: Any, **more: Any) -> Any:
            if document["kind"] == "Event":
                raise OutsideError("hub: HTTP 403: events: no permission to patch")
            return await real(document, **more)

        client.apply = apply  # type: ignore[method-assign]
        await worker.round()
        result = await worker.round()
        assert "no permission" in result.troubles["Events of the Rollout"]
        await worker.live(60 * MINUTE)
        assert stage.status()["rolloutStatus"] == "Succeeded"
        assert stage.events() == []

    play(story)


def test_a_pointer_that_a_person_moved_is_put_back_and_noted() -> None:
    """With the name of the cluster."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        stage.write("2")
        await worker.live(120 * MINUTE)
        old = stage.hub.api.document(
            stage.hub.api.records[CONFIG_MAP, "policies", "tidegate-pointers-prod-1"]
        )
        first = next(
            key[2].rpartition("-")[2]
            for key, _ in stage.hub.api.listed(CONFIG_MAP, "policies")
            if "-rev-" in key[2] and not key[2].endswith(old["data"]["web"])
        )
        stage.hub.api.put(
            (CONFIG_MAP, "policies", "tidegate-pointers-prod-1"), {**old, "data": {"web": first}}
        )
        await worker.live(60 * MINUTE)
        assert set(stage.values().values()) == {"2"}
        since = [each for each in stage.events() if each[0] == "DriftPutBack"]
        assert [note for _, note in since] == ["changed by others, and put back: pointer of prod-1"]

    play(story)


def _put_back(stage: HubStage) -> list[str]:
    return [note for reason, note in stage.events() if reason == "DriftPutBack"]


def test_a_policy_that_clusters_lost_by_a_deleted_decision_is_put_back_and_noted() -> None:
    """No pointer was moved, and none is said to have been."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        assert _put_back(stage) == []
        stage.hub.drop(PLACEMENT_DECISION, "policies", "tidegate-web-decision-1")
        await worker.live(60 * MINUTE)
        assert len(stage.values()) == 6
        [note] = _put_back(stage)
        assert note.startswith("changed by others, and put back: policy on dev-1, policy on dev-2")

    play(story)


def test_a_pointer_that_a_person_brings_back_is_not_said_to_be_put_back_later() -> None:
    """The next revision moves it as it moves all others."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        name = "tidegate-pointers-prod-1"
        kept = stage.hub.api.document(stage.hub.api.records[CONFIG_MAP, "policies", name])
        stage.declare(paused=True)
        stage.hub.drop(CONFIG_MAP, "policies", name)
        await worker.live(10 * MINUTE)
        labels = {"labels": kept["metadata"]["labels"]}
        stage.hub.put(CONFIG_MAP, "policies", name, metadata=labels, data=kept["data"])
        await worker.live(10 * MINUTE)
        stage.declare()
        stage.write("2")
        await worker.live(120 * MINUTE)
        assert set(stage.values().values()) == {"2"}
        assert _put_back(stage) == []

    play(story)


def test_a_template_of_another_kind_is_refused_in_words() -> None:
    """On the object, too."""

    async def story(stage: HubStage, worker: Worker) -> None:
        stage.hub.put(POLICY, "web-source", "web", spec=spec(template(kind="OperatorPolicy")))
        with pytest.raises(OutsideError):
            await worker.round()
        assert "cannot say which revision" in accepted(stage)["message"]
        assert PARTITION in await worker.fleet.partitions()

    play(story)
