"""What rollouts share is claimed with the plan, and freed when it has soaked."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.engine.stage import DEMO, TERM, Process, Stage, Tripwire, set_up
from tidegate.engine.brakes.book import BrakeBook
from tidegate.kinds.rollouts.core.journal.facts import Decided
from tidegate.kinds.rollouts.core.journal.replay import replay
from tidegate.kinds.rollouts.wire.scenario_doc import read_scenario
from tidegate.model.reason import Gate
from tidegate.model.time import SECOND, Instant
from tidegate.settings.brake_file import BrakeFile
from tidegate.store.client.memory import MemoryStore
from tidegate.store.port import Head, TakenPlace

FIRST, SECOND_ONE = "simulated/demo", "simulated/other"
MUTEX = "mutexes: [{name: db, scope: {everything: true}}]"
BUDGET = "budgets: [{name: cap, max: 2}]"


def two(tmp_path: Path, brakes: str) -> tuple[Stage, Process, Process]:
    """Two rollouts of the same shape, under the same brakes."""
    stage = set_up(MemoryStore(), Tripwire())
    stage.fleet.add(SECOND_ONE, read_scenario(other()))
    path = tmp_path / "brakes.yaml"
    path.write_text(brakes, encoding="utf-8")
    book = BrakeBook(stage.store, [BrakeFile(path, must_exist=True)])
    return stage, Process(stage, FIRST, book), Process(stage, SECOND_ONE, book)


def other() -> dict[str, Any]:
    """The demo with other names."""
    groups = [{"name": "canary", "clusters": ["e"]}, {"name": "prod", "clusters": ["f", "g", "h"]}]
    return {**DEMO, "groups": groups}


def changed(stage: Stage) -> int:
    """How many targets are changed and not yet soaked, as the fleet itself knows it."""
    soak, now = 300 * SECOND, stage.clock.now()
    count = 0
    for fleet in stage.fleet.fleets.values():
        fleet.settle(now)
        for report in fleet.reports():
            moving = report.status.name == "Progressing"
            fresh = report.status.name == "Succeeded" and report.since is not None
            soaking = fresh and report.revision == "v2" and now < (report.since or 0) + soak
            count += moving or soaking
    return count


@pytest.mark.parametrize("brakes, most", [(MUTEX, 1), (BUDGET, 2)])
def test_shared_limits_hold_over_all_rollouts_and_everything_ends(
    tmp_path: Path, brakes: str, most: int
) -> None:
    """Never more than the limit, seen from outside; and nothing is left behind."""
    stage, first, second = two(tmp_path, brakes)
    seen = 0
    for _ in range(400):
        for process in (first, second):
            asyncio.run(process.round())
        seen = max(seen, changed(stage))
        assert changed(stage) <= most
        stage.clock.at = Instant(stage.clock.at + 60 * SECOND)
    assert seen == most
    assert sorted(task.target for task in stage.fleet.done.values()) == list("abcdefgh")
    assert stage.store.claims() == []
    for partition in (FIRST, SECOND_ONE):
        replayed = list(replay(stage.store.read(partition)))
        assert replayed
        assert [each for each in replayed if each.difference is not None] == []


def test_a_lost_claim_is_recorded_as_a_wait_with_its_holder(tmp_path: Path) -> None:
    """A person was faster between our reading and our writing: the plan names them."""
    stage, first, _ = two(tmp_path, MUTEX)
    store: Any = stage.store
    raced: list[bool] = []
    original = store._store.append

    def append(partition: str, notes: Any, **more: Any) -> Head:
        if more.get("claims") and not raced:
            raced.append(True)
            rival = TakenPlace("mutex/db", 0, "upgrades/u1", "upgrades/u1#3/z", stage.clock.now())
            original("upgrades/u1", (), claims=[rival])
        return original(partition, notes, **more)  # type: ignore[no-any-return]

    store._store.append = append
    result = asyncio.run(first.round())
    assert raced
    assert not stage.fleet.done
    assert result.plan is not None
    shut = [v for v in result.plan.options[0].verdicts if v.outcome.value != "pass"]
    assert [(v.gate, v.facts[1], v.facts[2]) for v in shut] == [(Gate.MUTEX, "z", "upgrades/u1")]
    decided = [e.fact() for e in stage.store.read(FIRST) if isinstance(e.fact(), Decided)]
    assert len(decided) == 1
    assert not [each for each in replay(stage.store.read(FIRST)) if each.difference is not None]


def test_a_task_that_is_dropped_gives_its_place_back(tmp_path: Path) -> None:
    """Paused before it was carried out: the next round frees what it had claimed."""
    from tidegate.journal.chain import JournalNote
    from tidegate.journal.facts import Asked, Verb

    stage, first, second = two(tmp_path, MUTEX)
    original = first.part.confirm

    def confirm(token: int) -> None:
        note = JournalNote(stage.clock.now(), "user:ada", Asked(verb=Verb.PAUSE))
        stage.store.append(FIRST, [note])
        original(token)

    first.part.confirm = confirm  # type: ignore[method-assign]
    asyncio.run(first.round())
    assert [claim.partition for claim in stage.store.claims()] == [FIRST]
    asyncio.run(first.round())
    assert stage.store.claims() == []
    asyncio.run(second.round())
    assert [task.target for task in stage.fleet.done.values()] == ["e"]


def test_brakes_that_go_leave_no_claims_behind(tmp_path: Path) -> None:
    """The mutex is gone from its file: what had it lets go once it has soaked."""
    stage, first, _ = two(tmp_path, MUTEX)
    asyncio.run(first.round())
    assert len(stage.store.claims()) == 1
    (tmp_path / "brakes.yaml").write_text("holds: []", encoding="utf-8")
    for _ in range(40):
        asyncio.run(first.round())
        stage.clock.at = Instant(stage.clock.at + 60 * SECOND)
    assert stage.store.claims() == []


def test_observing_claims_nothing(tmp_path: Path) -> None:
    """What only would be done takes no place."""
    from tidegate.journal.facts import Mode

    stage, first, second = two(tmp_path, MUTEX)
    asyncio.run(first.round(Mode.OBSERVE))
    assert stage.store.claims() == []
    stage.clock.at = Instant(stage.clock.at + TERM)
    asyncio.run(second.round())
    assert [task.target for task in stage.fleet.done.values()] == ["e"]
