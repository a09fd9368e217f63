"""A worker that dies anywhere only delays upgrades: whoever follows completes them, once each."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.sim import sized
from tests.sim.story.life import Life, MortalStore, hush
from tests.sim.upgrades.mortal import MortalClusters
from tests.upgrades_live import Scene
from tidegate.journal.chain import genesis, verify
from tidegate.kinds.upgrades.core.journal import state as upgrade_state
from tidegate.kinds.upgrades.ocm.documents import LogEntry
from tidegate.kinds.upgrades.ocm.simulated.port import SimulatedClusters
from tidegate.kinds.upgrades.ocm.simulated.state import CLUSTER_LOGS, OcmWrite
from tidegate.model.time import SECOND
from tidegate.store.port import Head, Store
from tidegate.wiring import open_store

PARTITION = "upgrades/prod/o"
OCP = "api.openshift.com/gate-ocp"
GOOD = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *"}
STAYS = {**GOOD, "blocked-versions": r"^4\.17"}
# Everything that can be asked for is, in the first round or soon after: an upgrade, one of a node
# pool, one that waits for its mutex, one that is taken back, a channel, an agreement, a mistake.
SMALL: dict[str, Any] = {
    "now": "2026-03-02T08:00:00Z",
    "orgs": [{"id": "o", "name": "O"}],
    "versions": [{"version": each} for each in ("4.16.3", "4.16.4", "4.17.1")],
    "gates": [{"id": "g", "prefix": "4.17", "label": OCP}],
    "clusters": [
        {"name": "plain", "org": "o", "version": "4.16.3", "labels": {**STAYS, "mutexes": "m"}},
        {"name": "behind", "org": "o", "version": "4.16.3", "labels": {**STAYS, "mutexes": "m"}},
        {
            "name": "hosted",
            "org": "o",
            "version": "4.16.4",
            "product": "rosa",
            "hypershift": True,
            "node_pools": [{"id": "np", "version": "4.16.3"}],
            "labels": STAYS,
        },
        {
            "name": "unwanted",
            "org": "o",
            "version": "4.16.3",
            "upgrade_policies": [{"id": "p", "version": "4.16.4"}],
            "labels": {**GOOD, "blocked-versions": r"4\.16\.4,^4\.17"},
        },
        {"name": "switches", "org": "o", "version": "4.16.4", "labels": {**GOOD, "soak-days": "1"}},
        {
            "name": "agrees",
            "org": "o",
            "version": "4.16.4",
            "channel": "stable-4.17",
            "labels": {**GOOD, "soak-days": "1"},
        },
        {"name": "wrong", "org": "o", "version": "4.16.3", "labels": {**GOOD, "soak-days": "two"}},
    ],
    "pace": {"takes": "20m", "pool_takes": "20m", "kept": "5m"},
}
HOURS = 2
# In so long a first round ends; the second comes after ten minutes.
ROUND_S = 60
POINTS_MIN = 70
# A standby looks every second of half an hour; of so many crashes one has it from the beginning.
STANDBY_EVERY = 8


class Tally:
    """Counts, and remembers where chains ended."""

    def __init__(self) -> None:
        self.steps = self.deaths = 0
        self.ends: list[tuple[str, Head]] = []

    def is_watched(self, partition: str) -> bool:
        """Whether reading it is a step."""
        return partition == PARTITION

    def acknowledged(self, _: Life, partition: str, head: Head) -> None:
        """What was acknowledged must not be lost."""
        self.ends.append((partition, head))


class Lived:
    """One small round, with a worker that dies at some call, and another that follows."""

    def __init__(self, store: Store | None = None, dies_after: int | None = None) -> None:
        self.scene = Scene(SMALL, store=store)
        self.tally = Tally()
        # How often the first worker could have died by the time that all was asked for.
        self.points = 0
        self._dies_after = dies_after
        self.scene.play(self._story)

    async def _story(self) -> None:
        loop: Any = asyncio.get_running_loop()
        loop.set_exception_handler(hush)
        first = Life(loop, self.tally, "first", self._made, dies_after=self._dies_after)
        until = loop.time() + HOURS * 3600
        await asyncio.sleep(ROUND_S)
        self.points = first.calls
        if self._dies_after is None:
            await asyncio.sleep(until - loop.time())
        first.die()
        await asyncio.wait([first.task])
        if self._dies_after is not None and self._dies_after % STANDBY_EVERY:
            await asyncio.sleep(self._led_s())
        second = self.scene.worker("second")
        task = asyncio.create_task(second.run())
        await asyncio.sleep(max(0.0, until - loop.time()))
        second.stop()
        await task

    def _led_s(self) -> float:
        """How long the lease lasts that was left: before, another worker can only look."""
        ends = (each.lease.until for each in self.scene.store.leases().values())
        return max(0.0, (max(ends, default=self.scene.now()) - self.scene.now()) / SECOND)

    def _made(self, life: Life) -> Any:
        manager = MortalClusters(life, self.scene.state, self.scene)
        return self.scene.worker(
            life.name, store=MortalStore(life, self.scene.store), manager=manager
        )

    def asked(self) -> Counter[tuple[str, str, str]]:
        """What was asked for, whenever it was to start."""
        return Counter(map(_asked, self.scene.writes))


def _asked(write: OcmWrite) -> tuple[str, str, str]:
    body = write.body or {}
    what = ("version", "channel", "cluster_uuid", "description")
    return write.method, write.path, " ".join(body[each] for each in what if each in body)


@pytest.fixture(scope="module")
def calm() -> Lived:
    """Nobody dies."""
    return Lived()


def test_a_calm_round_asks_for_everything_once(calm: Lived) -> None:
    """Otherwise dying in it shows little."""
    asked = calm.asked()
    kinds = Counter((method, path.split("/")[-1]) for method, path, _ in asked)
    assert set(asked.values()) == {1}
    assert kinds["POST", "upgrade_policies"] == 3
    assert kinds["POST", "gate_agreements"] == 2
    assert kinds["PATCH", "switches-id"] == kinds["DELETE", "p"] == 1
    assert kinds["POST", "cluster_logs"] == 1
    assert calm.points > POINTS_MIN
    assert calm.scene.versions()["plain"] == "4.16.4"


def check(lived: Lived, calm: Lived, point: int) -> None:
    """The same was asked for, once; nothing acknowledged is lost; soak follows from the facts."""
    where = f"died at call {point}"
    refused = [each for each in lived.scene.writes if each.status >= 400]
    assert not refused, f"{where}: {refused}"
    assert lived.asked() == calm.asked(), where
    assert lived.scene.versions() == calm.scene.versions(), where
    entries = list(lived.scene.store.read(PARTITION))
    assert verify(genesis(PARTITION), 1, entries) is None
    hashes = {entry.seq: entry.hash for entry in entries}
    ends = [head for name, head in lived.tally.ends if name == PARTITION and head.seq]
    assert all(hashes[head.seq] == head.hash for head in ends), f"{where}: acknowledged and lost"
    state = upgrade_state.UpgradeState()
    for entry in entries:
        state = upgrade_state.fold(state, entry.at, entry.fact(), entry.actor)
    assert state == lived.scene.known(PARTITION), f"{where}: the projection is another state"


def die_at(calm: Lived, points: Iterable[int]) -> None:
    """Die at each of these calls, in turn."""
    for point in points:
        check(Lived(dies_after=point), calm, point)


def test_a_crash_at_every_call_of_a_round_changes_nothing(calm: Lived) -> None:
    """Before and after every call to the journal and to OpenShift Cluster Manager.

    Every third of them in CI, and all in `make sim`.
    """
    die_at(calm, range(1, calm.points + 1, sized(7, 3, 1)))


def test_an_owner_who_is_told_twice_would_be_found(
    calm: Lived, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check is shown able to fail: where nobody asks what was told, some crash tells twice."""

    async def tell(self: SimulatedClusters, entry: LogEntry, _: Any) -> Any:
        return await self._ask("POST", CLUSTER_LOGS, msgspec.structs.asdict(entry))

    monkeypatch.setattr(SimulatedClusters, "tell", tell)
    with pytest.raises(AssertionError, match="died at call"):
        die_at(calm, range(calm.points, 0, -1))


def test_a_crash_on_a_file_changes_nothing(calm: Lived, tmp_path: Path) -> None:
    """Some calls, with SQLite in the place of memory."""
    for point in range(5, calm.points, sized(40, 30, 15)):
        store = open_store(str(tmp_path / f"{point}.db"))
        try:
            check(Lived(store, dies_after=point), calm, point)
        finally:
            store.close()
