"""A simulated cluster behind the port: an API server in memory that knows who owns which field.

It keeps the contract the real one keeps: versions, owners, conflicts, preconditions, an end of its
history. It fills in no defaults, runs nothing, and believes what it is told, but for what a
rehearsal needs to see refused.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import msgspec

from tidegate.core.errors import OutsideError, StaleError
from tidegate.core.model.problem import Problems
from tidegate.ports.cluster import (
    MANAGER,
    Applied,
    Change,
    ConflictError,
    Document,
    Event,
    ExpiredError,
    FieldConflict,
    Kind,
    Object,
    Outcome,
    Reading,
    RefusedError,
    Take,
    kind_of,
)
from tidegate.simulation.fields import Path, flatten, text_of, unflatten
from tidegate.wire.reader import Reader
from tidegate.wire.selector_doc import read_selector
from tidegate.wire.selector_text import parse_selector

# Asked before every call with its name (`read Deployment`, `apply`, …): it may raise.
Fault = Callable[[str], None]

_Key = tuple[Kind, str, str]
# Who an object is; nobody owns that.
_IDENTITY: frozenset[Path] = frozenset(
    [("apiVersion",), ("kind",), *(("metadata", x) for x in ("name", "namespace", "uid"))]
)
_VERSION: Path = ("metadata", "resourceVersion")


class _Record(msgspec.Struct, frozen=True):
    """An object, and who owns which of its fields."""

    uid: str
    version: int
    fields: dict[Path, Any]
    owners: dict[str, frozenset[Path]]


class SimulatedApi:
    """What all who talk to one simulated cluster share."""

    def __init__(self, name: str, fault: Fault | None = None) -> None:
        self.name = name
        self.fault = fault or (lambda _: None)
        self.namespaces: set[str] = set()
        self.records: dict[_Key, _Record] = {}
        self.version = 1
        self._history: list[tuple[int, _Key, Change, _Record]] = []
        self._oldest = 0
        self._listeners: list[asyncio.Event] = []

    def forget(self) -> None:
        """Everything that happened up to now is gone from the history."""
        self._history.clear()
        self._oldest = self.version

    def keep(self, key: _Key, record: _Record | None, before: _Record | None) -> None:
        """Write an object, or delete it; whoever watches is told."""
        self.version = record.version if record is not None else self.version + 1
        if record is not None:
            self.records[key] = record
            change = Change.MODIFIED if before is not None else Change.ADDED
            self._history.append((self.version, key, change, record))
        elif before is not None:
            del self.records[key]
            gone = msgspec.structs.replace(before, version=self.version)
            self._history.append((self.version, key, Change.DELETED, gone))
        for listener in self._listeners:
            listener.set()

    async def happened(self, after: int) -> AsyncIterator[tuple[_Key, Change, _Record]]:
        """What happens after a version, for good; ExpiredError if some of it is forgotten."""
        news = asyncio.Event()
        self._listeners.append(news)
        try:
            while True:
                if after < self._oldest:
                    raise ExpiredError(f"{self.name}: its history is gone: read anew")
                for version, key, change, record in list(self._history):
                    if version > after:
                        after = version
                        yield key, change, record
                await news.wait()
                news.clear()
        finally:
            self._listeners.remove(news)


class SimulatedCluster:
    """One who talks to a simulated cluster, under the name of a field manager."""

    def __init__(self, api: SimulatedApi, manager: str = MANAGER) -> None:
        self._api = api
        self._manager = manager

    @property
    def name(self) -> str:
        """What people call it."""
        return self._api.name

    async def read(self, namespace: str, kinds: Sequence[Kind], selector: str = "") -> Reading:
        """All objects of some kinds; a kind at which a fault is thrown is a gap."""
        chosen = _chooser(selector)
        objects: list[Object] = []
        versions: dict[str, str] = {}
        gaps: list[OutsideError] = []
        for kind in kinds:
            try:
                self._api.fault(f"read {kind.name}")
            except OutsideError as error:
                gaps.append(error)
                continue
            versions[kind.name] = str(self._api.version)
            for key in sorted(self._api.records):
                if key[:2] == (kind, namespace):
                    found = self._object(key, self._api.records[key])
                    objects += [found] if chosen(found.document) else []
        if gaps and not versions:
            raise gaps[0]
        return Reading(tuple(objects), versions, tuple(map(str, gaps)))

    async def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """One object; None if there is none."""
        self._api.fault("get")
        record = self._api.records.get((kind, namespace, name))
        return None if record is None else self._object((kind, namespace, name), record)

    async def apply(
        self,
        document: Document,
        *,
        before: Object | None = None,
        take: Take = Take.NOTHING,
        dry_run: bool = False,
    ) -> Applied:
        """Make the fields of a document so."""
        self._api.fault("apply")
        kind = kind_of(document)
        wanted = dict(flatten(deepcopy(dict(document))))
        key = self._key(kind, wanted)
        old = self._api.records.get(key)
        if before is not None and (old is None or old.uid != before.uid):
            raise StaleError(f"{self.name}: {before.where}: it is there no more")
        _validate(f"{self.name}: {_where(key)}", kind, document)
        taken = self._conflicts(old, wanted)
        ours = old is not None and self._manager in old.owners
        if taken and (take is Take.NOTHING or (take is Take.BACK and not ours)):
            raise ConflictError(f"{self.name}: {_where(key)}", taken)
        new = self._merged(old, wanted, f"{key[2]}-{self._api.version + 1}")
        unchanged = old is not None and _same(old, new)
        if unchanged:
            outcome = Outcome.UNCHANGED
        else:
            outcome = Outcome.CREATED if old is None else Outcome.CONFIGURED
            if not dry_run:
                self._api.keep(key, new, old)
        self._api.fault("applied")
        return Applied(outcome, self._object(key, old if unchanged and old else new), taken)

    async def delete(self, found: Object, *, dry_run: bool = False) -> bool:
        """Delete what is ours and as it was read."""
        self._api.fault("delete")
        key = (found.kind, found.namespace, found.name)
        record = self._api.records.get(key)
        if not found.ours:
            raise StaleError(f"{self.name}: {found.where}: not applied by Tidegate, so left alone")
        if record is None:
            return False
        if (record.uid, str(record.version)) != (found.uid, found.version):
            raise StaleError(f"{self.name}: {found.where}: changed after it was read")
        if not dry_run:
            self._api.keep(key, None, record)
        return True

    async def release(self, found: Object) -> Object:
        """Give all our fields back."""
        self._api.fault("release")
        key = (found.kind, found.namespace, found.name)
        record = self._api.records.get(key)
        if record is None or record.uid != found.uid:
            raise StaleError(f"{self.name}: {found.where}: it is there no more")
        if self._manager not in record.owners:
            return self._object(key, record)
        owners = {who: what for who, what in record.owners.items() if who != self._manager}
        new = msgspec.structs.replace(record, owners=owners, version=self._api.version + 1)
        self._api.keep(key, new, record)
        return self._object(key, new)

    async def watch(
        self, namespace: str, kind: Kind, after: str, selector: str = ""
    ) -> AsyncGenerator[Event, None]:
        """What happens after a reading, in order."""
        chosen = _chooser(selector)
        async for key, change, record in self._api.happened(int(after)):
            found = self._object(key, record)
            if key[:2] == (kind, namespace) and chosen(found.document):
                yield Event(change, found)

    async def close(self) -> None:
        """Nothing is held open."""

    def _key(self, kind: Kind, wanted: dict[Path, Any]) -> _Key:
        namespace, name = (wanted.get(("metadata", x)) for x in ("namespace", "name"))
        if not namespace or not name:
            raise RefusedError(f"{kind.name}: metadata.namespace and metadata.name are needed")
        if namespace not in self._api.namespaces:
            raise OutsideError(f'{self.name}: HTTP 404: namespaces "{namespace}" not found')
        return kind, str(namespace), str(name)

    def _conflicts(self, old: _Record | None, wanted: dict[Path, Any]) -> tuple[FieldConflict, ...]:
        """Fields that somebody else owns and that would get another value."""
        if old is None:
            return ()
        return tuple(
            FieldConflict(text_of(path), manager)
            for manager, owned in sorted(old.owners.items())
            if manager != self._manager
            for path, value in wanted.items()
            if path in owned and old.fields.get(path) != value
        )

    def _merged(self, old: _Record | None, wanted: dict[Path, Any], uid: str) -> _Record:
        """What is there after applying: our fields as wanted, the others' as they are."""
        version = self._api.version + 1
        mine = frozenset(wanted.keys() - _IDENTITY - {_VERSION})
        kept = {path: value for path, value in wanted.items() if path != _VERSION}
        if old is None:
            return _Record(uid, version, kept, {self._manager: mine})
        owners: dict[str, frozenset[Path]] = {}
        for manager, owned in old.owners.items():
            if manager == self._manager:
                continue
            # What has another value now is theirs no more.
            left = frozenset(p for p in owned if p not in wanted or old.fields[p] == wanted[p])
            owners |= {manager: left} if left else {}
        dropped = old.owners.get(self._manager, frozenset()) - mine
        dropped -= frozenset().union(*owners.values())
        there = {path: value for path, value in old.fields.items() if path not in dropped}
        fields = {path: kept.get(path, there.get(path)) for path in _in_order(there, kept)}
        return _Record(old.uid, version, fields, {**owners, self._manager: mine})

    def _object(self, key: _Key, record: _Record) -> Object:
        document = unflatten(record.fields)
        document["metadata"] |= {"uid": record.uid, "resourceVersion": str(record.version)}
        return Object(
            kind=key[0],
            namespace=key[1],
            name=key[2],
            uid=record.uid,
            version=str(record.version),
            ours=self._manager in record.owners,
            document=deepcopy(document),
        )


