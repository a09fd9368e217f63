"""A cluster behind the port: reading in pages, server-side apply, deletion with preconditions."""

import asyncio
import copy
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, nullcontext
from typing import Any, Final

import msgspec

from tidegate.kubernetes.client.access import ClusterAccess
from tidegate.kubernetes.client.documents import (
    alike,
    is_ours,
    object_of,
    outcome_of,
    owned_fields,
    path_of,
    where_of,
)
from tidegate.kubernetes.client.entries import JSON_PATCH, EntryWriter
from tidegate.kubernetes.client.pods import PodLimits, PodReach, Pods
from tidegate.kubernetes.client.server import ApiServer, ServerLimits, Waiting
from tidegate.kubernetes.client.watch import Watching, watch
from tidegate.kubernetes.port import (
    MANAGER,
    Applied,
    ConflictError,
    Document,
    Entries,
    ExpiredError,
    FieldConflict,
    Object,
    ObjectPage,
    ObjectReading,
    ObjectRefusedError,
    ResourceKind,
    Take,
    WatchEvent,
    kind_of,
)
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.json_text import decode_json

# As large as is usual: the server keeps a page in memory, and so do we.
PAGE = 500
# A reading whose pages grew too old on the way is begun again; a namespace that is not read in so
# many goes is not read.
READINGS_MAX = 3
# How often an object that its controller writes to meanwhile is looked at again.
LOOKS_MAX = 10
APPLY: Final = "application/apply-patch+yaml"
_MERGE: Final = "application/merge-patch+json"


