"""Killing a worker, at random moments, and what the OpenShift Cluster Manager saw.

It is another process, answers late or not at all, and remembers what was asked of it: every cluster
that may be upgraded has one policy, and no other has any, after a kill at any moment.
"""

import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Set
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

from tests.kills.processes import HASTE, Running
from tests.patience import PATIENCE_S
from tidegate.journal.chain import genesis, verify
from tidegate.journal.facts import Mode
from tidegate.kinds.upgrades.core.journal import state as upgrade_state
from tidegate.kinds.upgrades.core.journal.facts import Planned
from tidegate.model.time import SECOND, parse_instant
from tidegate.store.archive_port import Archive
from tidegate.wiring import open_store

ORGS = ("o-1", "o-2")
FROM, TO = "4.16.3", "4.16.4"
GOOD = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *"}
FAULTS = ("--fault", "429=15", "--fault", "500=15", "--fault", "cut=15", "--fault", "lost=40")
# How many clusters of each sort an organisation has: by itself, with a node pool that is behind,
# with a mistake in its labels, and three that share a mutex.
SORTS = ("alone", "alone", "hosted", "wrong", "shared", "shared", "shared")
# Who is killed dies in the middle of its work, and some of this later; who finds none, after this.
PAUSE_MAX_S, LIFE_MAX_S = 0.1, 10.0
# OpenShift Cluster Manager and workers have the same clock, but for what a request takes.
CLOSE = 2 * SECOND


class World:
    """The clusters of a story: all asleep, and woken one after the other."""

    def __init__(self, sets: int) -> None:
        self.sorts: dict[str, str] = {}
        self.clusters: list[dict[str, Any]] = []
        for org in ORGS:
            for each in range(sets):
                for at, sort in enumerate(SORTS):
                    self._add(org, f"{org}-{sort}-{each}-{at}", sort, f"m{each}")

    def _add(self, org: str, name: str, sort: str, mutex: str) -> None:
        self.sorts[name] = sort
        labels = dict(GOOD)
        cluster: dict[str, Any] = {"name": name, "org": org, "version": FROM}
        if sort == "wrong":
            labels["soak-days"] = "two"
        elif sort == "shared":
            labels["mutexes"] = mutex
        elif sort == "hosted":
            pools = [{"id": "np", "version": FROM}]
            cluster |= {"version": TO, "product": "rosa", "hypershift": True, "node_pools": pools}
        self.clusters.append({**cluster, "labels": labels, "state": "hibernating"})

    def document(self) -> dict[str, Any]:
        """For the simulation."""
        return {
            "orgs": [{"id": each, "name": each} for each in ORGS],
            "versions": [{"version": FROM}, {"version": TO}],
            "clusters": self.clusters,
        }

    def expected(self) -> Counter[str]:
        """How many policies each cluster, and each mutex, has in the end."""
        names = (name for name, sort in self.sorts.items() if sort != "wrong")
        return Counter(dict.fromkeys(map(unit_of, names), 1))


def unit_of(name: str) -> str:
    """A cluster by itself; those that share a mutex are one."""
    return name.rpartition("-")[0] if "-shared-" in name else name


@contextmanager
def simulation(world: World, folder: Path) -> Iterator[str]:
    """The address of a simulated OpenShift Cluster Manager in a process of its own."""
    path, said = folder / "world.json", folder / "ocm.txt"
    path.write_text(json.dumps(world.document()), encoding="utf-8")
    args = ["simulate", "ocm", str(path), "--from-now", "--latency", "15ms", "--retry-after", "0"]
    running = Running([*args, *FAULTS], said)
    try:
        until = time.monotonic() + PATIENCE_S
        while "http" not in (text := said.read_text(encoding="utf-8")):
            assert running.is_alive, text
            assert time.monotonic() < until, "the simulation does not start"
            time.sleep(0.05)
        yield next(line for line in text.splitlines() if line.startswith("http"))
    finally:
        running.kill()


def control(url: str, **asked: Any) -> dict[str, Any]:
    """Tell the simulation something; what was written, and more."""
    data = json.dumps(asked).encode() if asked else None
    with build_opener(ProxyHandler({})).open(Request(f"{url}/simulation", data)) as response:
        found: dict[str, Any] = json.load(response)
        return found


def served_by(url: str, folder: Path) -> Path:
    """The file of who is served."""
    environment = {"name": "prod", "url": url, "tokenUrl": f"{url}/token", "clientId": "tidegate"}
    orgs = [{"id": each, "environment": "prod", "notice": True} for each in ORGS]
    document = {
        "environments": [{**environment, "clientSecret": "simulated"}],
        "organizations": orgs,
    }
    path = folder / "upgrades.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


class ForkPool:
    """Two replicas: one runs, the other serves."""

    def __init__(self, url: str, database: str, folder: Path) -> None:
        args = ["--kind", "upgrades", "--upgrades", str(served_by(url, folder)), "--act", "*"]
        self._args = [*args, "--database", database, "--look-every", "1s", *HASTE]
        self._folder = folder
        self.workers = [self._start(at) for at in range(2)]

    def _start(self, at: int) -> Running:
        how = ["serve", "--listen", "127.0.0.1:0"] if at else ["run"]
        return Running([*how, *self._args], self._folder / "workers.txt")

    def kill_one(self, rng: random.Random) -> None:
        """One dies without a word, and another takes its place."""
        at = rng.randrange(2)
        assert self.workers[at].is_alive, self.said()
        self.workers[at].kill()
        self.workers[at] = self._start(at)

    def stop(self) -> list[int]:
        """Both are asked to stop; how they ended."""
        return [each.stop() for each in self.workers]

    def kill(self) -> None:
        """What is left."""
        for each in self.workers:
            each.kill()

    def said(self) -> str:
        """The last they said."""
        return (self._folder / "workers.txt").read_text(encoding="utf-8")[-3000:]