def _where(key: _Key) -> str:
    return f"{key[0].name.lower()}/{key[1]}/{key[2]}"


def _validate(where: str, kind: Kind, document: Document) -> None:
    """What every server refuses and a rehearsal should show."""
    if kind.name in ("Deployment", "StatefulSet"):
        spec = document.get("spec") or {}
        for field in ("selector", "template"):
            if not spec.get(field):
                raise RefusedError(f"{where}: refused (422): spec.{field}: Required value")


def _chooser(selector: str) -> Callable[[Document], bool]:
    if not selector:
        return lambda _: True
    chosen = read_selector(Reader(parse_selector(selector), "selector", Problems()))
    return lambda document: chosen.matches(document["metadata"].get("labels") or {})


def _same(one: _Record, other: _Record) -> bool:
    """Whether two are the same, the order of their items included."""
    return one.owners == other.owners and unflatten(one.fields) == unflatten(other.fields)


def _in_order(there: Mapping[Path, Any], applied: Mapping[Path, Any]) -> list[Path]:
    """Fields in the order they have; new ones behind the one applied before them.

    Where what is applied has another order than what is there, its own comes first.
    """
    if [path for path in there if path in applied] != [path for path in applied if path in there]:
        return [*applied, *(path for path in there if path not in applied)]
    order, at = list(there), -1
    for path in applied:
        if path in there:
            at = order.index(path)
        else:
            at += 1
            order.insert(at, path)
    return order
