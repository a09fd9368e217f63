"""A simulated OpenShift Cluster Manager in the same process, without HTTP: for virtual time.

It keeps the contract of the port, and asks the state what the client asks the server; a call that
meets a fault fails once, with or without having been carried out, and the caller tries again.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from tidegate.kinds.upgrades.core import requests
from tidegate.kinds.upgrades.core.world import GONE
from tidegate.kinds.upgrades.ocm.documents import (
    Account,
    Addon,
    AddonPlan,
    GateAgreement,
    InstalledAddon,
    Label,
    LogEntry,
    NodePool,
    OcmCluster,
    OcmPolicy,
    OcmPolicyState,
    Organization,
    ServiceLog,
    Subscription,
    Version,
    VersionGate,
    kind_name,
    owner_in,
)
from tidegate.kinds.upgrades.ocm.port import (
    LabelOwner,
    LabelType,
    OcmList,
    OcmRefusedError,
    UnreadableDocument,
    Upgradable,
)
from tidegate.kinds.upgrades.ocm.search import at_least, both, equals, none_of, one_of, starts
from tidegate.kinds.upgrades.ocm.simulated.answers import OcmCall
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw, OcmFault, OcmFaults
from tidegate.kinds.upgrades.ocm.simulated.requests import answer
from tidegate.kinds.upgrades.ocm.simulated.state import (
    ACCOUNTS,
    ADDONS,
    ALL_CLUSTERS,
    GATES,
    LABELS,
    LOGS,
    ORGANIZATIONS,
    SUBSCRIPTIONS,
    VERSIONS,
    OcmState,
)
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError
from tidegate.model.json_text import decode_json
from tidegate.model.time import SECOND, Instant, format_instant

T = TypeVar("T")

# More than any list holds: long answers cost nothing here.
_ALL = str(10**9)
_OWNERS = {LabelType.SUBSCRIPTION: SUBSCRIPTIONS, LabelType.ORGANIZATION: ORGANIZATIONS}
_IN_THE_WAY = (400, 409)


class SimulatedClusters:
    """One environment, as a state and a clock."""

    def __init__(
        self, state: OcmState, clock: Clock, luck: FaultDraw | None = None, org: str = ""
    ) -> None:
        self.state = state
        self.luck = luck or FaultDraw(OcmFaults())
        self._clock = clock
        # The organisation whose data is visible; empty: all.
        self._org = org
        self._counts: Counter[str] = Counter()

    async def labels(
        self,
        prefix: str,
        type_: LabelType | None = None,
        organizations: Iterable[str] = (),
        subscription: str = "",
    ) -> OcmList[Label]:
        """Labels whose keys begin with a text, of all, of some organisations or a subscription."""
        several = tuple(organizations)
        of = one_of("organization_id", several) if several else ""
        kind = equals("type", type_.value) if type_ else ""
        sub = equals("subscription_id", subscription) if subscription else ""
        return await self._list(LABELS, Label, both(starts("key", prefix), kind, of, sub))

    async def subscriptions(
        self, ids: Iterable[str] = (), organizations: Iterable[str] = ()
    ) -> OcmList[Subscription]:
        """Managed subscriptions that are not gone: by their ids, and all of some organisations."""
        wanted = (("id", tuple(ids)), ("organization_id", tuple(organizations)))
        terms = [one_of(key, values) for key, values in wanted if values]
        if not terms:
            return OcmList()
        status = none_of("status", GONE)
        search = both(f"({' or '.join(terms)})", equals("managed", "true"), status)
        return await self._list(SUBSCRIPTIONS, Subscription, search)

    async def clusters(
        self, subscriptions: Iterable[str], *, ready: bool = False
    ) -> OcmList[OcmCluster]:
        """The managed clusters of subscriptions; only those that are ready, if asked for."""
        several = tuple(subscriptions)
        if not several:
            return OcmList()
        state = equals("state", "ready") if ready else ""
        products = one_of("product.id", ("osd", "rosa"))
        search = both(one_of("subscription.id", several), products, state)
        return await self._list(ALL_CLUSTERS, OcmCluster, search)

    async def cluster(self, cluster: str) -> OcmCluster | None:
        """One cluster, with the channels it may be put on; None: there is none."""
        status, document = await self._ask("GET", f"{ALL_CLUSTERS}/{cluster}")
        return None if status == 404 else self._read(status, document, OcmCluster)

    async def node_pools(self, cluster: str) -> OcmList[NodePool]:
        """The node pools of a cluster."""
        return await self._list(f"{ALL_CLUSTERS}/{cluster}/node_pools", NodePool)

    async def policies(self, of: Upgradable) -> OcmList[OcmPolicy]:
        """The upgrades that are to be, or under way, each with its state."""
        reading = await self._list(_policies(of), OcmPolicy)
        items = [
            msgspec.structs.replace(each, state=self._state_of(_policies(of), each.id))
            for each in reading.items
        ]
        return OcmList(tuple(items), reading.unreadable)

    async def gates(self) -> OcmList[VersionGate]:
        """All version gates."""
        return await self._list(GATES, VersionGate)

    async def agreements(self, cluster: str) -> OcmList[GateAgreement]:
        """What was agreed to for a cluster."""
        return await self._list(f"{ALL_CLUSTERS}/{cluster}/gate_agreements", GateAgreement)

    async def versions(self) -> OcmList[Version]:
        """All versions, with the end of their lives."""
        return await self._list(VERSIONS, Version)

    async def organizations(self, ids: Iterable[str]) -> OcmList[Organization]:
        """Organisations by their ids."""
        several = tuple(ids)
        if not several:
            return OcmList()
        return await self._list(ORGANIZATIONS, Organization, one_of("id", several))

    async def account(self) -> Account:
        """Who we are there."""
        return self._read(*await self._ask("GET", f"{ACCOUNTS}/current_account"), Account)

    async def addons(self) -> OcmList[Addon]:
        """All add-ons."""
        return await self._list(f"{ADDONS}/addons", Addon)

    async def installed_addons(self, cluster: str) -> OcmList[InstalledAddon]:
        """The add-ons of a cluster, whatever their state."""
        return await self._list(f"{ADDONS}/clusters/{cluster}/addons", InstalledAddon)

    async def addon_plans(self, cluster: str) -> OcmList[AddonPlan]:
        """The upgrades of a cluster's add-ons."""
        return await self._list(f"{ADDONS}/clusters/{cluster}/upgrade_plans", AddonPlan)

    async def create_policy(self, of: Upgradable, version: str, next_run: str) -> OcmPolicy:
        """Have it upgraded at a moment; the same again is the same policy."""
        request = requests.create_ocm_policy(
            of.cluster, version, next_run, hosted=of.hosted, pool=of.pool
        )
        same = {name: request.body[name] for name in ("version", "schedule_type", "next_run")}
        return await self._make(request, OcmPolicy, same)

    async def delete_policy(self, of: Upgradable, policy: str) -> None:
        """Call an upgrade off; one that is gone is gone."""
        await self._delete(f"{_policies(of)}/{policy}")

    async def create_addon_plan(
        self, cluster: str, addon: str, version: str, next_run: str
    ) -> AddonPlan:
        """Have an add-on upgraded; the same again is the same plan."""
        request = requests.create_addon_plan(cluster, addon, version, next_run)
        same = {name: request.body[name] for name in ("version", "addon_id", "type")}
        return await self._make(request, AddonPlan, same)

    async def delete_addon_plan(self, cluster: str, plan: str) -> None:
        """Call an upgrade of an add-on off; one that is gone is gone."""
        await self._delete(f"{ADDONS}/clusters/{cluster}/upgrade_plans/{plan}")

    async def agree(self, cluster: str, gate: str) -> GateAgreement:
        """Agree to a gate for a cluster; once."""
        request = requests.agree_to_gate(cluster, gate)
        return await self._make(request, GateAgreement, {"version_gate.id": gate})

    async def switch_channel(self, cluster: str, channel: str) -> OcmCluster:
        """Put a cluster on a channel."""
        method, path, body = requests.switch_channel(cluster, channel).write()
        return self._read(*await self._ask(method, path, body), OcmCluster)

    async def tell(self, entry: LogEntry, since: Instant) -> ServiceLog | None:
        """Write a service log, unless one of its texts was written since a moment; None: it was."""
        method, path, body = requests.post_service_log(
            entry.cluster_uuid,
            entry.summary,
            entry.description,
            entry.service_name,
            entry.severity,
        ).write()
        terms = [
            one_of(name, entry.texts if name == "description" else (value,))
            for name, value in body.items()
        ]
        search = both(at_least("created_at", format_instant(since)), *terms)
        there = await self._list(f"{LOGS}/clusters/cluster_logs", ServiceLog, search)
        if there.items:
            return None
        return self._read(*await self._ask(method, path, body), ServiceLog)

    async def set_label(self, owner: LabelOwner, key: str, value: str) -> Label:
        """Make a label what it should be."""
        path = f"{_OWNERS[owner.type]}/{owner.id}/labels"
        body = requests.label_body(key, value)
        status, document = await self._ask("PATCH", f"{path}/{key}", body)
        if status == 404:
            status, document = await self._ask("POST", path, body)
        return self._read(status, document, Label)

    async def delete_label(self, owner: LabelOwner, key: str) -> None:
        """Take a label away; one that is gone is gone."""
        await self._delete(f"{_OWNERS[owner.type]}/{owner.id}/labels/{key}")

    def calls(self) -> Mapping[str, int]:
        """How many requests were made so far, by method."""
        return dict(self._counts)

    async def close(self) -> None:
        """Nothing is open."""

    async def _make(
        self, request: requests.OcmRequest, kind: type[T], same: Mapping[str, str]
    ) -> T:
        """What a request makes; what is in the way may be the same already."""
        method, path, body = request.write()
        status, document = await self._ask(method, path, body)
        if status in _IN_THE_WAY:
            search = both(*(equals(name, value) for name, value in same.items()))
            there = await self._list(path, kind, search)
            if there.items:
                return there.items[0]
        return self._read(status, document, kind)

    async def _delete(self, path: str) -> None:
        status, document = await self._ask("DELETE", path)
        if status not in (204, 404):
            raise _refused(status, document)

    async def _list(self, path: str, kind: type[T], search: str = "") -> OcmList[T]:
        query = {"search": search, "order": "id", "size": _ALL}
        status, document = await self._ask("GET", path, query=query)
        if status != 200:
            raise _refused(status, document)
        items: list[T] = []
        excluded: list[UnreadableDocument] = []
        for each in document["items"]:
            try:
                items.append(msgspec.convert(each, kind))
            except msgspec.ValidationError as error:
                ident, of = str(each.get("id", "")), owner_in(each)
                excluded.append(UnreadableDocument(kind_name(kind), ident, str(error), of))
        return OcmList(tuple(items), tuple(excluded))

    async def _ask(
        self, method: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        self._counts[method] += 1
        fault = self.luck.draw(self._clock.now() / SECOND)
        await asyncio.sleep(self.luck.troubles.latency_s)
        if fault not in (None, OcmFault.LOST):
            raise OutsideError(f"simulated: {method} {path}: {fault.value}")
        request = OcmCall(method, path, query or {}, body, self._org)
        found = answer(self.state, request, self._clock.now())
        if fault is OcmFault.LOST:
            raise OutsideError(f"simulated: {method} {path}: the answer is lost")
        return found.status, decode_json(found.body) if found.body else None

    def _read(self, status: int, document: Any, kind: type[T]) -> T:
        if status >= 300:
            raise _refused(status, document)
        try:
            return msgspec.convert(document, kind)
        except msgspec.ValidationError as error:
            raise OutsideError(f"simulated: an odd {kind_name(kind)}: {error}") from None

    def _state_of(self, path: str, policy: str) -> OcmPolicyState | None:
        """How far an upgrade is, without another call."""
        document = self.state.collections[path].get(policy)
        return None if document is None else msgspec.convert(document["state"], OcmPolicyState)


def _policies(of: Upgradable) -> str:
    return "/" + "/".join(requests.ocm_policies(of.cluster, hosted=of.hosted, pool=of.pool))


def _refused(status: int, document: Any) -> OcmRefusedError:
    reason = str(document.get("reason", ""))
    return OcmRefusedError(f"HTTP {status}: {reason}", status, document.get("code", ""), reason)