def kill_upgraders(kills: int, seed: int, database: str, folder: Path) -> None:
    """Wake clusters and kill workers, so many times; then check what was asked for."""
    rng = random.Random(seed)
    world = World(1 + kills // 4)
    asleep = [f"{each['name']}-id" for each in world.clusters]
    rng.shuffle(asleep)
    share = -(-len(asleep) // (kills + 1))
    with simulation(world, folder) as url:
        crew = ForkPool(url, database, folder)
        try:
            _wait_for_a_look(url, crew)
            busy = 0
            for _ in range(kills):
                some, asleep = asleep[:share], asleep[share:]
                control(url, clusters=dict.fromkeys(some, "ready"))
                woken = world.expected().keys() - {unit_of(e.removesuffix("-id")) for e in asleep}
                busy += _wait_for_work(url, woken, rng)
                crew.kill_one(rng)
            control(url, clusters=dict.fromkeys(asleep, "ready"))
            _wait_for_all(url, world, crew)
            assert sum(control(url)["faults"].values()) > kills, "hardly anything goes wrong"
            assert busy > kills // 3, f"only {busy} of {kills} kills found anybody at work"
            assert crew.stop() == [0, 0], crew.said()
        finally:
            crew.kill()
        with closing(open_store(database)) as store:
            check(control(url)["writes"], world, store)


def _wait_for_a_look(url: str, crew: ForkPool) -> None:
    until = time.monotonic() + PATIENCE_S
    while not control(url)["calls"]:
        assert time.monotonic() < until, f"nobody looks: {crew.said()}"
        time.sleep(0.1)


def _wait_for_work(url: str, woken: Set[str], rng: random.Random) -> bool:
    """Until some of those that were woken are seen to, at most all but one; whether one is left."""
    left = woken - policies_of(control(url)["writes"]).keys()
    if not left:
        return False
    enough, until = rng.randrange(len(left)), time.monotonic() + LIFE_MAX_S
    while time.monotonic() < until:
        if len(left & policies_of(control(url)["writes"]).keys()) >= enough:
            break
        time.sleep(0.01)
    time.sleep(rng.uniform(0, PAUSE_MAX_S))
    return True


def _wait_for_all(url: str, world: World, crew: ForkPool) -> None:
    """Until everything that can be asked for was, and owners were notified."""
    until = time.monotonic() + 2 * PATIENCE_S
    wrong = [name for name, sort in world.sorts.items() if sort == "wrong"]
    while True:
        writes = control(url)["writes"]
        told = {each["body"]["cluster_uuid"] for each in writes if _is_mistake(each)}
        if policies_of(writes).keys() >= world.expected().keys() and len(told) == len(wrong):
            return
        missing = sorted(world.expected().keys() - policies_of(writes).keys())
        assert time.monotonic() < until, f"nobody upgrades {missing[:5]}: {crew.said()}"
        time.sleep(0.3)


def policies_of(writes: list[dict[str, Any]]) -> Counter[str]:
    """How many policies were made, by cluster and by mutex."""
    made = (each for each in writes if each["path"].endswith("/upgrade_policies"))
    done = (each["path"].split("/clusters/")[1] for each in made if each["status"] == 201)
    return Counter(unit_of(each.split("/")[0].removesuffix("-id")) for each in done)


def _is_mistake(write: dict[str, Any]) -> bool:
    about = write["body"].get("summary", "") if isinstance(write["body"], dict) else ""
    return write["status"] == 201 and "validation errors" in about


def check(writes: list[dict[str, Any]], world: World, store: Archive) -> None:
    """One policy each, one service log each, and nothing that was not decided before."""
    assert policies_of(writes) == world.expected()
    logs = Counter(
        (each["body"]["cluster_uuid"], each["body"]["description"])
        for each in writes
        if each["path"].endswith("/cluster_logs") and each["status"] == 201
    )
    assert set(logs.values()) == {1}, [key for key, count in logs.items() if count > 1]
    mistakes = {each["body"]["cluster_uuid"] for each in writes if _is_mistake(each)}
    assert mistakes == {f"{n}-uuid" for n, sort in world.sorts.items() if sort == "wrong"}
    odd = [each for each in writes if each["method"] not in ("POST", "PATCH")]
    assert not odd, f"nobody asked for {odd[:2]}"
    decided: dict[str, int] = {}
    for org in ORGS:
        decided |= _decided(store, f"upgrades/prod/{org}")
    for each in writes:
        if each["path"].endswith("/upgrade_policies") and each["status"] == 201:
            name = each["path"].split("/clusters/")[1].split("/")[0].removesuffix("-id")
            assert name in decided, f"{name}: a policy nobody decided on"
            assert decided[name] <= parse_instant(each["at"]) + CLOSE, f"{name}: asked for before"


def _decided(store: Archive, partition: str) -> dict[str, int]:
    """When an upgrade of each cluster was first written down as decided; the chain holds."""
    entries = list(store.read(partition))
    assert verify(genesis(partition), 1, entries) is None
    state = upgrade_state.UpgradeState()
    found: dict[str, int] = {}
    for entry in entries:
        fact = entry.fact()
        state = upgrade_state.fold(state, entry.at, fact, entry.actor)
        if isinstance(fact, Planned) and fact.mode is Mode.ACT:
            for job in fact.tasks:
                found.setdefault(job.name, entry.at)
    assert not state.jobs, f"{partition}: nobody knows what came of {sorted(state.jobs)}"
    return found
