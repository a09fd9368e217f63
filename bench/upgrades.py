"""What deciding upgrades costs: one organisation, three sectors, a fifth of it hosted.

The fleet runs five versions, has three workloads and a hundred mutexes, half of its clusters are in
their window, and a tenth has an upgrade under way. *compat* is the predecessor's rules; *strict*
ours, with the verdict of every gate on every version; a *line* reads the fleet from JSON, decides,
and writes the answer, all sentences included; a *scrape* makes the lines of all numbers of a round.
*full* is the same fleet with one mutex and limits that are reached, so that thousands wait for each
other; *add-ons* the same with one add-on a cluster. Beside them stands what the predecessor takes
for a fleet of that size, as it was recorded, on another machine: read it as an order of magnitude.
There is no record for 50,000: it shows how ours grows.
"""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import msgspec

from bench.table import NOTHING, Report, count, draw, figure, times
from bench.timing import Best, Effort, best_ms
from tidegate.documents.line import fields_of
from tidegate.documents.reader import Reader
from tidegate.kinds.upgrades.core import compat
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.kinds.upgrades.telemetry.metrics import UpgradeNumbers
from tidegate.kinds.upgrades.telemetry.rows import RoundSeen
from tidegate.kinds.upgrades.wire.line import answer_compat, decode
from tidegate.kinds.upgrades.wire.modes import answer_strict
from tidegate.model.problem import Problems

SIZES = (100, 1_000, 5_000, 50_000)
# Larger fleets are decided by our rules alone.
BESIDE_MAX = 5_000
# CPU seconds of the predecessor, recorded.
PREDECESSOR_S = {100: 0.14, 1_000: 5.7, 5_000: 188.0}
VERSIONS = ("4.12.17", "4.12.18", "4.12.19", "4.13.0", "4.13.4")
SECTORS = ("dev", "stage", "prod")
WORKLOADS = ("w1", "w2", "w1,w3")
SCHEDULES = ("* * * * *", "0 3 * * 0")
SOAK_DAYS = ("0", "1", "3", "7")
MUTEXES = 100


class FleetMix(NamedTuple):
    """What the clusters of a fleet are mixed from."""

    versions: tuple[str, ...]
    # Clusters run one of the first so many.
    begun: int
    soak_days: tuple[str, ...]
    schedules: tuple[str, ...]
    sectors: tuple[str, ...]
    # How many mutexes there are.
    mutexes: int


MIX = FleetMix(VERSIONS, len(VERSIONS), SOAK_DAYS, SCHEDULES, SECTORS, MUTEXES)


