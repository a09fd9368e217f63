"""A journal whose chain is broken is not acted on, however it was broken, and says which entry."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from tests.engine.stage import DEMO, PARTITION
from tests.patience import PATIENCE_S
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.partition import PartitionState
from tidegate.engine.round import RoundResult
from tidegate.engine.vitals import Led
from tidegate.engine.worker import Worker
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Asked, Braked, Verb
from tidegate.kinds.rollouts.kind import RolloutKind
from tidegate.kinds.rollouts.rules import RolloutRules
from tidegate.kinds.rollouts.simulated.port import SimulatedFleet
from tidegate.kinds.rollouts.wire.scenario_doc import read_scenario
from tidegate.machine.system_clock import SystemClock
from tidegate.model.time import Instant
from tidegate.store.port import BrokenChainError, Store
from tidegate.wiring import open_store

CHANGES = {
    "changed": "UPDATE journal_entries SET body = replace(body, 'a', 'b') WHERE seq = 2",
    "another actor": "UPDATE journal_entries SET actor = 'nora' WHERE seq = 2",
    "taken out": "DELETE FROM journal_entries WHERE seq = 2",
    "another end": "UPDATE journal_partitions SET hash = x'00' WHERE seq > 0",
}


def worker_on(store: Store, told: list[object]) -> tuple[Worker, SimulatedFleet]:
    """A worker that may act on one simulated rollout."""
    clock = SystemClock()
    fleet = SimulatedFleet(clock)
    fleet.add(PARTITION, read_scenario(DEMO))
    settings = WorkerSettings(
        holder="w", act=("*",), discover_s=0.02, listen_s=0.01, backoff_first_s=0.02
    )
    executor = Executor(Limits(), Breaker())
    kinds = (RolloutKind(fleet),)
    return Worker(store, kinds, clock, executor, settings, lambda _, one: told.append(one)), fleet


async def run_for(worker: Worker, told: list[object], wanted: type, times: int) -> None:
    """Run a worker until it has reported something often enough."""
    running = asyncio.create_task(worker.run())

    def seen() -> int:
        return sum(isinstance(each, wanted) for each in told)

    async with asyncio.timeout(PATIENCE_S):
        while not running.done() and seen() < times:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    worker.stop()
    await running


def change(path: Path, statement: str) -> None:
    """Do by hand what no program of ours does."""
    with sqlite3.connect(path) as file:
        assert file.execute(statement).rowcount


@pytest.mark.parametrize("how", CHANGES)
def test_a_worker_does_nothing_about_a_partition_whose_chain_is_broken(
    how: str, tmp_path: Path
) -> None:
    path = tmp_path / "journal.db"
    store = open_store(str(path), writes=True)
    told: list[object] = []
    first, _ = worker_on(store, told)
    asyncio.run(run_for(first, told, RoundResult, 2))
    change(path, CHANGES[how])
    before = store.heads()
    told.clear()
    second, fleet = worker_on(store, told)
    asyncio.run(run_for(second, told, BrokenChainError, 2))
    assert store.heads() == before
    assert not fleet.is_moving(PARTITION)
    assert all(isinstance(each, BrokenChainError | Led) for each in told)
    said = next(str(each) for each in told if isinstance(each, BrokenChainError))
    assert said.startswith(f"{PARTITION}: its chain is broken: entry ")
    assert "restore the journal from a backup" in said
    store.close()


def test_an_entry_that_does_not_follow_is_noticed_while_a_worker_runs(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    store = open_store(str(path), writes=True)
    asked = JournalNote(Instant(0), "nora", Asked(verb=Verb.PAUSE, reason="a reason"))
    store.append(PARTITION, [asked, asked])
    part = PartitionState(store, PARTITION, RolloutRules(), acts=True)
    store.append(PARTITION, [asked])
    change(path, "UPDATE journal_entries SET actor = 'eve' WHERE seq = 3")
    with pytest.raises(BrokenChainError, match="entry 3 was changed"):
        part.catch_up()
    store.close()


@pytest.mark.parametrize("when", ["before it is read", "after it was read"])
def test_brakes_of_a_broken_chain_hold_everything(when: str, tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    store = open_store(str(path), writes=True)
    document = {"name": "inc-1", "scope": {"everything": True}, "owner": "sre", "reason": "r"}
    notes = [JournalNote(Instant(0), "nora", Braked(brake="hold", name="inc-1", document=document))]
    store.append(BRAKES, notes)
    book = BrakeBook(store)
    if when == "after it was read":
        assert [each.name for each in book.read(Instant(1)).holds] == ["inc-1"]
    store.append(BRAKES, notes)
    change(path, "UPDATE journal_entries SET actor = 'eve' WHERE seq = 2")
    holds = book.read(Instant(1)).holds
    held = next(each for each in holds if each.name == "journal")
    assert "its chain is broken: entry 2 was changed" in held.why
    store.close()
