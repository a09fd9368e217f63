"""What an API server does with objects, for one simulated cluster: list, get, apply, delete, …"""

import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import msgspec

from tidegate.kubernetes.port import KINDS, ApplyOutcome, Object, ResourceKind, Take
from tidegate.kubernetes.simulated.api import Key, SimulatedApi, StoredObject
from tidegate.kubernetes.simulated.cluster import IDENTITY, SimulatedCluster, chooser
from tidegate.kubernetes.simulated.fields import flatten
from tidegate.kubernetes.simulated.server.book import managed_fields, read_book
from tidegate.kubernetes.simulated.server.patches import patched
from tidegate.kubernetes.simulated.server.refusals import RefusalError, refusal_of
from tidegate.kubernetes.simulated.shapes import check_shape
from tidegate.model.errors import TidegateError
from tidegate.model.json_text import decode_json

LEASE = ResourceKind("coordination.k8s.io/v1", "Lease", "leases")
PLURALS: Mapping[tuple[str, str], ResourceKind] = {
    (kind.api_version, kind.plural): kind for kind in (*KINDS.values(), LEASE)
}
# Lists that are read page by page at once; an older one has to be begun again.
_LISTS_MAX = 100
# What a server writes by itself.
_COUNTED = ("uid", "resourceVersion", "generation", "creationTimestamp")

Query = Mapping[str, str]
Json = dict[str, Any]


