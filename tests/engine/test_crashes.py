"""A crash anywhere only delays: nothing acknowledged is lost, nothing is done twice."""

import asyncio
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.contract import journals
from tests.engine.stage import DEMO, PARTITION, Stage, Tripwire, live, rollout_part, set_up
from tests.sim import sized
from tidegate.journal.chain import genesis, verify
from tidegate.journal.facts import Mode
from tidegate.kinds.rollouts.core.journal.facts import Decided
from tidegate.kinds.rollouts.core.journal.replay import replay
from tidegate.kinds.rollouts.core.journal.state import RolloutState, fold
from tidegate.model.plan import ChangeKind
from tidegate.store.client.memory import MemoryStore
from tidegate.store.port import Store
from tidegate.wiring import open_store

GOOD = DEMO
BAD: dict[str, object] = {
    **DEMO,
    "fleet": {"applyTime": "10m", "clusters": {"c": {"fails": "broken"}}},
}
Opener = Callable[[], Store]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens an empty store of each make, as often as it is called; the one before is done with."""
    opened: list[Store] = []
    makers: dict[str, Opener] = {
        "memory": MemoryStore,
        "sqlite": lambda: _in_file(request, tmp_path / f"{len(opened)}.db"),
        "postgres": lambda: _on_server(request, opened),
    }

    def make() -> Store:
        store = makers[request.param]()
        opened.append(store)
        return store

    yield make
    for store in {id(store): store for store in opened}.values():
        store.close()


def _in_file(request: pytest.FixtureRequest, path: Path) -> Store:
    shutil.copyfile(request.getfixturevalue("template"), path)
    return open_store(str(path))


def _on_server(request: pytest.FixtureRequest, opened: list[Store]) -> Store:
    address = request.getfixturevalue("postgres")
    if not opened:
        return journals.on_server(address).open()
    journals.empty(address)
    return opened[0]


def stage_store(stage: Stage) -> Store:
    """The store itself, without its points to die at."""
    store: Store = stage.store._store  # type: ignore[attr-defined]
    return store


def running(stage: Stage) -> dict[str, str | None]:
    """What every cluster runs."""
    return {name: one.revision for name, one in stage.fleet.fleets[PARTITION].clusters.items()}


def check(stage: Stage) -> None:
    """The journal holds, replays, and agrees with the fleet; no task was carried out twice."""
    entries = list(stage.store.read(PARTITION))
    assert verify(genesis(PARTITION), 1, entries) is None
    assert all(one.difference is None for one in replay(entries))
    state = RolloutState()
    for entry in entries:
        state = fold(state, entry.at, entry.fact(), entry.actor)
    assert state == rollout_part(stage.store).state
    assert not state.pending
    decided = [fact for entry in entries if isinstance(fact := entry.fact(), Decided)]
    keys = {task.key for fact in decided for task in fact.tasks}
    assert set(stage.fleet.done) <= keys, "something was done that was never recorded"
    applied = Counter(
        (task.target, task.change.kind, task.change.revision) for task in stage.fleet.done.values()
    )
    assert set(applied.values()) <= {1}, f"done twice: {applied}"


@pytest.mark.parametrize("document", [GOOD, BAD], ids=["succeeds", "rolls back"])
def test_a_crash_at_every_point_changes_nothing(
    document: dict[str, object], opener: Opener
) -> None:
    """Dying before or after any call to the fleet or the journal leads to the same end.

    In a database some of these points, and all of them in `make sim`.
    """
    trip = Tripwire()
    calm = set_up(opener(), trip, document)
    asyncio.run(live(calm))
    points = trip.passed
    check(calm)
    expected = running(calm)
    assert points > 20
    every = 1 if isinstance(stage_store(calm), MemoryStore) else sized(5, 5, 1)
    for point in range(1, points + 1, every):
        stage = set_up(opener(), Tripwire(point), document)
        asyncio.run(live(stage))
        check(stage)
        assert running(stage) == expected, f"died at point {point}"


def test_observing_writes_to_nobodys_system(opener: Opener) -> None:
    """In observe mode plans are recorded, and the fleet is never touched."""
    stage = set_up(opener(), Tripwire())
    asyncio.run(live(stage, Mode.OBSERVE))
    assert not stage.fleet.done
    facts = [entry.fact() for entry in stage.store.read(PARTITION)]
    (decided,) = [fact for fact in facts if isinstance(fact, Decided)]
    assert decided.mode is Mode.OBSERVE
    assert [task.target for task in decided.tasks] == ["a"]


def test_the_failed_revision_is_rolled_back(opener: Opener) -> None:
    """One cluster fails: every target touched returns, and the journal says so."""
    stage = set_up(opener(), Tripwire(), BAD)
    told = asyncio.run(live(stage))
    assert told[-1] == "Aborted"
    assert set(running(stage).values()) == {"v1"}
    kinds = Counter(task.change.kind for task in stage.fleet.done.values())
    assert kinds == {ChangeKind.APPLY: 4, ChangeKind.RETURN: 4}
