"""What is read of OpenShift Cluster Manager: a method a list, few calls each."""

import asyncio
from collections.abc import Iterable, Mapping
from urllib.parse import quote

import msgspec

from tidegate.kinds.upgrades.core.requests import addon_plans, ocm_policies
from tidegate.kinds.upgrades.core.world import GONE
from tidegate.kinds.upgrades.ocm.client.http import OcmHttp, OcmLimits
from tidegate.kinds.upgrades.ocm.client.pages import joined, listed, listed_by
from tidegate.kinds.upgrades.ocm.client.token import Credentials
from tidegate.kinds.upgrades.ocm.documents import (
    Account,
    Addon,
    AddonPlan,
    GateAgreement,
    InstalledAddon,
    Label,
    NodePool,
    OcmCluster,
    OcmPolicy,
    OcmPolicyState,
    Organization,
    Subscription,
    Version,
    VersionGate,
)
from tidegate.kinds.upgrades.ocm.port import LabelType, OcmList, Upgradable
from tidegate.kinds.upgrades.ocm.search import both, equals, none_of, one_of, starts
from tidegate.model.errors import OutsideError

ACCOUNTS = "/api/accounts_mgmt/v1"
CLUSTERS = "/api/clusters_mgmt/v1"
LOGS = "/api/service_logs/v1"
ADDONS = "/api/addons_mgmt/v1"
# The products that are upgraded.
_PRODUCTS = ("osd", "rosa")
# What clusters and accounts call the order of a list.
_ORDER, _ORDER_BY = "order", "orderBy"


