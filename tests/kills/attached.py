"""kill -9 of replicas and of PostgreSQL with clients attached, each write under its own key."""

import json
import random
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec

from tests.kills.killing import COPIES, Observer, check, load, wait_for_leases
from tests.kills.processes import HASTE, Postgres, Running, carried_out, served_fleet, worker
from tests.patience import PATIENCE_S, ended
from tests.real.prometheus import free_port
from tidegate.access.roles import Role
from tidegate.app.access.tokens import TokenRequest, create_token
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.facts import Braked, Lifted, Requested
from tidegate.store.archive_port import Archive
from tidegate.wiring import clock, open_store

TOKEN = "tidegate_" + "k" * 43
REPLICAS = 2
TARGETS = 30
# A write that is not acknowledged is sent again this often at most; a server is back in seconds.
SENT_MAX = 400
# What says that it may be sent again: the journal does not answer, moves, or is asked too often.
_AGAIN = (409, 429, 503)


class Acknowledged(msgspec.Struct, frozen=True):
    """One write as a client knows it."""

    key: str
    act: str
    name: str
    # How often it was sent.
    sent: int


class WritingClient(threading.Thread):
    """Sets and lifts holds, one after the other; sends each again until it is acknowledged."""

    def __init__(self, number: int, ports: list[int]) -> None:
        super().__init__(daemon=True)
        self._number, self._ports = number, ports
        self._rng = random.Random(number)
        self.done: list[Acknowledged] = []
        self.refused: list[str] = []
        self.ends = threading.Event()

    def run(self) -> None:
        """Until it is told to end; the write under way is seen through."""
        count = 0
        while not self.ends.is_set():
            name = f"c{self._number}-{count}"
            hold = {"reason": "a test", "scope": {"targets": [f"elsewhere-{name}"]}}
            self._write("hold", name, hold)
            self._write("lift-hold", name, {"reason": "over"})
            count += 1

    def _write(self, act: str, name: str, body: object) -> None:
        key = f"{act}-{name}"
        for sent in range(1, SENT_MAX):
            port = self._rng.choice(self._ports)
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/api/v1/{act}/{name}",
                json.dumps(body).encode(),
                {
                    "Authorization": f"Bearer {TOKEN}",
                    "Content-Type": "application/json",
                    "Idempotency-Key": key,
                    "If-Match": "*",
                },
            )
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                    answer.read()
            except urllib.error.HTTPError as error:
                if error.code not in _AGAIN:
                    self.refused.append(f"{key}: {error.code} {error.read()[:300]!r}")
                    return
            except OSError:
                pass  # it was killed: whether it was done is not known
            else:
                self.done.append(Acknowledged(key, act, name, sent))
                return
            time.sleep(self._rng.uniform(0.05, 0.3))
        self.refused.append(f"{key}: not acknowledged after {SENT_MAX} tries")


class Replicas:
    """Replicas that are started again when they end, as a cluster does.

    One that starts while its database is away ends.
    """

    def __init__(self, start: Callable[[int], Running], ports: list[int]) -> None:
        self._start, self._ports = start, ports
        self._running = [start(port) for port in ports]
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def kill(self, at: int) -> None:
        """Kill one; another takes its place."""
        with self._lock:
            self._running[at].kill()
            self._running[at] = self._start(self._ports[at])

    def end(self) -> None:
        """Kill all of them."""
        self._over.set()
        ended(self._thread)
        for each in self._running:
            each.kill()

    def _look(self) -> None:
        while not self._over.wait(0.2):
            with self._lock:
                for at, each in enumerate(self._running):
                    if not each.is_alive:
                        self._running[at] = self._start(self._ports[at])


def _replica(fleet: str, database: str, folder: Path, port: int) -> Running:
    flags = ["--fleet", fleet, "--database", database, "--act", "*", *HASTE]
    flags += ["--listen", f"127.0.0.1:{port}"]
    return Running(["serve", *flags], folder / "workers.txt")


def kill_with_clients(kills: int, clients: int, seed: int, folder: Path) -> Counter[str]:
    """Kill replicas and the server in turn, so many times; then check every write of a client."""
    rng, postgres = random.Random(seed), Postgres()
    try:
        with (
            served_fleet(load(TARGETS), COPIES, folder) as fleet,
            closing(open_store(postgres.address)) as store,
        ):
            token = TokenRequest(name="clients", role=Role.ADMIN, reason="a test")
            create_token(store, token, TOKEN, clock().now(), "test")
            ports = [free_port() for _ in range(REPLICAS)]
            replicas = Replicas(partial(_replica, fleet, postgres.address, folder), ports)
            writers = [WritingClient(number, ports) for number in range(clients)]
            observer = Observer(store)
            try:
                for each in writers:
                    each.start()
                _wait(lambda: all(each.done for each in writers), "no client is answered")
                for count in range(kills):
                    time.sleep(rng.uniform(0.2, 1.5))
                    if count % 2:
                        postgres.kill()
                        postgres.start()
                    else:
                        replicas.kill(rng.randrange(REPLICAS))
                    observer.look()
                for each in writers:
                    each.ends.set()
                for each in writers:
                    each.join(timeout=120)
                    assert not each.is_alive(), "a write is never acknowledged"
            finally:
                replicas.end()
            wait_for_leases(store)
            last = worker(fleet, postgres.address, folder, "--once")
            last.process.wait(timeout=180)
            check(observer, carried_out(fleet), TARGETS + 2)
            return _check_writes(store, writers)
    finally:
        postgres.end()


def _wait(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.1)


def _check_writes(store: Archive, writers: list[WritingClient]) -> Counter[str]:
    """Every acknowledged write is in the journal once; nothing is there twice."""
    refused = [each for one in writers for each in one.refused]
    assert not refused, refused[:5]
    keys: Counter[str] = Counter()
    facts: Counter[tuple[str, str]] = Counter()
    for entry in store.read(BRAKES):
        fact = entry.fact()
        if isinstance(fact, Requested):
            keys[fact.key] += 1
        elif isinstance(fact, Braked):
            facts["hold", fact.name] += 1
        elif isinstance(fact, Lifted):
            facts["lift-hold", fact.name] += 1
    done = [each for one in writers for each in one.done]
    lost = [each.key for each in done if not keys[each.key] or not facts[each.act, each.name]]
    assert not lost, f"acknowledged, and not in the journal: {lost[:5]}"
    twice = [key for key, count in keys.items() if count > 1]
    twice += [" ".join(each) for each, count in facts.items() if count > 1]
    assert not twice, f"done twice: {twice[:5]}"
    assert store.verify(BRAKES) is None
    return Counter(acknowledged=len(done), again=sum(each.sent > 1 for each in done))
