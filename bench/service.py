"""Service: readers, streams and writers on one `serve`, beside 100 rollouts under way.

Rollouts of some groups of ten targets each, as in `load`, on a simulated fleet in a process of its
own; one `serve`, first on SQLite, then on a PostgreSQL of its own on this machine, both synced to
disk. Each reader asks for one thing a second: status, a rollout, why, targets, cells, in turn. Of
two writes one sets a hold that covers nothing, and the other lifts it. Streams take every event.
All clients are in this process, on the same machine, over loopback.

    read, write    from sending a request to its whole answer, as a client sees it
    ours           the same inside the process that answers, from its own numbers (`/metrics`)
    wave           what the worker adds to a wave, as `load` has it; first without clients
"""

import asyncio
import random
import re
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from enum import Enum
from itertools import product
from math import inf
from pathlib import Path
from urllib.request import urlopen

import aiohttp
import msgspec

from bench.load import SMOKE, TIDEGATE, WORKER_FLAGS, Pace, judge, live, scenario
from bench.table import Report, count, draw
from bench.timing import Effort
from tests.contract.journals import postgres_server
from tests.real.prometheus import free_port
from tidegate.access.roles import Role
from tidegate.app.access.tokens import TokenRequest, create_token
from tidegate.kinds.rollouts.fleet import Observation
from tidegate.kinds.rollouts.wire.remote_fleet import Carried
from tidegate.wiring import clock, open_store
from tidegate.wiring.outside import remote_fleet

ROLLOUTS, GROUPS, EVERY_MS = 100, 4, 107
READ_MS_MAX = 100
PATIENCE_S = 60.0
# A caller may send 100 requests a second.
CALLERS = 10
_READS = (
    "/status", "/rollouts?limit=50", "/rollouts/{name}", "/why/{name}", "/targets?rollout={name}",
    "/cells/{name}", "/holds",
)  # fmt: skip


# What is written and delays no rollout; one that is not paused cannot be resumed.
_WRITES = ("hold", "lift-hold")


class Journal(Enum):
    """Where the journal is kept."""

    SQLITE = "SQLite"
    POSTGRES = "PostgreSQL"


class Size(msgspec.Struct, frozen=True):
    """How many clients there are."""

    readers: int
    streams: int
    writes_per_s: int


SIZES = (Size(0, 0, 0), Size(20, 5, 2), Size(100, 25, 10), Size(200, 50, 20))


class Row(msgspec.Struct, frozen=True):
    """What one number of clients met on one journal."""

    journal: Journal
    size: Size
    reads: int
    read_p50_ms: float
    read_p99_ms: float
    # Inside the process that answers.
    ours_p99_ms: float
    write_p99_ms: float
    # Answers that are neither 200 nor 304.
    refused: int
    events: int
    wave_p50_ms: float
    wave_p99_ms: float
    # Of the worker, and of the process that answers.
    cpu_s: float
    answer_cpu_s: float


