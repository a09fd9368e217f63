"""Entries of an object that many write to: set as they were seen, and no others are touched.

A JSON patch that tests these entries first. A version would not do: of a hundred that write to one
object at once, ninety-nine would be refused for what others wrote. Nor would server-side apply: a
manager for each entry costs the server the square of their number.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from tidegate.kubernetes.client.answers import error_of, read_status
from tidegate.kubernetes.client.documents import object_of, path_of, where_of
from tidegate.kubernetes.client.server import JSON, ApiServer, ServerAnswer
from tidegate.kubernetes.port import Document, Entries, Object, check_entries, kind_of
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.json_text import decode_json

JSON_PATCH: Final = "application/json-patch+json"
# How often an object that others make, delete or write to meanwhile is looked at again.
LOOKS_MAX = 5

_Tree = dict[str, Any]


class EntryWriter:
    """Sets entries of one object, under one manager."""

    def __init__(self, server: ApiServer, manager: str, head: Document) -> None:
        self._server = server
        self._manager = manager
        self._head = head
        self._kind = kind_of(head)
        namespace, name = (str(head["metadata"][each]) for each in ("namespace", "name"))
        self._home = path_of(self._kind, namespace)
        self._path = path_of(self._kind, namespace, name)
        self._where = where_of(self._kind, namespace, name)

    async def set(self, values: Entries, seen: Entries, former: str) -> Object | None:
        """As `Cluster.set_entries`."""
        answer = await self._set(values, seen)
        if answer is None:
            return None
        document: _Tree = decode_json(answer.body)
        if former and any(_is_of(each, former) for each in _owners(document)):
            document = await self._take_over(document, former)
        return object_of(self._kind, document, self._manager)

    async def _set(self, values: Entries, seen: Entries) -> ServerAnswer | None:
        """The object after it, as the server sent it; None: there is none."""
        patch = _tested(values, seen)
        for _ in range(LOOKS_MAX):
            refusal = await self._patch(patch)
            if refusal.code < 300:
                return refusal
            found = await self._ask("GET", self._path, fine=frozenset({404}))
            if found.code == 404:
                made = await self._make(values, seen)
                if made is None or made.code < 300:
                    return made
                continue
            document: _Tree = decode_json(found.body)
            await self._check_labels(document)
            data: dict[str, str] = document.get("data") or {}
            if all((data.get(key) or None) == value for key, value in values.items()):
                return found
            check_entries(self._at, data, values, seen)
            # Made meanwhile, or one of them is as wanted: others may write theirs beside them.
            patch = _tested(values, data)
            if not data:
                # There is nothing yet to add an entry to.
                kept = {key: value for key, value in values.items() if value is not None}
                patch = [_as_read(document), _step("add", "/data", kept)]
        raise error_of(self._at, refusal.code, read_status(refusal.body))

    async def _make(self, values: Entries, seen: Entries) -> ServerAnswer | None:
        """Create the object; None: it need not be there. 409: others were faster."""
        data = {key: value for key, value in values.items() if value is not None}
        if not data:
            return None
        if any(seen.get(key) is not None for key in data):
            raise StaleError(f"{self._at}: it is there no more")
        body = msgspec.json.encode({**self._head, "data": data})
        params = {"fieldManager": self._manager}
        return await self._ask("POST", self._home, body, params, fine=frozenset({409}))

    async def _check_labels(self, document: _Tree) -> None:
        """Put labels back that others took: without them, the caller could not see the object."""
        labels = document["metadata"].get("labels") or {}
        wanted = self._head["metadata"].get("labels") or {}
        if all(labels.get(each) == wanted[each] for each in wanted):
            return
        patch = [_as_read(document), _step("add", "/metadata/labels", {**labels, **wanted})]
        await self._patch(patch)
        raise StaleError(f"{self._at}: its labels were changed, and are put back: look again")

    async def _take_over(self, document: _Tree, former: str) -> _Tree:
        """Have what others applied entered as ours, in one entry of the book of owners."""
        for _ in range(LOOKS_MAX):
            owners = _owners(document)
            theirs = [each for each in owners if _is_of(each, former)]
            mine = [each for each in owners if _is_by(each, self._manager)]
            if not theirs:
                return document
            fields: _Tree = {}
            for each in (*mine, *theirs):
                _add_fields(fields, each.get("fieldsV1") or {})
            # Without a subresource: what is applied is the object itself.
            entry = {**(mine or theirs)[0], "manager": self._manager, "operation": "Update"}
            kept = [each for each in owners if each not in mine and each not in theirs]
            patch = [
                _as_read(document),
                _step("replace", "/metadata/managedFields", [*kept, {**entry, "fieldsV1": fields}]),
            ]
            answer = await self._patch(patch)
            if answer.code >= 300:
                answer = await self._ask("GET", self._path)
            document = decode_json(answer.body)
        raise OutsideError(f"{self._at}: it changes faster than it can be taken over")

    @property
    def _at(self) -> str:
        return f"{self._server.name}: {self._where}"

    async def _patch(self, patch: Sequence[Mapping[str, Any]]) -> ServerAnswer:
        body, params = msgspec.json.encode(patch), {"fieldManager": self._manager}
        fine = frozenset({404, 409, 422})
        return await self._ask("PATCH", self._path, body, params, fine=fine)

    async def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        params: Mapping[str, str] | None = None,
        *,
        fine: frozenset[int] = frozenset(),
    ) -> ServerAnswer:
        form = JSON_PATCH if method == "PATCH" else JSON
        return await self._server.ask(
            method, path, self._where, params=params, body=body, content_type=form, fine=fine
        )


def _tested(values: Entries, there: Entries) -> list[_Tree]:
    """A patch that sets entries if all of them are as they are now."""
    paths = {key: f"/data/{key.replace('~', '~0').replace('/', '~1')}" for key in values}
    tests = [_step("test", paths[key], there.get(key)) for key in values]
    changes = [
        _step("add", paths[key], value) if value is not None else _step("remove", paths[key])
        for key, value in values.items()
        if value is not None or there.get(key) is not None
    ]
    return [*tests, *changes]


def _step(op: str, path: str, value: Any = None) -> _Tree:
    """One step of a patch."""
    return {"op": op, "path": path, **({} if op == "remove" else {"value": value})}


def _as_read(document: _Tree) -> _Tree:
    """A test that nothing was written since."""
    return _step("test", "/metadata/resourceVersion", document["metadata"]["resourceVersion"])


def _owners(document: _Tree) -> list[_Tree]:
    return document["metadata"].get("managedFields") or []


def _is_of(owner: Mapping[str, Any], former: str) -> bool:
    applied = owner.get("operation") == "Apply" and not owner.get("subresource")
    return applied and str(owner.get("manager")).startswith(former)


def _is_by(owner: Mapping[str, Any], manager: str) -> bool:
    updated = owner.get("operation") == "Update" and not owner.get("subresource")
    return updated and owner.get("manager") == manager


def _add_fields(into: _Tree, more: Mapping[str, Any]) -> None:
    for step, inner in more.items():
        _add_fields(into.setdefault(step, {}), inner)
