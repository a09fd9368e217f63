"""All that a simulated OpenShift Cluster Manager knows: documents by their path, and what is due.

A collection is a path and its documents by id; a document is what its GET shows. Time is handed in
with every question, and what became due since the last is carried out first, in order, each at its
own moment: so a state lives as well in virtual time as behind a server.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from tidegate.kinds.upgrades.ocm.simulated.events import OcmEvent, OcmEventKind
from tidegate.kinds.upgrades.ocm.simulated.world_doc import OcmWorld, VersionDoc
from tidegate.model.time import Instant, format_instant, format_second

Json = dict[str, Any]

ACCOUNTS = "/api/accounts_mgmt/v1"
CLUSTERS = "/api/clusters_mgmt/v1"
LOGS = "/api/service_logs/v1"
ADDONS = "/api/addons_mgmt/v1"
LABELS = f"{ACCOUNTS}/labels"
SUBSCRIPTIONS = f"{ACCOUNTS}/subscriptions"
ORGANIZATIONS = f"{ACCOUNTS}/organizations"
ALL_CLUSTERS = f"{CLUSTERS}/clusters"
VERSIONS = f"{CLUSTERS}/versions"
GATES = f"{CLUSTERS}/version_gates"
CLUSTER_LOGS = f"{LOGS}/cluster_logs"
# What was written, for checks afterwards; older ones are forgotten.
WRITES_MAX = 100_000
# Searches that are remembered.
FOUND_MAX = 256


class DueEvent(msgspec.Struct, frozen=True, order=True):
    """Something that happens at a moment: to a document, or to the versions that are out."""

    at: int
    # Those of one moment happen in the order in which they were foreseen.
    number: int
    path: str
    id: str = ""


class OcmWrite(msgspec.Struct, frozen=True):
    """A change that was requested."""

    at: str
    method: str
    path: str
    body: Any
    status: int


class OcmState:
    """What there is, and what is due."""

    def __init__(self, world: OcmWorld) -> None:
        self.world = world
        self.now = world.now
        self.declared = {each.key: each for each in world.clusters}
        # The versions that are out, the oldest first.
        self.released: list[VersionDoc] = []
        self.collections: dict[str, dict[str, Json]] = {}
        self.writes: deque[OcmWrite] = deque(maxlen=WRITES_MAX)
        self.happened: deque[OcmEvent] = deque(maxlen=WRITES_MAX)
        self._due: list[DueEvent] = []
        self._numbers = 0
        # What searches found, until something changes.
        self._found: dict[tuple[str | None, ...], list[Json]] = {}

    def below(self, path: str) -> dict[str, Json]:
        """The collection at a path, made if need be."""
        return self.collections.setdefault(path, {})

    def put(self, path: str, document: Json, key: str = "") -> Json:
        """Place a document, with its own address unless it has one."""
        document.setdefault("href", f"{path}/{key or document['id']}")
        self.below(path)[key or document["id"]] = document
        self.touch()
        return document

    def remove(self, path: str, key: str) -> None:
        """Take a document away."""
        self.collections[path].pop(key, None)
        self.touch()

    def touch(self) -> None:
        """Something changed: nothing found so far holds any more."""
        self._found.clear()

    def found(self, key: tuple[str | None, ...], look: Callable[[], Iterable[Json]]) -> list[Json]:
        """What a search finds, looked for once for as long as nothing changes."""
        if key not in self._found:
            if len(self._found) >= FOUND_MAX:
                self._found.clear()
            self._found[key] = list(look())
        return self._found[key]

    def number(self) -> int:
        """A number nothing else has."""
        self._numbers += 1
        return self._numbers

    def foresee(self, at: int, path: str, key: str = "") -> None:
        """Have something happen at a moment."""
        heapq.heappush(self._due, DueEvent(at, self.number(), path, key))

    def fall_due(self, now: Instant) -> Iterator[DueEvent]:
        """What is due by now, one after the other, each with the state's time at its moment."""
        while self._due and self._due[0].at <= now:
            due = heapq.heappop(self._due)
            self.now = Instant(max(self.now, due.at))
            yield due
        self.now = Instant(max(self.now, now))

    def next_due(self) -> Instant | None:
        """When something happens next by itself; None: nothing will."""
        return Instant(self._due[0].at) if self._due else None

    def cluster(self, key: str) -> Json:
        """A cluster by its id; KeyError if there is none."""
        return self.collections[ALL_CLUSTERS][key]

    def note(self, method: str, path: str, body: Any, status: int) -> None:
        """Remember a change that was requested."""
        self.writes.append(OcmWrite(format_instant(self.now), method, path, body, status))

    def happen(self, what: OcmEventKind, **facts: Any) -> None:
        """Remember that something happened, now."""
        self.happened.append(OcmEvent(at=self.now, what=what, **facts))

    def stamp(self) -> str:
        """The state's time, as documents show it."""
        return format_second(self.now)
