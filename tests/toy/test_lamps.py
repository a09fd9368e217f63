"""A kind in a dozen lines gets everything that every kind has: the description stays true."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.toy.lamps import LampRules, Lamps
from tidegate.app import rollouts as app
from tidegate.app.asks import OperatorRequest, prepare, record
from tidegate.app.brakes.reach import reach_of
from tidegate.app.documents import TargetDetails
from tidegate.app.partitions.journals import Journals
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.notify import NoticeQueue
from tidegate.engine.replay import replay_partition
from tidegate.engine.round import RoundResult
from tidegate.engine.worker import Worker
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.explain.notice import Notice, NoticeKind
from tidegate.gates.brakes import Brakes
from tidegate.gates.hold import Hold
from tidegate.gates.scope import EVERYTHING
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Braked, Verb
from tidegate.model.time import SECOND, Instant, parse_instant
from tidegate.simulation.virtual_loop import VirtualClock, VirtualLoop, run_virtually
from tidegate.store.client.memory import MemoryStore

START = parse_instant("2026-01-01T00:00:00Z")
HALL = "lamps/hall"


def journals(store: MemoryStore) -> Journals:
    """All partitions of a store, an hour later."""
    return Journals(store, lambda _: LampRules(), Instant(START + 3600 * SECOND))


def lit(
    store: MemoryStore,
    lamps: Lamps,
    *,
    minutes: float = 10,
    act: tuple[str, ...] = ("*",),
    report: Callable[[str, Any], None] | None = None,
    notices: NoticeQueue | None = None,
) -> None:
    """Let one worker run in virtual time."""

    async def main(loop: VirtualLoop) -> None:
        executor = Executor(Limits(), Breaker())
        clock, settings = VirtualClock(loop), WorkerSettings(holder="w", act=act)
        worker = Worker(store, (lamps,), clock, executor, settings, report, notices=notices)
        running = asyncio.create_task(worker.run())
        await asyncio.sleep(minutes * 60)
        worker.stop()
        await running

    run_virtually(main, START)


@pytest.fixture
def store() -> MemoryStore:
    """An empty journal."""
    return MemoryStore()


def test_the_engine_lights_all_lamps_in_order(store: MemoryStore) -> None:
    """Each after the one before it, once, and every step is a fact."""
    lamps = Lamps({"a": False, "b": False, "c": False})
    lit(store, lamps)
    assert lamps.lit == {"a": True, "b": True, "c": True}
    acted = [entry.target for entry in store.read(HALL) if entry.kind == "acted"]
    assert acted == ["a", "b", "c"]
    assert journals(store).find("hall").view.summary == "Succeeded"


def test_observing_changes_nothing_and_explains_all(store: MemoryStore) -> None:
    """status, get, show and why know the kind without a line about it."""
    lit(store, Lamps({"a": False, "b": False}), act=())
    known = journals(store)
    counts = app.status(known).kinds["lamps"]
    assert (counts["rollouts"], counts["moving"], counts["waiting"]) == (1, 0, 2)
    (item,) = app.rollout_list(known).items
    assert (item.id, item.kind) == (HALL, "lamps")
    details = app.rollout_details(known, HALL)
    assert [each.what for each in details.history] == ["lampsSeen", "plan"]
    found = app.why(known, "lamp/b")
    assert isinstance(found, TargetDetails)
    assert (found.rollout, found.target.name) == (HALL, "b")
    (option,) = found.target.options
    assert [each.message for each in option.verdicts] == ["a is not lit yet"]
    assert option.verdicts[0].opens == "a is lit"


def test_a_person_pauses_and_resumes_it(store: MemoryStore) -> None:
    """The same verbs as for every kind; why says so."""
    lamps = Lamps({"a": False, "b": False})
    lit(store, lamps, minutes=0.01, act=())
    known = journals(store)
    record(
        known, prepare(known, "hall", OperatorRequest(verb=Verb.PAUSE, reason="night")), "user:ada"
    )
    lit(store, lamps)
    assert not any(lamps.lit.values())
    row = journals(store).find(HALL).view.targets[0]
    assert row.shut is not None
    assert row.shut.reason.value == "Paused"
    record(known, prepare(known, HALL, OperatorRequest(verb=Verb.RESUME)), "user:ada")
    lit(store, lamps)
    assert all(lamps.lit.values())


def test_a_hold_covers_it(store: MemoryStore) -> None:
    """Brakes know every kind; a hold says what it reaches, and nothing starts."""
    lamps = Lamps({"a": False, "b": True})
    lit(store, lamps, minutes=0.01, act=())
    hold = Hold(name="dark", scope=EVERYTHING, owner="ada", why="night")
    (reach,), names = reach_of(journals(store), "holds", Brakes(holds=(hold,)))
    assert (reach.waiting, names) == (("a",), {"a", "b"})
    scope = {"everything": True}
    document = {"name": "dark", "scope": scope, "owner": "ada", "reason": "night"}
    fact = Braked(brake="hold", name="dark", document=document)
    store.append(BRAKES, [JournalNote(START, "user:ada", fact)])
    lit(store, lamps)
    assert lamps.lit == {"a": False, "b": True}
    shut = journals(store).find(HALL).view.targets[0].shut
    assert shut is not None
    assert shut.gate.value == "hold"


def test_its_decisions_are_replayed(store: MemoryStore) -> None:
    """Every recorded plan is decided the same again."""
    lit(store, Lamps({"a": False, "b": False}))
    taken = list(replay_partition(store, HALL, LampRules()))
    assert len(taken) > 2
    assert all(each.difference is None for each in taken)


def test_people_are_notified(store: MemoryStore) -> None:
    """Notices of a kind go the way of all notices."""
    sent: list[Notice] = []

    class Chat:
        async def send(self, notice: Notice) -> None:
            sent.append(notice)

    lamps = Lamps({"a": False})
    lit(store, lamps, minutes=0.01, act=())
    known = journals(store)
    record(known, prepare(known, HALL, OperatorRequest(verb=Verb.PAUSE)), "user:ada")
    queue = NoticeQueue(Chat(), frozenset(NoticeKind), 10, lambda *_: None)
    lit(store, lamps, notices=queue)
    assert [(each.rollout, each.happening) for each in sent] == [(HALL, NoticeKind.STOP)]


def test_its_rounds_are_counted(store: MemoryStore) -> None:
    """Metrics have it under its kind, in the words of all kinds."""
    results: list[RoundResult] = []

    def report(_: str, outcome: Any) -> None:
        if isinstance(outcome, RoundResult):
            results.append(outcome)

    lit(store, Lamps({"a": False, "b": False}), report=report)
    counts = results[-1].count()
    assert counts.states == {"done": 2}
    assert BrakeBook(store).state().on == {}
