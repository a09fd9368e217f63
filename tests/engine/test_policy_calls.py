"""Few calls: a rollout costs a write a cluster, and little besides."""

import asyncio
from collections import Counter
from typing import Any

from tests.hub_stage import GROUPS, MINUTE, NAME, PARTITION, HubStage, Worker, adopted, play
from tests.patience import patiently
from tests.wave_stage import WaveStage
from tidegate.journal.facts import Mode
from tidegate.kinds.policies.fleet import SETTLE_S, PolicyFleet
from tidegate.kubernetes.port import MANAGER, Applied, Document, Entries, Object
from tidegate.kubernetes.simulated.api import SimulatedApi
from tidegate.kubernetes.simulated.cluster import SimulatedCluster
from tidegate.model.time import SECOND, Duration


def _counted(stage: HubStage) -> Counter[str]:
    """How often each call is made from now on."""
    calls: Counter[str] = Counter()

    def call(name: str) -> None:
        calls[name] += 1

    stage.hub.api.fault = call
    return calls


def test_a_revision_is_a_write_for_each_cluster_and_one_for_itself() -> None:
    """Nothing is read before it is written but the revision, whose name may be taken."""
    stage = adopted()

    async def story(_: HubStage, worker: Worker) -> None:
        await worker.fleet.adopt(PARTITION)
        stage.pass_time(60)
        await worker.live(60 * MINUTE)
        stage.write("2")
        calls, told = _counted(stage), len(stage.events())
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"
        assert set(stage.values().values()) == {"2"}
        # And its Events, each of which is looked up before it is written.
        events = len(stage.events()) - told
        assert events
        assert calls["entries set"] == 2 * len(GROUPS)
        assert calls["applied"] == 1 + events
        assert calls["get"] == 1 + events

    play(story, stage)


def test_clusters_of_a_group_are_put_into_a_decision_together() -> None:
    """A policy that is new: two writes of a decision for as many as are given it at once."""
    stage = HubStage(each=20)
    calls = _counted(stage)

    async def story(_: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"

    play(story, stage)
    assert set(stage.values().values()) == {"1"}
    # The decisions of 60 clusters, and what the Rollout says.
    assert calls["status"] < 40, calls


def test_an_object_is_written_once_a_second_while_only_its_numbers_change() -> None:
    """Clusters answer one by one; what the whole is becomes known at once."""
    stage = HubStage(each=10, rolloutStrategy={"type": "All"})
    for at, name in enumerate(sorted(stage.hub.agents)):
        stage.hub.agents[name].delay = Duration(SECOND + at * SECOND // 20)

    async def story(_: HubStage, worker: Worker) -> None:
        await worker.round()
        calls = _counted(stage)
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"
        # 30 answers within 1.5 s, each of them in a round of its own.
        assert 2 <= calls["status"] <= 5, calls
        (document,) = worker.fleet.objects.of(NAME)
        assert document["status"]["rolloutStatus"] == "Succeeded"
        assert document["status"]["done"] == "30 of 30"

    play(story, stage)


class Slow(SimulatedCluster):
    """A hub that takes a moment for each write, and knows how many it had at once."""

    def __init__(self, api: SimulatedApi, counts: Counter[str], manager: str = MANAGER) -> None:
        super().__init__(api, manager)
        self._counts = counts
        self._on = api

    def under(self, manager: str) -> "Slow":
        return Slow(self._on, self._counts, manager)

    async def set_entries(self, head: Document, values: Entries, **more: Any) -> Object | None:
        counts = self._counts
        counts["now"] += 1
        counts["most"] = max(counts["most"], counts["now"])
        await asyncio.sleep(0)
        try:
            return await super().set_entries(head, values, **more)
        finally:
            counts["now"] -= 1


def test_taking_over_waits_for_no_cluster_in_turn() -> None:
    """All pointers are written side by side, and all before the root looks them up."""
    stage = adopted()
    counts: Counter[str] = Counter()
    fleet = PolicyFleet(Slow(stage.hub.api, counts), fresh_s=0.0, settle_s=0.0)
    asyncio.run(fleet.adopt(PARTITION))
    assert counts["most"] == 2 * len(GROUPS)
    stage.pass_time(60)
    assert set(stage.values().values()) == {"1"}


class Timed(SimulatedCluster):
    """A hub that notes when objects of each kind were written last."""

    def __init__(self, api: SimulatedApi, at: dict[str, float], manager: str = MANAGER) -> None:
        super().__init__(api, manager)
        self._at = at
        self._on = api

    def under(self, manager: str) -> "Timed":
        return Timed(self._on, self._at, manager)

    async def apply(self, document: Document, **more: Any) -> Applied:
        self._at[str(document["kind"])] = asyncio.get_running_loop().time()
        return await super().apply(document, **more)

    async def write_status(self, found: Object, status: Document) -> Object:
        self._at[found.kind.name] = asyncio.get_running_loop().time()
        return await super().write_status(found, status)


def test_decisions_are_there_for_a_while_before_a_binding_names_them() -> None:
    """A propagator that saw the binding first would take the policy from every cluster."""
    stage = adopted()
    written: dict[str, float] = {}
    fleet = PolicyFleet(Timed(stage.hub.api, written), fresh_s=0.0)
    patiently(fleet.adopt(PARTITION))
    assert written["PlacementBinding"] - written["PlacementDecision"] >= SETTLE_S
    assert written["Policy"] >= written["PlacementBinding"]


def test_a_wave_that_nothing_happens_to_is_put_together_once() -> None:
    """A round in which nothing changed looks at what was seen last; an answer changes it."""

    async def story(stage: HubStage, worker: Worker) -> None:
        stage.pass_time(MINUTE)
        await worker.live(MINUTE)
        seen = await worker.fleet.observe(PARTITION)
        assert await worker.fleet.observe(PARTITION) is seen
        stage.hub.agents["dev-1"].broken = "out of room"
        stage.hub.agents["dev-1"].recheck(stage.clock.now())
        stage.pass_time(MINUTE)
        now = await worker.fleet.observe(PARTITION)
        assert now is not seen
        assert {each.name: each for each in now.reports}["dev-1"].status.name == "Failed"

    play(story, WaveStage())


def test_a_wave_is_three_calls_for_each_cluster() -> None:
    """What its agent said last is read, and its decision is written and noted."""
    stage = WaveStage()

    async def story(_: HubStage, worker: Worker) -> None:
        stage.pass_time(MINUTE)
        await worker.round(Mode.OBSERVE)
        calls, told = _counted(stage), len(stage.events())
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"
        events = len(stage.events()) - told
        clusters = 2 * len(GROUPS)
        # And Placement and binding, once.
        assert calls["applied"] == clusters + 2 + events
        assert calls["get"] == clusters + events
        # What the Rollout says is a status as well.
        assert clusters <= calls["status"] <= 4 * clusters, calls

    play(story, stage)
