"""A simulated cluster behind the port: an API server in memory that knows who owns which field.

It keeps the contract the real one keeps: versions, owners, conflicts, preconditions, an end of its
history. It fills in no defaults, runs nothing by itself, and accepts what it gets, but for what
a rehearsal needs to see refused.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from tidegate.documents.reader import Reader
from tidegate.documents.scope_doc import parse_selector, read_selector
from tidegate.kubernetes.port import (
    MANAGER,
    Applied,
    ApplyOutcome,
    ConflictError,
    Document,
    Entries,
    FieldConflict,
    Object,
    ObjectPage,
    ObjectReading,
    ObjectRefusedError,
    ResourceKind,
    Take,
    WatchEvent,
    check_entries,
    kind_of,
)
from tidegate.kubernetes.simulated.api import (
    Key,
    PodContents,
    SimulatedApi,
    StoredObject,
    part_of,
    where_of,
)
from tidegate.kubernetes.simulated.fields import Path, flatten, text_of, unflatten
from tidegate.kubernetes.simulated.shapes import check_shape
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.problem import Problems

# The identity of an object; no manager owns it.
IDENTITY: frozenset[Path] = frozenset(
    [("apiVersion",), ("kind",), *(("metadata", x) for x in ("name", "namespace", "uid"))]
)
_VERSION: Path = ("metadata", "resourceVersion")
_LABELS: Path = ("metadata", "labels")
# What the server writes by itself; a difference in it is not declared.
_BOOKKEEPING = frozenset({"resourceVersion", "generation"})
# What cannot be changed once it is there.
_FIXED: Mapping[str, tuple[str, ...]] = {
    "Deployment": ("selector",),
    "StatefulSet": ("selector", "serviceName", "volumeClaimTemplates"),
    "Job": ("selector", "template"),
}


class SimulatedCluster:
    """One who talks to a simulated cluster, under the name of a field manager."""

    def __init__(self, api: SimulatedApi, manager: str = MANAGER) -> None:
        self._api = api
        self._manager = manager

    @property
    def name(self) -> str:
        """What people call it."""
        return self._api.name

    def under(self, manager: str) -> "SimulatedCluster":
        """The same under another manager's name."""
        return SimulatedCluster(self._api, manager)

    async def read(
        self, namespace: str, kinds: Sequence[ResourceKind], selector: str = ""
    ) -> ObjectReading:
        """All objects of some kinds; a kind at which a fault is thrown is a gap."""
        chosen = chooser(selector)
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
            for key, record in self._api.listed(kind, namespace):
                found = self._object(key, record)
                objects += [found] if chosen(found.document) else []
        if gaps and not versions:
            raise gaps[0]
        return ObjectReading(tuple(objects), versions, tuple(map(str, gaps)))

    async def pages(
        self, namespace: str, kind: ResourceKind, selector: str = ""
    ) -> AsyncGenerator[ObjectPage, None]:
        """All objects of one kind, on one page."""
        reading = await self.read(namespace, [kind], selector)
        yield ObjectPage(reading.objects, reading.versions[kind.name])

    async def get(self, kind: ResourceKind, namespace: str, name: str) -> Object | None:
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
        exact: bool = False,
    ) -> Applied:
        """Make the fields of a document so."""
        self._api.fault("apply")
        kind = kind_of(document)
        wanted = dict(flatten(dict(document)))
        key = self._key(kind, wanted)
        old = self._api.records.get(key)
        if before is not None and (old is None or old.uid != before.uid):
            raise StaleError(f"{self.name}: {before.where}: it is there no more")
        if exact and before is not None and old and not _alike(self._object(key, old), before):
            raise StaleError(f"{self.name}: {before.where}: changed after it was read")
        taken = self._conflicts(old, wanted)
        ours = old is not None and self._manager in old.owners
        mine = set(map(text_of, old.owners.get(self._manager, ()))) if old is not None else set()
        alone = take is Take.SHARED and not {each.field for each in taken} <= mine
        if taken and (take is Take.NOTHING or alone or (take is Take.BACK and not ours)):
            raise ConflictError(f"{self.name}: {where_of(key)}", taken)
        new = self._merged(key, old, wanted)
        check_shape(f"{self.name}: {where_of(key)}", kind, unflatten(new.fields))
        unchanged = old is not None and _same(old, new)
        if unchanged:
            outcome = ApplyOutcome.UNCHANGED
        else:
            outcome = ApplyOutcome.CREATED if old is None else ApplyOutcome.CONFIGURED
            if not dry_run:
                self._api.keep(key, new)
        self._api.fault("applied")
        return Applied(outcome, self._object(key, old if unchanged and old else new), taken)

    async def set_entries(
        self, head: Document, values: Entries, *, seen: Entries, former: str = ""
    ) -> Object | None:
        """Have some entries in an object's data, or none of a key."""
        self._api.fault("set entries")
        fields = dict(flatten(dict(head)))
        key = self._key(kind_of(head), fields)
        where = f"{self.name}: {where_of(key)}"
        old = self._api.records.get(key)
        wanted: dict[Path, str | None] = {("data", each): values[each] for each in values}
        if old is None:
            made = {path: value for path, value in wanted.items() if value is not None}
            if not made:
                return None
            if any(seen.get(str(path[1])) is not None for path in made):
                raise StaleError(f"{where}: it is there no more")
            mine = frozenset({*fields.keys() - IDENTITY, *made})
            new = self._api.made(key, {**fields, **made}, {self._manager: mine})
        else:
            labels = {each: fields[each] for each in fields if each[:2] == _LABELS}
            if any(old.fields.get(each) != labels[each] for each in labels):
                self._api.keep(key, self._api.changed(old, {**old.fields, **labels}, old.owners))
                raise StaleError(f"{where}: its labels were changed, and are put back: look again")
            there = {str(path[1]): old.fields.get(path) for path in wanted}
            check_entries(where, there, values, seen)
            new = self._with_entries(old, wanted, former)
        if old is None or not _same(old, new):
            self._api.keep(key, new)
        self._api.fault("entries set")
        return self._object(key, self._api.records[key])

    def _with_entries(
        self, old: StoredObject, wanted: Mapping[Path, str | None], former: str
    ) -> StoredObject:
        """An object after entries were set: what differs is ours, and what some had applied."""
        fields = {path: value for path, value in old.fields.items() if path not in wanted}
        fields |= {path: value for path, value in wanted.items() if value is not None}
        differs = {path for path in wanted if old.fields.get(path) != wanted[path]}
        mine = old.owners.get(self._manager, frozenset()) | differs
        owners: dict[str, frozenset[Path]] = {}
        for manager, owned in old.owners.items():
            if former and manager.startswith(former):
                mine |= owned
            elif manager != self._manager:
                owners |= {manager: owned - differs} if owned - differs else {}
        mine = frozenset(each for each in mine if each in fields)
        return self._api.changed(old, fields, {**owners, **({self._manager: mine} if mine else {})})

    async def write_status(self, found: Object, status: Document) -> Object:
        """Set fields of the status."""
        self._api.fault("status")
        key = (found.kind, found.namespace, found.name)
        record = self._api.records.get(key)
        if record is None or record.uid != found.uid:
            raise StaleError(f"{self.name}: {found.where}: it is there no more")
        self._api.put_status(key, {**part_of(record, "status"), **status})
        return self._object(key, self._api.records[key])

    async def delete(self, found: Object, *, dry_run: bool = False) -> bool:
        """Delete what is ours and as it was read; its status may have changed."""
        self._api.fault("delete")
        key = (found.kind, found.namespace, found.name)
        record = self._api.records.get(key)
        if not found.ours:
            raise StaleError(f"{self.name}: {found.where}: not applied by Tidegate, so unchanged")
        if record is None:
            return False
        if record.uid != found.uid or not _alike(self._object(key, record), found):
            raise StaleError(f"{self.name}: {found.where}: changed after it was read")
        if not dry_run:
            self._api.remove(key)
        return True

    async def end(self, pod: Object) -> bool:
        """Delete this very pod."""
        self._api.fault("end")
        key = (pod.kind, pod.namespace, pod.name)
        record = self._api.records.get(key)
        if record is None or record.uid != pod.uid:
            return False
        self._api.remove(key)
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
        new = self._api.changed(record, record.fields, owners)
        self._api.keep(key, new)
        return self._object(key, new)

    async def watch(
        self, namespace: str, kind: ResourceKind, after: str, selector: str = ""
    ) -> AsyncGenerator[WatchEvent, None]:
        """What happens after a reading, in order."""
        chosen = chooser(selector)
        async for key, change, record in self._api.happened(int(after)):
            if key[0] == kind and namespace in ("", key[1]):
                found = self._object(key, record)
                if chosen(found.document):
                    yield WatchEvent(change, found)

    async def fetch(self, pod: Object, port: int, path: str) -> str:
        """What runs in a pod answers."""
        self._api.fault("fetch")
        try:
            return self._insides().answer(pod.namespace, pod.name, port, path)
        except OutsideError as error:
            raise OutsideError(f"{self.name}: {pod.where}: port {port}: {error}") from None

    async def logs(
        self,
        namespace: str,
        pod: str,
        container: str = "",
        *,
        follow: bool = False,
        tail: int | None = None,
    ) -> AsyncGenerator[str, None]:
        """What runs in a pod wrote."""
        self._api.fault("logs")
        try:
            written = self._insides().lines(namespace, pod, container, follow=follow, tail=tail)
            async with aclosing(written) as lines:
                async for line in lines:
                    yield line.text
        except OutsideError as error:
            raise OutsideError(f"{self.name}: pod/{namespace}/{pod}: {error}") from None

    async def close(self) -> None:
        """Nothing is held open."""

    def _key(self, kind: ResourceKind, wanted: dict[Path, Any]) -> Key:
        namespace, name = (wanted.get(("metadata", x)) for x in ("namespace", "name"))
        if not namespace or not name:
            raise ObjectRefusedError(
                f"{kind.name}: metadata.namespace and metadata.name are needed"
            )
        if namespace not in self._api.namespaces:
            raise OutsideError(f'{self.name}: HTTP 404: namespaces "{namespace}" not found')
        return kind, str(namespace), str(name)

    def _conflicts(
        self, old: StoredObject | None, wanted: dict[Path, Any]
    ) -> tuple[FieldConflict, ...]:
        """Fields that another manager owns and that would get another value."""
        if old is None:
            return ()
        return tuple(
            FieldConflict(text_of(path), manager)
            for manager, owned in sorted(old.owners.items())
            if manager != self._manager
            for path, value in wanted.items()
            if path in owned and old.fields.get(path) != value
        )

    def _insides(self) -> PodContents:
        if self._api.insides is None:
            raise OutsideError("nothing runs in this cluster's pods")
        return self._api.insides

    def _merged(self, key: Key, old: StoredObject | None, wanted: dict[Path, Any]) -> StoredObject:
        """What is there after applying: our fields as wanted, the others' as they are."""
        mine = frozenset(wanted.keys() - IDENTITY - {_VERSION})
        kept = {path: value for path, value in wanted.items() if path != _VERSION}
        if old is None:
            return self._api.made(key, kept, {self._manager: mine})
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
        new = self._api.changed(old, fields, {**owners, self._manager: mine})
        _refuse_changes(f"{self.name}: {where_of(key)}", key[0], old, new)
        return new

    def _object(self, key: Key, record: StoredObject) -> Object:
        return Object(
            kind=key[0],
            namespace=key[1],
            name=key[2],
            uid=record.uid,
            version=str(record.version),
            ours=self._manager in record.owners,
            document=self._api.document(record),
        )


def _refuse_changes(where: str, kind: ResourceKind, old: StoredObject, new: StoredObject) -> None:
    for field in _FIXED.get(kind.name, ()):
        one, other = (
            {path: value for path, value in each.fields.items() if path[:2] == ("spec", field)}
            for each in (old, new)
        )
        if one != other:
            raise ObjectRefusedError(f"{where}: refused (422): spec.{field}: field is immutable")


def _alike(one: Object, other: Object) -> bool:
    """Whether nothing declared differs: status and bookkeeping move by themselves."""
    return one.ours == other.ours and _wishes(one.document) == _wishes(other.document)


def _wishes(document: Document) -> dict[str, Any]:
    wishes = {key: value for key, value in document.items() if key != "status"}
    kept = document["metadata"].items()
    return wishes | {"metadata": {key: value for key, value in kept if key not in _BOOKKEEPING}}


def chooser(selector: str) -> Callable[[Document], bool]:
    """Whether a label selector, as people write it, chooses a document."""
    if not selector:
        return lambda _: True
    chosen = read_selector(Reader(parse_selector(selector), "selector", Problems()))
    return lambda document: chosen.matches(document["metadata"].get("labels") or {})


def _same(one: StoredObject, other: StoredObject) -> bool:
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