class Row(msgspec.Struct, frozen=True):
    """One way at one size."""

    clusters: int
    way: str
    ms: float
    # What the predecessor took, over what this takes; None: not known.
    ratio: float | None


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Measure the rules, and the rules with their reading and writing."""
    sizes = [size for size in SIZES if size <= max(effort.sizes)]
    best = Best()
    for _, size in product(range(effort.passes), sizes):
        for name, way in _ways(size).items():
            say(f"upgrades: {size:,} clusters, {name}")
            best.note(size, name, {"cpu": best_ms(way, effort.patience_s)})
    rows = [Row(size, name, ms["cpu"], _ratio(size, ms["cpu"])) for size, name, ms in best.rows()]
    return Report(rows, [_table(rows)])


def _ratio(size: int, ms: float) -> float | None:
    known = PREDECESSOR_S.get(size)
    return None if known is None else known * 1000 / ms


def _ways(size: int) -> dict[str, Callable[[], object]]:
    document = fleet(size)
    raw = msgspec.json.encode(document)
    world = _world(raw)
    full, equipped = _world(_encode(_full(document))), _world(_encode(_equipped(document)))
    ours: dict[str, Callable[[], object]] = {
        "strict": partial(decide, world, world.now),
        "strict, full": partial(decide, full, full.now),
        "strict, add-ons": partial(decide, equipped, equipped.now),
        "strict line": partial(_line, answer_strict, raw),
    }
    if size > BESIDE_MAX:
        return ours
    theirs: dict[str, Callable[[], object]] = {
        "compat": partial(compat.run, world),
        "compat line": partial(_line, answer_compat, raw),
    }
    return theirs | ours | {"scrape": partial(_scrape, _seen(world))}


_encode = msgspec.json.encode


def _world(raw: bytes) -> UpgradeWorld:
    return decode(Reader(fields_of(raw), "", Problems()))


def _full(document: dict[str, Any]) -> dict[str, Any]:
    """The same with one mutex for all, and limits that are reached."""
    limits = {f"sector-max-parallel-upgrades.{each}": "10%" for each in SECTORS}
    (org,) = document["orgs"]
    return document | {
        "orgs": [{**org, "labels": org["labels"] | limits}],
        "clusters": [
            {**each, "labels": each["labels"] | {"mutexes": "m"}} for each in document["clusters"]
        ],
    }


def _equipped(document: dict[str, Any]) -> dict[str, Any]:
    """The same with an add-on on each cluster, in two versions."""
    (org,) = document["orgs"]
    return document | {
        "orgs": [{**org, "addons": True}],
        "clusters": [
            {**each, "addons": [{"id": "log", "version": f"1.{i % 2}.0", "latest": "1.1.0"}]}
            for i, each in enumerate(document["clusters"])
        ],
    }


def _line(answer: Callable[[bytes], object], raw: bytes) -> bytes:
    return msgspec.json.encode(answer(raw))


def _seen(world: UpgradeWorld) -> RoundSeen:
    return RoundSeen(
        env="prod", org_id="o", now=world.now, decided=(world, decide(world, world.now))
    )


def _scrape(seen: RoundSeen) -> bytes:
    numbers = UpgradeNumbers()
    numbers.round_ended(seen)
    return numbers.text()


def fleet(size: int) -> dict[str, Any]:
    """One organisation of so many clusters."""
    labels = {"sector-deps.stage": "dev", "sector-deps.prod": "stage"}
    labels["sector-max-parallel-upgrades.prod"] = "20%"
    clusters = [cluster_of(i, MIX) for i in range(size)]
    for i, each in enumerate(clusters):
        started = {"id": "p", "version": VERSIONS[-1], "state": "started"}
        each["upgrade_policies"] = [started] if i % 10 == 3 else []
    return organisation(labels, clusters)


def organisation(labels: dict[str, str], clusters: list[dict[str, Any]]) -> dict[str, Any]:
    """A world with one organisation."""
    return {
        "now": "2023-05-10T10:00:00Z",
        "orgs": [{"id": "o", "name": "O", "labels": labels}],
        "clusters": clusters,
    }


def cluster_of(i: int, mix: FleetMix) -> dict[str, Any]:
    """One cluster of a mixed fleet."""
    # Steps that share no divisor with the lists, so that every mixture comes up.
    version = mix.versions[i * 7 % mix.begun]
    is_hosted = i % 5 == 0
    return {
        "name": f"c{i:05}",
        "org": "o",
        "version": version,
        "available_upgrades": mix.versions[mix.versions.index(version) + 1 :],
        "product": "rosa" if is_hosted else "osd",
        "hypershift": is_hosted,
        "node_pools": [{"id": "np", "version": version}] if is_hosted else [],
        "labels": {
            "soak-days": mix.soak_days[i // 3 % len(mix.soak_days)],
            "workloads": WORKLOADS[i // 2 % len(WORKLOADS)],
            "schedule": mix.schedules[i // 7 % len(mix.schedules)],
            "sector": mix.sectors[i // 11 % len(mix.sectors)],
            "mutexes": f"m{i % mix.mutexes}",
        },
    }


def _part(ratio: float | None) -> str:
    return NOTHING if ratio is None else f"1/{times(ratio).rstrip('×')}"


def _table(rows: list[Row]) -> str:
    heads = ("CLUSTERS", "WAY", "CPU MS", "OF THE PREDECESSOR'S")
    lines = [(count(row.clusters), row.way, figure(row.ms), _part(row.ratio)) for row in rows]
    return draw("Upgrades of one organisation, beside what the predecessor takes", heads, lines)
