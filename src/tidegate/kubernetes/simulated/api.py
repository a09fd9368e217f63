"""What all who talk to one simulated cluster share: objects, who owns their fields, a history.

An object is its fields by path (`fields.py`), so that it is known of each whose it is. Controllers
and nodes write beside that book: what they write (a status, a pod) is not applied.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from operator import itemgetter
from typing import Any, Protocol

import msgspec

from tidegate.kubernetes.port import Document, ExpiredError, ObjectEvent, ResourceKind
from tidegate.kubernetes.simulated.fields import Path, flatten, unflatten
from tidegate.machine.clock import Clock
from tidegate.model.time import Instant, format_second

# Asked before every call with its name (`read Deployment`, `apply`, …): it may raise.
Fault = Callable[[str], None]
Key = tuple[ResourceKind, str, str]
# As many changes are remembered at least; for older ones the client must read anew.
HISTORY_MIN = 10_000
_pack, _unpack = msgspec.msgpack.encode, msgspec.msgpack.Decoder(dict[str, Any]).decode
# Those of one kind in order.
_BY_NAME = itemgetter(1, 2)
# What a server counts the wishes of.
_COUNTED = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "CronJob", "Job"})


class StoredObject(msgspec.Struct, frozen=True):
    """An object, and who owns which of its fields."""

    uid: str
    version: int
    fields: dict[Path, Any]
    owners: dict[str, frozenset[Path]]
    # How often its declaration changed; 0: its kind is not counted.
    generation: int = 0
    # None: the cluster has no clock.
    created_at: Instant | None = None


class LogLine(msgspec.Struct, frozen=True):
    """A line of a log, and when it was written."""

    at: Instant
    text: str


class PodContents(Protocol):
    """What runs in the pods of a cluster."""

    def answer(self, namespace: str, pod: str, port: int, path: str) -> str:
        """What a pod answers over HTTP now; OutsideError if nothing."""
        ...

    def lines(
        self,
        namespace: str,
        pod: str,
        container: str,
        *,
        follow: bool = False,
        tail: int | None = None,
        since: Instant | None = None,
    ) -> AsyncGenerator[LogLine, None]:
        """What a pod wrote and, followed, what it will write; OutsideError if it has no log."""
        ...


class SimulatedApi:
    """The objects of one simulated cluster, and what happened to them."""

    def __init__(self, name: str, fault: Fault | None = None, clock: Clock | None = None) -> None:
        self.name = name
        self.fault = fault or (lambda _: None)
        self.clock = clock
        self.namespaces: set[str] = set()
        self.records: dict[Key, StoredObject] = {}
        # None: nothing runs in its pods.
        self.insides: PodContents | None = None
        self.version = 1
        # The version at which an object of a kind last came, changed or went.
        self.version_of: dict[ResourceKind, int] = {}
        # The change that made version `oldest + 1` first, and every one after it.
        self._history: list[tuple[Key, ObjectEvent, StoredObject]] = []
        self.oldest = self.version
        self._listeners: list[asyncio.Event] = []
        # The document of the latest record of each object that was read.
        self._packed: dict[str, tuple[StoredObject | None, bytes]] = {}

    def forget(self) -> None:
        """Everything that happened up to now is gone from the history."""
        self._history.clear()
        self.oldest = self.version

    def listed(self, kind: ResourceKind, namespace: str) -> Iterator[tuple[Key, StoredObject]]:
        """The objects of a kind by name, in one namespace or, if it is empty, in all."""
        keys = [key for key in self.records if key[0] == kind and namespace in ("", key[1])]
        for key in sorted(keys, key=_BY_NAME):
            yield key, self.records[key]

    def made(
        self, key: Key, fields: dict[Path, Any], owners: dict[str, frozenset[Path]]
    ) -> StoredObject:
        """The record of a new object; it is not there before it is kept."""
        version = self.version + 1
        generation = 1 if key[0].name in _COUNTED else 0
        now = self.clock.now() if self.clock is not None else None
        return StoredObject(f"{key[2]}-{version}", version, fields, owners, generation, now)

    def changed(
        self, old: StoredObject, fields: dict[Path, Any], owners: dict[str, frozenset[Path]]
    ) -> StoredObject:
        """The record of an object after a change; a new wish is counted."""
        counted = old.generation + (_wishes(old.fields) != _wishes(fields))
        return msgspec.structs.replace(
            old,
            version=self.version + 1,
            fields=fields,
            owners=owners,
            generation=counted if old.generation else 0,
        )

    def keep(self, key: Key, record: StoredObject) -> None:
        """Write an object; watchers get an event."""
        change = ObjectEvent.MODIFIED if key in self.records else ObjectEvent.ADDED
        self.records[key] = record
        self._happen(key, change, record)

    def remove(self, key: Key) -> None:
        """Delete an object; watchers get an event."""
        gone = self.records.pop(key)
        self._packed.pop(gone.uid, None)
        self._happen(
            key, ObjectEvent.DELETED, msgspec.structs.replace(gone, version=self.version + 1)
        )

    def put(self, key: Key, document: Document) -> StoredObject:
        """Write an object as a controller does: whole, and without an owner."""
        fields, old = dict(flatten(dict(document))), self.records.get(key)
        if old is None:
            record = self.made(key, fields, {})
        elif old.fields == fields:
            return old
        else:
            record = self.changed(old, fields, old.owners)
        self.keep(key, record)
        return record

    def put_status(self, key: Key, status: Mapping[str, Any]) -> None:
        """Write the status of an object, unless it is unchanged or the object is gone."""
        old = self.records.get(key)
        if old is None:
            return
        fields = {path: value for path, value in old.fields.items() if path[0] != "status"}
        fields |= flatten(dict(status), ("status",))
        if fields != old.fields:
            self.keep(key, self.changed(old, fields, old.owners))

    def document(self, record: StoredObject) -> dict[str, Any]:
        """An object as clients read it, without the book of owners; each reader gets a copy."""
        # A record never changes: it is put together once for as long as it is the latest.
        known, packed = self._packed.get(record.uid, (None, b""))
        if known is not record:
            packed = _pack(self._put_together(record))
            self._packed[record.uid] = record, packed
        return _unpack(packed)

    def _put_together(self, record: StoredObject) -> dict[str, Any]:
        document = unflatten(record.fields)
        own = {"uid": record.uid, "resourceVersion": str(record.version)}
        if record.created_at is not None:
            own["creationTimestamp"] = format_second(record.created_at)
        document["metadata"] |= own | ({"generation": g} if (g := record.generation) else {})
        return document

    async def happened(
        self, after: int
    ) -> AsyncGenerator[tuple[Key, ObjectEvent, StoredObject], None]:
        """What happens after a version, for good; ExpiredError if some of it is forgotten."""
        news = asyncio.Event()
        self._listeners.append(news)
        try:
            while True:
                if after < self.oldest:
                    raise ExpiredError(f"{self.name}: its history is gone: read anew")
                for stated in self._history[after - self.oldest :]:
                    after += 1
                    yield stated
                    if after < self.oldest:
                        break
                else:
                    await news.wait()
                    news.clear()
        finally:
            self._listeners.remove(news)

    def _happen(self, key: Key, change: ObjectEvent, record: StoredObject) -> None:
        self.version = self.version_of[key[0]] = record.version
        self._history.append((key, change, record))
        if len(self._history) > 2 * HISTORY_MIN:
            del self._history[:HISTORY_MIN]
            self.oldest += HISTORY_MIN
        for listener in self._listeners:
            listener.set()


def where_of(key: Key) -> str:
    """An object for people."""
    return f"{key[0].name.lower()}/{key[1]}/{key[2]}"


def part_of(record: StoredObject, name: str) -> dict[str, Any]:
    """One of the parts of an object: its `spec`, its `status`."""
    fields = {path: value for path, value in record.fields.items() if path[0] == name}
    found: dict[str, Any] = unflatten(fields).get(name) or {}
    return found


def _wishes(fields: Mapping[Path, Any]) -> dict[Path, Any]:
    return {path: value for path, value in fields.items() if path[0] == "spec"}
