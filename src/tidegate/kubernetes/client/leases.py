"""Leadership by Kubernetes Leases: one holder at a time, whatever the clocks of the others say.

As Kubernetes' own components do it. A record that did not change for a whole term, *by the clock of
the reader*, is free: no two clocks are compared, if only they run equally fast. A
write names the version it replaces, so of two who take it one gets a 409.

Worked numbers: term 15 s. w1 holds the lease and dies. w2 sees the record first at 10:00:03 and may
take it at 10:00:18, even if it says 09:00.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from tidegate.journal.lease import Lease
from tidegate.kubernetes.client.access import ClusterAccess
from tidegate.kubernetes.client.documents import path_of, where_of
from tidegate.kubernetes.client.server import ApiServer, ServerLimits
from tidegate.kubernetes.port import ResourceKind
from tidegate.model.json_text import decode_json
from tidegate.model.time import SECOND, Duration, Instant, after

LEASE = ResourceKind("coordination.k8s.io/v1", "Lease", "leases")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Seen(msgspec.Struct, frozen=True):
    """A record as it was first seen, and when."""

    version: str
    seen_at: Instant


class KubernetesLeases:
    """Leases in one namespace of one cluster, for one process."""

    def __init__(
        self, access: ClusterAccess, namespace: str, limits: ServerLimits | None = None
    ) -> None:
        self._server = ApiServer(access, limits)
        self._namespace = namespace
        self._seen: dict[str, _Seen] = {}
        self._held: dict[str, Lease] = {}

    async def lease(self, name: str, holder: str, now: Instant, term: Duration) -> Lease | None:
        """Take or renew a lease; None if another holds it."""
        record = await self._get(name)
        if record is None:
            return await self._write(name, None, Lease(name, holder, 1, after(now, term)), now)
        spec, version = record["spec"], record["metadata"]["resourceVersion"]
        token = int(spec.get("leaseTransitions") or 0) + 1
        held = self._held.get(name)
        mine = held is not None and (held.holder, held.token) == (holder, token)
        if spec.get("holderIdentity") == holder and mine and held is not None and now < held.until:
            return await self._write(
                name, record, Lease(name, holder, token, after(now, term)), now
            )
        if spec.get("holderIdentity") and not self._expired(name, version, spec, now):
            return None
        return await self._write(
            name, record, Lease(name, holder, token + 1, after(now, term)), now
        )

    async def release(self, lease: Lease) -> None:
        """Give a lease back, so that others need not wait for its end; the token stays used."""
        held = self._held.pop(lease.partition, None)
        record = await self._get(lease.partition)
        if record is None or held is None:
            return
        spec = record["spec"]
        mine = spec.get("holderIdentity") == lease.holder
        if mine and int(spec.get("leaseTransitions") or 0) + 1 == lease.token:
            record["spec"] = {**spec, "holderIdentity": ""}
            await self._put(lease.partition, record)

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()

    def _expired(self, name: str, version: str, spec: dict[str, Any], now: Instant) -> bool:
        """Whether the record did not change for the term its holder wrote into it."""
        seen = self._seen.get(name)
        if seen is None or seen.version != version:
            self._seen[name] = _Seen(version, now)
            return False
        held = self._held.get(name)
        if held is not None and held.token == int(spec.get("leaseTransitions") or 0) + 1:
            return now >= held.until
        return now >= seen.seen_at + int(spec.get("leaseDurationSeconds") or 0) * SECOND

    async def _write(
        self, name: str, record: dict[str, Any] | None, wanted: Lease, now: Instant
    ) -> Lease | None:
        """Write a record over the one that was read; None if another was faster."""
        spec = dict(record["spec"]) if record is not None else {}
        fresh = spec.get("holderIdentity") != wanted.holder or wanted.token != (
            int(spec.get("leaseTransitions") or 0) + 1
        )
        spec |= {
            "holderIdentity": wanted.holder,
            "leaseDurationSeconds": max(1, -((now - wanted.until) // SECOND)),
            "renewTime": _micro_time(now),
            "leaseTransitions": wanted.token - 1,
        }
        if fresh:
            spec["acquireTime"] = spec["renewTime"]
        document = dict(record) if record is not None else _new(self._namespace, name)
        document["spec"] = spec
        written = await (
            self._post(name, document) if record is None else self._put(name, document)
        )
        if written is None:
            return None
        self._held[name] = wanted
        self._seen[name] = _Seen(written["metadata"]["resourceVersion"], now)
        return wanted

    async def _get(self, name: str) -> dict[str, Any] | None:
        return await self._ask("GET", name, None, frozenset({404}))

    async def _put(self, name: str, document: dict[str, Any]) -> dict[str, Any] | None:
        return await self._ask("PUT", name, document, frozenset({404, 409}))

    async def _post(self, name: str, document: dict[str, Any]) -> dict[str, Any] | None:
        return await self._ask("POST", name, document, frozenset({409}))

    async def _ask(
        self, method: str, name: str, document: dict[str, Any] | None, fine: frozenset[int]
    ) -> dict[str, Any] | None:
        """What the server answers; None where it says that the caller's picture is old."""
        path = path_of(LEASE, self._namespace, "" if method == "POST" else name)
        answer = await self._server.ask(
            method,
            path,
            where_of(LEASE, self._namespace, name),
            body=None if document is None else msgspec.json.encode(document),
            again=method == "GET",
            fine=fine,
        )
        if answer.code >= 300:
            return None
        found: dict[str, Any] = decode_json(answer.body)
        return found


def _new(namespace: str, name: str) -> dict[str, Any]:
    return {
        "apiVersion": LEASE.api_version,
        "kind": LEASE.name,
        "metadata": {"namespace": namespace, "name": name},
    }


def _micro_time(now: Instant) -> str:
    moment = _EPOCH + timedelta(microseconds=now // 1_000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