class ReadingClient:
    """One environment of OpenShift Cluster Manager, to read."""

    def __init__(
        self, url: str, credentials: Credentials, limits: OcmLimits | None = None, addons: int = 2
    ) -> None:
        self.asking = OcmHttp(url, credentials, limits or OcmLimits())
        # Which of the two services has the add-ons: 2, or the older 1.
        self.addons_service = addons

    def __repr__(self) -> str:
        """The address alone."""
        return f"{type(self).__name__}({self.asking.url!r})"

    async def labels(
        self,
        prefix: str,
        type_: LabelType | None = None,
        organizations: Iterable[str] = (),
        subscription: str = "",
    ) -> OcmList[Label]:
        """Labels whose keys begin with a text, of all, of some organisations or a subscription."""
        kind = equals("type", type_.value) if type_ else ""
        of = equals("subscription_id", subscription) if subscription else ""
        search = both(starts("key", prefix), kind, of)
        path, several = f"{ACCOUNTS}/labels", tuple(organizations)
        if not several:
            return await listed(self.asking, path, Label, {"search": search}, _ORDER_BY)
        return await listed_by(
            self.asking, path, Label, "organization_id", several, search=search, order=_ORDER_BY
        )

    async def subscriptions(
        self, ids: Iterable[str] = (), organizations: Iterable[str] = ()
    ) -> OcmList[Subscription]:
        """Managed subscriptions that are not gone: by their ids, and all of some organisations."""
        search = both(equals("managed", "true"), none_of("status", GONE))
        wanted = (("id", tuple(ids)), ("organization_id", tuple(organizations)))
        readings = await asyncio.gather(
            *(
                listed_by(
                    self.asking,
                    f"{ACCOUNTS}/subscriptions",
                    Subscription,
                    key,
                    values,
                    search=search,
                    order=_ORDER_BY,
                )
                for key, values in wanted
            )
        )
        reading = joined(readings)
        once = {each.id: each for each in reading.items}
        return OcmList(tuple(once.values()), reading.unreadable, reading.complete)

    async def clusters(
        self, subscriptions: Iterable[str], *, ready: bool = False
    ) -> OcmList[OcmCluster]:
        """The managed clusters of subscriptions; only those that are ready, if asked for."""
        search = both(
            equals("managed", "true"),
            one_of("product.id", _PRODUCTS),
            equals("state", "ready") if ready else "",
        )
        path = f"{CLUSTERS}/clusters"
        key = "subscription.id"
        return await listed_by(
            self.asking, path, OcmCluster, key, subscriptions, search=search, order=_ORDER
        )

    async def cluster(self, cluster: str) -> OcmCluster | None:
        """One cluster, with the channels it may be put on; None: there is none."""
        return await self.asking.get(below(cluster), OcmCluster)

    async def node_pools(self, cluster: str) -> OcmList[NodePool]:
        """The node pools of a cluster."""
        return await listed(self.asking, f"{below(cluster)}/node_pools", NodePool, {})

    async def policies(self, of: Upgradable) -> OcmList[OcmPolicy]:
        """The upgrades that are to be, or under way, each with its state."""
        reading = await listed(self.asking, policies_of(of), OcmPolicy, {})
        states = await asyncio.gather(
            *(
                self._state(f"{policies_of(of)}/{quote(each.id)}", each.state)
                for each in reading.items
            )
        )
        items = tuple(
            msgspec.structs.replace(policy, state=state)
            for policy, state in zip(reading.items, states, strict=True)
        )
        return OcmList(items, reading.unreadable, reading.complete)

    async def gates(self) -> OcmList[VersionGate]:
        """All version gates."""
        return await listed(self.asking, f"{CLUSTERS}/version_gates", VersionGate, {})

    async def agreements(self, cluster: str) -> OcmList[GateAgreement]:
        """What was agreed to for a cluster."""
        return await listed(self.asking, f"{below(cluster)}/gate_agreements", GateAgreement, {})

    async def versions(self) -> OcmList[Version]:
        """All versions, with the end of their lives."""
        return await listed(self.asking, f"{CLUSTERS}/versions", Version, {}, _ORDER)

    async def organizations(self, ids: Iterable[str]) -> OcmList[Organization]:
        """Organisations by their ids."""
        path = f"{ACCOUNTS}/organizations"
        return await listed_by(self.asking, path, Organization, "id", ids, order=_ORDER_BY)

    async def account(self) -> Account:
        """Who we are there."""
        path = f"{ACCOUNTS}/current_account"
        answer = await self.asking.ask("GET", path)
        return self.asking.read(answer, Account, f"GET {path}")

    async def addons(self) -> OcmList[Addon]:
        """All add-ons."""
        base = ADDONS if self.addons_service == 2 else CLUSTERS
        return await listed(self.asking, f"{base}/addons", Addon, {})

    async def installed_addons(self, cluster: str) -> OcmList[InstalledAddon]:
        """The add-ons of a cluster, whatever their state."""
        return await listed(self.asking, f"{self._addons_of(cluster)}/addons", InstalledAddon, {})

    async def addon_plans(self, cluster: str) -> OcmList[AddonPlan]:
        """The upgrades of a cluster's add-ons."""
        path = self.plans_of(cluster)
        reading = await listed(self.asking, path, AddonPlan, {})
        states = await asyncio.gather(
            *(self._state(f"{path}/{quote(each.id)}", each.state) for each in reading.items)
        )
        items = tuple(
            msgspec.structs.replace(plan, state=state)
            for plan, state in zip(reading.items, states, strict=True)
        )
        return OcmList(items, reading.unreadable, reading.complete)

    def plans_of(self, cluster: str) -> str:
        """Where the upgrades of a cluster's add-ons are."""
        return escaped(addon_plans(cluster, service=self.addons_service))

    def calls(self) -> Mapping[str, int]:
        """How many requests were made so far, by method; tries count."""
        return dict(self.asking.counts)

    async def close(self) -> None:
        """Close the connections."""
        await self.asking.close()

    def _addons_of(self, cluster: str) -> str:
        if self.addons_service == 2:
            return f"{ADDONS}/clusters/{quote(cluster, safe='')}"
        return below(cluster)

    async def _state(self, path: str, known: OcmPolicyState | None) -> OcmPolicyState | None:
        """How far an upgrade is: part of it, or at an address of its own; None: not known."""
        if known is not None:
            return known
        try:
            return await self.asking.get(f"{path}/state", OcmPolicyState)
        except OutsideError:
            return None


def below(cluster: str) -> str:
    """Where what a cluster has is."""
    return f"{CLUSTERS}/clusters/{quote(cluster, safe='')}"


def policies_of(of: Upgradable) -> str:
    """Where the upgrades of something are."""
    return escaped(ocm_policies(of.cluster, hosted=of.hosted, pool=of.pool))


def escaped(segments: Iterable[str]) -> str:
    """A path, each segment escaped."""
    return "/" + "/".join(quote(each, safe="") for each in segments)