class Resources:
    """The objects of one cluster, as requests see them."""

    def __init__(self, api: SimulatedApi) -> None:
        self._api = api
        # What is left of lists, by the word under which to go on.
        self._lists: OrderedDict[str, tuple[int, list[Json]]] = OrderedDict()

    def shown(self, key: Key, record: StoredObject) -> Json:
        """An object with its book of owners."""
        document = self._api.document(record)
        document["metadata"]["managedFields"] = managed_fields(key, record)
        return document

    def get(self, key: Key) -> Json:
        """One object."""
        return self.shown(key, self._there(key))

    def list(self, kind: ResourceKind, namespace: str, query: Query) -> Json:
        """A page of the objects of a kind, all pages from one moment."""
        token = query.get("continue", "")
        if token:
            if token not in self._lists or self._lists[token][0] < self._api.oldest:
                raise RefusalError(
                    410, "The provided continue parameter is too old", reason="Expired"
                )
            version, items = self._lists.pop(token)
        else:
            chosen, version = chooser(query.get("labelSelector", "")), self._api.version
            every = (self.shown(*each) for each in self._api.listed(kind, namespace))
            items = [each for each in every if chosen(each)]
        limit = int(query.get("limit") or 0) or len(items)
        metadata: Json = {"resourceVersion": str(version)}
        if items[limit:]:
            metadata |= {"continue": secrets.token_hex(8), "remainingItemCount": len(items) - limit}
            self._lists[metadata["continue"]] = version, items[limit:]
            while len(self._lists) > _LISTS_MAX:
                self._lists.popitem(last=False)
        return {
            "kind": f"{kind.name}List",
            "apiVersion": kind.api_version,
            "metadata": metadata,
            "items": items[:limit],
        }

    async def apply(self, key: Key, query: Query, document: Json) -> tuple[int, Json]:
        """Server-side apply: the code, and the object after it."""
        manager = query.get("fieldManager", "")
        if not manager:
            raise RefusalError(422, "PatchOptions.meta.k8s.io: fieldManager: Required value")
        metadata = {"namespace": key[1], "name": key[2], **_metadata(document)}
        if (metadata["namespace"], metadata["name"]) != key[1:]:
            raise RefusalError(400, "the name of the object does not match the name on the URL")
        if (document.get("apiVersion"), document.get("kind")) != (key[0].api_version, key[0].name):
            raise RefusalError(400, "the kind of the object does not match the kind on the URL")
        self._check_seen(key, metadata.pop("uid", ""), metadata.pop("resourceVersion", ""))
        take = Take.OVER if query.get("force") == "true" else Take.NOTHING
        applied = await SimulatedCluster(self._api, manager).apply(
            {**document, "metadata": metadata}, take=take, dry_run=_is_dry(query)
        )
        code = 201 if applied.outcome is ApplyOutcome.CREATED else 200
        record = self._api.records.get(key)
        if not _is_dry(query) and record is not None:
            return code, self.shown(key, record)
        return code, _with_owner(applied.object, manager)

    async def write_status(self, key: Key, document: Json) -> Json:
        """A merge patch of the status; a uid in it is that of the object it is meant for."""
        record = self._there(key)
        if _metadata(document).get("uid") not in (None, record.uid):
            raise RefusalError(409, "Precondition failed: UID in precondition")
        cluster = SimulatedCluster(self._api)
        found = await cluster.get(*key)
        if found is not None:
            await cluster.write_status(found, document.get("status") or {})
        return self.shown(key, self._there(key))

    def delete(self, key: Key, query: Query, options: Json) -> Json:
        """Delete an object, if it is the one that was seen."""
        record = self._there(key)
        wanted = options.get("preconditions") or {}
        if wanted.get("uid") not in (None, record.uid):
            raise RefusalError(409, f"Precondition failed: UID in precondition: {wanted['uid']}")
        if wanted.get("resourceVersion") not in (None, str(record.version)):
            stated = f"ResourceVersion in precondition: {wanted['resourceVersion']}"
            raise RefusalError(409, f"Precondition failed: {stated}")
        if not _is_dry(query) and "All" not in (options.get("dryRun") or ()):
            self._api.remove(key)
        details = {"name": key[2], "kind": key[0].plural, "uid": record.uid}
        return {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": details}

    def patch(self, key: Key, query: Query, patch: Sequence[Json]) -> Json:
        """A JSON patch: what it changes is the manager's from then on."""
        record = self._there(key)
        new = patched(self.shown(key, record), patch)
        metadata = new["metadata"]
        owners = dict(read_book(metadata.pop("managedFields", None)))
        for counted in _COUNTED:
            metadata.pop(counted, None)
        check_shape(key[2], key[0], new)
        fields = dict(flatten(new))
        same = {path for path, value in fields.items() if record.fields.get(path) == value}
        changed = frozenset(fields.keys() - same)
        left = {who: frozenset(what & same) for who, what in owners.items()}
        manager = query.get("fieldManager", "")
        if manager and changed:
            left[manager] = left.get(manager, frozenset()) | changed
        left = {who: what for who, what in left.items() if what}
        if fields != record.fields or left != record.owners:
            record = self._api.changed(record, fields, left)
            self._api.keep(key, record)
        return self.shown(key, record)

    def write(self, key: Key, document: Json, *, new: bool, manager: str = "") -> Json:
        """Create an object, which may be a manager's, or replace the one that was seen."""
        old = self._api.records.get(key)
        if new and old is not None:
            stated = f'{key[0].plural} "{key[2]}" already exists'
            raise RefusalError(409, stated, reason="AlreadyExists")
        if key[1] not in self._api.namespaces:
            raise RefusalError(404, f'namespaces "{key[1]}" not found')
        metadata = {**_metadata(document), "namespace": key[1], "name": key[2]}
        version = metadata.pop("resourceVersion", "")
        for bookkeeping in ("managedFields", *_COUNTED):
            metadata.pop(bookkeeping, None)
        if not new and version not in ("", str(self._there(key).version)):
            raise RefusalError(409, "the object has been modified")
        document = {**document, "metadata": metadata}
        check_shape(key[2], key[0], document)
        fields = dict(flatten(document))
        if old is None:
            mine = frozenset(fields.keys() - IDENTITY)
            record = self._api.made(key, fields, {manager: mine} if manager else {})
        else:
            record = self._api.changed(old, fields, old.owners)
        self._api.keep(key, record)
        return self.shown(key, record)

    def _there(self, key: Key) -> StoredObject:
        record = self._api.records.get(key)
        if record is None:
            raise RefusalError(404, f'{key[0].plural} "{key[2]}" not found')
        return record

    def _check_seen(self, key: Key, uid: str, version: str) -> None:
        """Whether the object is the one, and as it was, that the caller saw."""
        old = self._api.records.get(key)
        if uid and old is None:
            stated = f"uid mismatch: the provided object specified uid {uid}"
            raise RefusalError(409, f"{stated}, and no existing object was found")
        if uid and old is not None and old.uid != uid:
            cause = {
                "reason": "FieldValueInvalid",
                "message": f'Invalid value: "{uid}": field is immutable',
                "field": "metadata.uid",
            }
            raise RefusalError(422, "metadata.uid: field is immutable", [cause])
        if version and (old is None or str(old.version) != version):
            raise RefusalError(409, "the object has been modified; please apply your changes to it")


def decoded(body: bytes) -> Json:
    """A document in a request: JSON, which is YAML too."""
    try:
        return decode_json(body, Json) if body else {}
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise RefusalError(
            400, "the body is no JSON object, which is all a simulated server reads"
        ) from None


def named(document: Json) -> str:
    """The name of what is to be made."""
    name = _metadata(document).get("name")
    if not name or not isinstance(name, str):
        raise RefusalError(422, "metadata.name: Required value")
    return name


def operations(body: bytes) -> list[Json]:
    """A patch in a request: a list of operations."""
    try:
        return decode_json(body, list[Json])
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise RefusalError(400, "the body is no list of operations") from None


def refused(error: TidegateError, kind: ResourceKind | None) -> RefusalError:
    """What is said where our cluster raised."""
    return refusal_of(error, kind.api_version if kind is not None else "v1")


def _metadata(document: Json) -> Json:
    found = document.get("metadata") or {}
    if not isinstance(found, dict):
        raise RefusalError(400, "metadata is no object")
    return found


def _is_dry(query: Query) -> bool:
    return query.get("dryRun") == "All"


def _with_owner(found: Object, manager: str) -> Json:
    """An object that a dry run would have made."""
    document = deepcopy(dict(found.document))
    document["metadata"]["managedFields"] = [{"manager": manager, "operation": "Apply"}]
    return document