class Clients:
    """Readers, streams and writers, until they are told to end."""

    def __init__(self, size: Size, server: str, tokens: list[str]) -> None:
        self._size, self._tokens = size, tokens
        # The rollouts, once they are known.
        self.names: list[str] = []
        self._api = f"{server}/api/v1"
        self._rng = random.Random(1)
        self.read_ms: list[float] = []
        self.write_ms: list[float] = []
        self.refused = self.events = 0

    async def answered(self) -> None:
        """Until the service answers."""
        until = time.monotonic() + PATIENCE_S
        async with aiohttp.ClientSession() as http:
            while True:
                try:
                    async with http.get(f"{self._api}/whoami", headers=self._login(0)) as answer:
                        if answer.status == 200:
                            return
                except aiohttp.ClientError:
                    assert time.monotonic() < until, "it does not answer"
                await asyncio.sleep(0.1)

    async def run(self) -> None:
        """Until it is cancelled."""
        size = self._size
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, raise_for_status=False) as http:
            works = [self._read(http, number) for number in range(size.readers)]
            works += [self._stream(http, number) for number in range(size.streams)]
            works += [self._write(http, number) for number in range(size.writes_per_s)]
            await asyncio.gather(*works)

    def _login(self, number: int) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._tokens[number % CALLERS]}"}

    async def _read(self, http: aiohttp.ClientSession, number: int) -> None:
        await asyncio.sleep(self._rng.random())
        step = number
        while True:
            name = self._rng.choice(self.names)
            path = _READS[step % len(_READS)].format(name=name)
            step += 1
            began = time.perf_counter()
            async with http.get(self._api + path, headers=self._login(number)) as answer:
                await answer.read()
            took_s = time.perf_counter() - began
            self.read_ms.append(1000 * took_s)
            self.refused += answer.status != 200
            await asyncio.sleep(max(0.0, 1 - took_s))

    async def _stream(self, http: aiohttp.ClientSession, number: int) -> None:
        name = self.names[number % len(self.names)]
        path = "/changes" if number % 2 else f"/watch/{name}"
        patience = aiohttp.ClientTimeout(total=None)
        while True:
            async with http.get(
                self._api + path, headers=self._login(number), timeout=patience
            ) as answer:
                async for line in answer.content:
                    self.events += line.startswith(b"data:")
            self.refused += 1
            await asyncio.sleep(1)

    async def _write(self, http: aiohttp.ClientSession, number: int) -> None:
        await asyncio.sleep(self._rng.random())
        step = 0
        while True:
            act, name = _WRITES[step % len(_WRITES)], f"bench-{number}"
            body: dict[str, object] = {"reason": "a measurement"}
            if act == "hold":
                body["scope"] = {"targets": [f"elsewhere-{number}"]}
            headers = {
                **self._login(number),
                "If-Match": "*",
                "Idempotency-Key": f"{number}-{step}-{time.time_ns()}",
            }
            began = time.perf_counter()
            where = f"{self._api}/{act}/{name}"
            async with http.post(where, json=body, headers=headers) as answer:
                await answer.read()
            took_s = time.perf_counter() - began
            self.write_ms.append(1000 * took_s)
            self.refused += answer.status != 200
            step += 1
            await asyncio.sleep(max(0.0, 1 - took_s))


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Without clients, and with three numbers of them, on each journal."""
    rows: list[Row] = []
    sizes = (Size(2, 2, 2),) if effort.smoke else SIZES if effort.peer else SIZES[:2]
    for size, journal in product(sizes, Journal):
        clients = f"{size.readers} readers, {size.streams} streams, {size.writes_per_s} writes/s"
        say(f"service: {clients} on {journal.value}")
        with tempfile.TemporaryDirectory() as folder, _database(journal, folder) as database:
            rows.append(_measure(size, journal, database, Path(folder), effort))
        if not effort.smoke:
            say(_table(rows[-1:]))
    return Report(rows, [_table(rows)])


@contextmanager
def _database(journal: Journal, folder: str) -> Iterator[str]:
    """The address of an empty journal."""
    if journal is Journal.SQLITE:
        yield f"{folder}/load.db"
        return
    with postgres_server() as address:
        yield address


def _measure(size: Size, journal: Journal, database: str, folder: Path, effort: Effort) -> Row:
    rollouts, pace = (2, SMOKE) if effort.smoke else (ROLLOUTS, Pace(GROUPS))
    path, port = folder / "load.json", free_port()
    path.write_bytes(msgspec.json.encode(scenario(pace)))
    tokens = [f"tidegate_{number:043}" for number in range(CALLERS)]
    with closing(open_store(database)) as store:
        for number, token in enumerate(tokens):
            request = TokenRequest(name=f"c{number}", role=Role.ADMIN, reason="a measurement")
            create_token(store, request, token, clock().now(), "bench")
    command = [*TIDEGATE, "fleet", str(path), "--copies", str(rollouts)]
    command += ["--every", f"{EVERY_MS}ms"]
    fleet = effort.start(command, stdout=subprocess.PIPE, text=True)
    try:
        assert fleet.stdout is not None
        address = fleet.stdout.readline().strip()
        flags = ["--fleet", address, "--database", database, *WORKER_FLAGS]
        flags += ["--listen", f"127.0.0.1:{port}", "--log-level", "error"]
        serve = effort.start([*TIDEGATE, "serve", *flags])
        try:
            clients = Clients(size, f"http://127.0.0.1:{port}", tokens)
            carried, seen = asyncio.run(_lived(address, rollouts, pace, clients))
            numbers = _numbers(f"http://127.0.0.1:{port}/metrics")
        finally:
            serve.send_signal(signal.SIGTERM)
            serve.wait(timeout=60)
    finally:
        fleet.kill()
        fleet.communicate()
    cpu_s = numbers["process_cpu_seconds_total"]
    waves = judge(rollouts, EVERY_MS, pace.groups, carried, seen, cpu_s, 0.0)
    return Row(
        journal, size, len(clients.read_ms), _at(clients.read_ms, 50), _at(clients.read_ms, 99),
        _ours(numbers, 0.99), _at(clients.write_ms, 99), clients.refused, clients.events,
        waves.p50_ms, waves.p99_ms, cpu_s, numbers["tidegate_api_process_cpu_seconds_total"],
    )  # fmt: skip


def _numbers(address: str) -> dict[str, float]:
    """What a scrape gets, by series."""
    with urlopen(address) as answer:
        lines = answer.read().decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs}


def _ours(numbers: dict[str, float], share: float) -> float:
    """How long all but the slowest reads took inside, in ms: within a bucket, as if evenly."""
    buckets: Counter[float] = Counter()
    for name, value in numbers.items():
        found = _BUCKET.fullmatch(name)
        if found is not None and found["route"] != "page":
            buckets[float(found["le"])] += round(value)
    if not buckets or not buckets[inf]:
        return 0.0
    wanted, below, before = share * buckets[inf], 0.0, 0
    for limit, many in sorted(buckets.items()):
        if many >= wanted:
            part = (wanted - before) / max(1, many - before)
            return 1000 * (below + part * (min(limit, 60.0) - below))
        below, before = limit, many
    return inf


_BUCKET = re.compile(
    r'tidegate_api_seconds_bucket\{le="(?P<le>[^"]+)",method="GET",route="(?P<route>[^"]+)"\}'
)


async def _lived(
    address: str, rollouts: int, pace: Pace, clients: Clients
) -> tuple[list[Carried], dict[str, Observation]]:
    await clients.answered()
    remote = remote_fleet(address)
    try:
        clients.names = await remote.partitions()
    finally:
        await remote.close()
    attached = asyncio.create_task(clients.run())
    try:
        return await live(address, rollouts, pace)
    finally:
        attached.cancel()
        await asyncio.gather(attached, return_exceptions=True)
        if attached.done() and not attached.cancelled() and attached.exception() is not None:
            raise RuntimeError("a client failed") from attached.exception()


def _at(taken: list[float], percent: int) -> float:
    ordered = sorted(taken)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] if ordered else 0.0


def _goal(row: Row) -> str:
    """Whether what was promised holds."""
    kept = row.ours_p99_ms < READ_MS_MAX
    return f"reads under {READ_MS_MAX} ms: {'kept' if kept else 'missed'}"


def _table(rows: list[Row]) -> str:
    heads = (
        "JOURNAL", "READERS", "STREAMS", "WRITES/S", "READS", "READ P50 MS", "READ P99 MS",
        "OURS P99 MS", "WRITE P99 MS", "REFUSED", "EVENTS", "WAVE P50 MS", "WAVE P99 MS", "CPU S",
        "ANSWER CPU S", "GOAL",
    )  # fmt: skip
    lines = [
        (
            row.journal.value,
            count(row.size.readers),
            count(row.size.streams),
            count(row.size.writes_per_s),
            count(row.reads),
            f"{row.read_p50_ms:.0f}",
            f"{row.read_p99_ms:.0f}",
            f"{row.ours_p99_ms:.0f}",
            f"{row.write_p99_ms:.0f}",
            count(row.refused),
            count(row.events),
            f"{row.wave_p50_ms:.0f}",
            f"{row.wave_p99_ms:.0f}",
            f"{row.cpu_s:.1f}",
            f"{row.answer_cpu_s:.1f}",
            _goal(row),
        )
        for row in rows
    ]
    return draw("Service: clients of one replica that also runs 100 rollouts", heads, lines)
