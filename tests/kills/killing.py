"""Killing at random moments under load, and what has to be true afterwards."""

import random
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.kills.processes import Postgres, Running, carried_out, served_fleet, worker
from tests.patience import PATIENCE_S, until
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Asked, Mode, Verb
from tidegate.kinds.rollouts.core.decide import decide
from tidegate.kinds.rollouts.core.journal.facts import Decided
from tidegate.kinds.rollouts.core.journal.replay import replay
from tidegate.kinds.rollouts.core.journal.state import RolloutState, fold, world_of
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.wire.remote_fleet import Carried
from tidegate.model.plan import ChangeKind
from tidegate.model.time import Instant
from tidegate.store.archive_port import Archive
from tidegate.store.port import Head
from tidegate.wiring import clock, open_store

REVISION = "v2"
COPIES = 3
# From before its first word to the middle of its work.
LIFE_S = (0.2, 2.0)


def load(targets: int) -> dict[str, Any]:
    """Rollouts that keep workers busy: few at a time, each quick."""
    return {
        "revision": REVISION,
        "lastGood": "v1",
        "groups": [{"name": "canary", "count": 2}, {"name": "prod", "count": targets}],
        "strategy": {
            "type": "ProgressivePerGroup",
            "progressivePerGroup": {"minSuccessTime": "100ms", "maxConcurrency": 4},
        },
        "fleet": {"applyTime": "150ms"},
    }


class Observer:
    """An operator beside the workers: reads ends of chains, asks for things, and remembers both."""

    def __init__(self, store: Archive) -> None:
        self.store = store
        self.known: list[tuple[str, Head]] = []

    def look(self) -> None:
        """Remember where every chain ends, and ask for something that changes nothing."""
        for partition in self.store.partitions():
            self.known.append((partition, self.store.head(partition)))
            note = JournalNote(clock().now(), "user:ada", Asked(verb=Verb.RESUME))
            self.known.append((partition, self.store.append(partition, [note])))


def kill_workers(
    kills: int, seed: int, database: str, folder: Path, postgres: Postgres | None = None
) -> None:
    """Kill workers, or PostgreSQL under them, so many times; then check everything."""
    rng = random.Random(seed)
    # A server takes its time to come back: more has to be left to do.
    targets = 20 + (6 if postgres is None else 24) * kills
    with (
        served_fleet(load(targets), COPIES, folder) as fleet,
        closing(open_store(database)) as store,
    ):
        observer = Observer(store)
        workers = [worker(fleet, database, folder) for _ in range(2)]
        busy = 0
        try:
            _wait_for_work(store)
            for _ in range(kills):
                busy += len(carried_out(fleet)) < COPIES * (targets + 2)
                if postgres is None:
                    _kill_one(rng, workers, fleet, database, folder)
                else:
                    _kill_postgres(rng, workers, postgres, folder)
                observer.look()
        finally:
            for each in workers:
                each.kill()
        assert busy > kills // 2, f"only {busy} of {kills} kills found anybody at work"
        wait_for_leases(store)
        last = worker(fleet, database, folder, "--once")
        last.process.wait(timeout=2 * PATIENCE_S + kills)
        check(observer, carried_out(fleet), targets + 2)


def wait_for_leases(store: Archive) -> None:
    """Until those of killed workers have ended: --once ends where another worker leads."""
    until(
        lambda: not any(each.runs(clock().now()) for each in store.leases().values()),
        "the leases end",
    )


def _wait_for_work(store: Archive) -> None:
    """Until every rollout is led: a worker that finds no database at its start ends."""
    until(lambda: len(store.partitions()) >= COPIES, "every rollout is led")
    time.sleep(2)  # the other worker is as far


def _kill_one(
    rng: random.Random, workers: list[Running], fleet: str, database: str, folder: Path
) -> None:
    time.sleep(rng.uniform(*LIFE_S) / 2)
    at = rng.randrange(len(workers))
    assert workers[at].is_alive, workers[at].said.read_text(encoding="utf-8")[-2000:]
    workers[at].kill()
    workers[at] = worker(fleet, database, folder)


def _kill_postgres(
    rng: random.Random, workers: list[Running], postgres: Postgres, folder: Path
) -> None:
    time.sleep(rng.uniform(*LIFE_S))
    postgres.kill()
    time.sleep(rng.uniform(0, 1))
    postgres.start()
    ended = [each for each in workers if not each.is_alive]
    assert not ended, (folder / "workers.txt").read_text(encoding="utf-8")[-2000:]


def check(observer: Observer, carried: list[Carried], targets: int) -> None:
    """Every rollout ended as it would have without a kill, and the journal tells the same."""
    store = observer.store
    partitions = [name for name in store.partitions() if name.startswith("simulated/")]
    assert len(partitions) == COPIES
    for partition in partitions:
        assert store.verify(partition) is None
        entries = list(store.read(partition))
        hashes = {entry.seq: entry.hash for entry in entries}
        for name, head in observer.known:
            if name == partition and head.seq:
                assert hashes.get(head.seq) == head.hash, f"{partition}: {head.seq} was lost"
        assert all(one.difference is None for one in replay(entries))
        state = RolloutState()
        keys: dict[str, Instant] = {}
        for entry in entries:
            fact = entry.fact()
            state = fold(state, entry.at, fact, entry.actor)
            if isinstance(fact, Decided) and fact.mode is Mode.ACT:
                keys |= dict.fromkeys((task.key for task in fact.tasks), entry.at)
        told = [one for one in carried if one.partition == partition]
        _check_told(partition, told, keys, targets)
        world = world_of(state, state.brakes)
        assert world is not None
        assert not state.pending
        assert state.rollout.completed
        assert decide(world, clock().now()).summary is Summary.SUCCEEDED


def _check_told(
    partition: str, told: list[Carried], keys: dict[str, Instant], targets: int
) -> None:
    """Each notice was sent once, under a key that was written down before."""
    unknown = [one.task.key for one in told if one.task.key not in keys]
    assert not unknown, f"{partition}: carried out without a recorded plan: {unknown}"
    early = [one.task.key for one in told if one.at < keys[one.task.key]]
    assert not early, f"{partition}: carried out before it was decided: {early}"
    names = [one.task.target for one in told if one.task.change.kind is ChangeKind.APPLY]
    assert len(names) == len(told) == targets, f"{partition}: {len(told)} told of {targets}"
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"{partition}: begun twice: {sorted(twice)}"