class KubernetesCluster:
    """One cluster, over HTTP."""

    def __init__(
        self,
        access: ClusterAccess,
        *,
        manager: str = MANAGER,
        limits: ServerLimits | None = None,
        watching: Watching | None = None,
        page: int = PAGE,
        reach: PodReach = PodReach.PROXY,
        asking: PodLimits | None = None,
        waiting: Waiting = nullcontext,
    ) -> None:
        self._server = ApiServer(access, limits, waiting)
        self._pods = Pods(self._server, reach, asking)
        self._manager = manager
        self._watching = watching or Watching()
        self._page = page

    @property
    def name(self) -> str:
        """What people call it: the context."""
        return self._server.name

    def under(self, manager: str) -> "KubernetesCluster":
        """The same under another manager's name; closed with the first."""
        other = copy.copy(self)
        other._manager = manager
        return other

    async def read(
        self, namespace: str, kinds: Sequence[ResourceKind], selector: str = ""
    ) -> ObjectReading:
        """All objects of some kinds; a kind that cannot be read is a gap."""
        lists = await asyncio.gather(
            *(self._list(namespace, kind, selector) for kind in kinds), return_exceptions=True
        )
        objects: list[Object] = []
        versions: dict[str, str] = {}
        failed: list[OutsideError | StaleError] = []
        for kind, found in zip(kinds, lists, strict=True):
            if isinstance(found, OutsideError | StaleError):
                failed.append(found)
            elif isinstance(found, BaseException):
                raise found
            else:
                versions[kind.name] = found[0]
                objects += found[1]
        if failed and not versions:
            raise OutsideError(str(failed[0])) if isinstance(failed[0], StaleError) else failed[0]
        return ObjectReading(tuple(objects), versions, tuple(map(str, failed)))

    async def pages(
        self, namespace: str, kind: ResourceKind, selector: str = ""
    ) -> AsyncGenerator[ObjectPage, None]:
        """All objects of one kind, page by page; there is always a first one."""
        params = {"limit": str(self._page)}
        if selector:
            params["labelSelector"] = selector
        path, where = path_of(kind, namespace), where_of(kind, namespace)
        while True:
            answer = await self._server.ask("GET", path, where, params=params)
            page = decode_json(answer.body)
            objects = (object_of(kind, item, self._manager) for item in page["items"] or ())
            yield ObjectPage(tuple(objects), page["metadata"]["resourceVersion"])
            token = page["metadata"].get("continue")
            if not token:
                return
            params["continue"] = token

    async def get(self, kind: ResourceKind, namespace: str, name: str) -> Object | None:
        """One object; None if there is none."""
        document = await self._get(kind, namespace, name)
        return None if document is None else object_of(kind, document, self._manager)

    async def apply(
        self,
        document: Document,
        *,
        before: Object | None = None,
        take: Take = Take.NOTHING,
        dry_run: bool = False,
        exact: bool = False,
    ) -> Applied:
        """Server-side apply; without force first, so that what is taken is known."""
        kind = kind_of(document)
        if before is not None:
            # Another object of the same name is refused by the server itself.
            document = _with(document, "uid", before.uid)
        first = before if exact else None
        try:
            if first is not None:
                return await self._apply_exactly(kind, document, first, dry_run)
            return await self._apply(kind, document, before, dry_run)
        except ConflictError as error:
            if take is Take.NOTHING:
                raise
            conflict = error
        return await self._overrule(kind, document, take, dry_run, conflict, first)

    async def _apply_exactly(
        self, kind: ResourceKind, document: Document, first: Object, dry_run: bool
    ) -> Applied:
        """Apply to an object that is as it was read, but for what its controller wrote."""
        found = first
        for _ in range(LOOKS_MAX):
            seen = _with(document, "resourceVersion", found.version)
            try:
                return await self._apply(kind, seen, found, dry_run)
            except ConflictError:
                raise
            except StaleError as error:
                stale = error
            again = await self.get(kind, *_names(document))
            if again is None or again.uid != first.uid or not alike(first, again):
                raise StaleError(f"{self.name}: {first.where}: changed after it was read")
            found = again
        raise stale

    async def set_entries(
        self, head: Document, values: Entries, *, seen: Entries, former: str = ""
    ) -> Object | None:
        """Entries of an object's data, by a patch that tests them first."""
        _names(head)
        return await EntryWriter(self._server, self._manager, head).set(values, seen, former)

    async def write_status(self, found: Object, status: Document) -> Object:
        """A merge patch of the status alone, of this very object."""
        body = {"metadata": {"uid": found.uid}, "status": status}
        answer = await self._server.ask(
            "PATCH",
            f"{path_of(found.kind, found.namespace, found.name)}/status",
            found.where,
            body=msgspec.json.encode(body),
            content_type=_MERGE,
            fine=frozenset({404}),
        )
        if answer.code == 404:
            raise StaleError(f"{self.name}: {found.where}: it is there no more")
        return object_of(found.kind, decode_json(answer.body), self._manager)

    async def delete(self, found: Object, *, dry_run: bool = False) -> bool:
        """Delete what is ours and as it was read; what its controller wrote meanwhile is no change.

        Its parts go too, after it.
        """
        where, first = found.where, found
        for _ in range(LOOKS_MAX):
            if not found.ours:
                raise StaleError(f"{self.name}: {where}: not applied by Tidegate, so unchanged")
            options: dict[str, Any] = {
                "preconditions": {"uid": found.uid, "resourceVersion": found.version},
                "propagationPolicy": "Background",
            }
            if dry_run:
                options["dryRun"] = ["All"]
            path = path_of(found.kind, found.namespace, found.name)
            body = msgspec.json.encode(options)
            fine = frozenset({404, 409})
            answer = await self._server.ask("DELETE", path, where, body=body, fine=fine)
            if answer.code < 300:
                return True
            again = await self.get(found.kind, found.namespace, found.name)
            if again is None or again.document["metadata"].get("deletionTimestamp"):
                return False
            if again.uid != first.uid or not alike(first, again):
                raise StaleError(f"{self.name}: {where}: changed after it was read")
            found = again
        raise OutsideError(f"{self.name}: {where}: it changes faster than it can be deleted")

    async def end(self, pod: Object) -> bool:
        """Delete this very pod, and none that has its name by now."""
        body = msgspec.json.encode({"preconditions": {"uid": pod.uid}})
        path = path_of(pod.kind, pod.namespace, pod.name)
        fine = frozenset({404, 409})
        answer = await self._server.ask("DELETE", path, pod.where, body=body, fine=fine)
        return answer.code < 300

    async def release(self, found: Object) -> Object:
        """Take us out of the book of owners; nothing else is written."""
        for _ in range(LOOKS_MAX):
            try:
                return await self._release(found)
            except ObjectRefusedError as error:
                # Another client, its controller mostly, wrote to it in between.
                refused = error
        raise refused

    async def _release(self, found: Object) -> Object:
        document = await self._get(found.kind, found.namespace, found.name)
        if document is None or document["metadata"]["uid"] != found.uid:
            raise StaleError(f"{self.name}: {found.where}: it is there no more")
        owners = document["metadata"].get("managedFields") or []
        left = [each for each in owners if not is_ours(each, self._manager)]
        if len(left) == len(owners):
            return object_of(found.kind, document, self._manager)
        version = document["metadata"]["resourceVersion"]
        patch = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            # The server takes an empty list for "as it was"; one empty entry clears it.
            {"op": "replace", "path": "/metadata/managedFields", "value": left or [{}]},
        ]
        answer = await self._server.ask(
            "PATCH",
            path_of(found.kind, found.namespace, found.name),
            found.where,
            body=msgspec.json.encode(patch),
            content_type=JSON_PATCH,
        )
        return object_of(found.kind, decode_json(answer.body), self._manager)

    def watch(
        self, namespace: str, kind: ResourceKind, after: str, selector: str = ""
    ) -> AsyncGenerator[WatchEvent, None]:
        """What happens after a reading, in order."""
        return watch(self._server, self._watching, self._manager, namespace, kind, after, selector)

    async def fetch(self, pod: Object, port: int, path: str) -> str:
        """What a pod answers over HTTP, by the way chosen at the beginning."""
        return await self._pods.fetch(pod, port, path)

    def logs(
        self,
        namespace: str,
        pod: str,
        container: str = "",
        *,
        follow: bool = False,
        tail: int | None = None,
    ) -> AsyncGenerator[str, None]:
        """The lines of a pod's log."""
        return self._pods.logs(namespace, pod, container, follow, tail)

    async def close(self) -> None:
        """Close the connections."""
        await self._pods.close()
        await self._server.close()

    async def _list(
        self, namespace: str, kind: ResourceKind, selector: str
    ) -> tuple[str, list[Object]]:
        """All pages of one kind, from one moment; ExpiredError if it never ends."""
        for _ in range(READINGS_MAX):
            found: list[Object] = []
            try:
                async with aclosing(self.pages(namespace, kind, selector)) as pages:
                    async for page in pages:
                        found += page.objects
            except ExpiredError as error:
                expired = error
            else:
                return page.version, found
        raise expired

    async def _get(self, kind: ResourceKind, namespace: str, name: str) -> dict[str, Any] | None:
        path, where = path_of(kind, namespace, name), where_of(kind, namespace, name)
        answer = await self._server.ask("GET", path, where, fine=frozenset({404}))
        if answer.code == 404:
            return None
        document: dict[str, Any] = decode_json(answer.body)
        return document

    async def _overrule(
        self,
        kind: ResourceKind,
        document: Document,
        take: Take,
        dry_run: bool,
        conflict: ConflictError,
        first: Object | None = None,
    ) -> Applied:
        """Apply over other owners: what was looked at is what is overruled, or nothing is."""
        for _ in range(LOOKS_MAX):
            there = await self._get(kind, *_names(document))
            if there is None:
                raise StaleError(f"{conflict}; and it is there no more") from None
            mine = owned_fields(there, self._manager) if take is Take.SHARED else frozenset()
            found = object_of(kind, there, self._manager)
            alone = take is Take.SHARED and not {e.field for e in conflict.conflicts} <= mine
            if alone or (take is Take.BACK and not found.ours):
                raise conflict
            if not alike(first or found, found):
                raise conflict
            first = found
            seen = _with(document, "resourceVersion", found.version)
            try:
                return await self._apply(kind, seen, found, dry_run, conflict.conflicts)
            except StaleError as error:
                stale = error
        raise stale

    async def _apply(
        self,
        kind: ResourceKind,
        document: Document,
        before: Object | None,
        dry_run: bool,
        taken: tuple[FieldConflict, ...] = (),
    ) -> Applied:
        namespace, name = _names(document)
        params = {"fieldManager": self._manager, "fieldValidation": "Strict"}
        if taken:
            params["force"] = "true"
        if dry_run:
            params["dryRun"] = "All"
        answer = await self._server.ask(
            "PATCH",
            path_of(kind, namespace, name),
            where_of(kind, namespace, name),
            params=params,
            body=msgspec.json.encode(document),
            content_type=APPLY,
        )
        after = object_of(kind, decode_json(answer.body), self._manager)
        return Applied(outcome_of(answer.code == 201, before, after), after, taken)


def _names(document: Document) -> tuple[str, str]:
    metadata: Mapping[str, Any] = document.get("metadata") or {}
    namespace, name = str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
    if not namespace or not name:
        raise ObjectRefusedError(
            f"{document.get('kind')}: metadata.namespace and metadata.name are needed"
        )
    return namespace, name


def _with(document: Document, field: str, value: str) -> Document:
    return {**document, "metadata": {**document["metadata"], field: value}}
