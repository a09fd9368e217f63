"""OpenShift Cluster Manager as Tidegate sees it: clusters, their labels, and their upgrades.

A request may take long, or fail with OutsideError; one that is refused fails with OcmRefusedError.
The same request after a lost answer creates nothing twice. A document that cannot be read is
excluded and reported, and the others are used.
"""

import enum
from collections.abc import Iterable, Mapping
from typing import Generic, Protocol, TypeVar

import msgspec

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
    Organization,
    ServiceLog,
    Subscription,
    Version,
    VersionGate,
)
from tidegate.model.errors import OutsideError
from tidegate.model.time import Instant

T = TypeVar("T")


UNAUTHORIZED = 401
"""The status of what is refused because of who asks, whatever it is."""


class OcmRefusedError(OutsideError):
    """What was asked for was refused; asking again is refused again."""

    def __init__(self, text: str, status: int, code: str = "", reason: str = "") -> None:
        self.status = status
        # Theirs: CLUSTERS-MGMT-400.
        self.code = code
        self.reason = reason
        super().__init__(text)


class UnreadableDocument(msgspec.Struct, frozen=True):
    """A document that cannot be used, and why."""

    kind: str
    # Empty: not even that can be read.
    id: str
    why: str
    # What it belongs to: a cluster to its subscription, a label to its holder, a subscription
    # to its organisation. Empty: that cannot be read.
    of: str = ""


class OcmList(msgspec.Struct, Generic[T], frozen=True):
    """What a list holds."""

    items: tuple[T, ...] = ()
    unreadable: tuple[UnreadableDocument, ...] = ()
    # Whether it is known to be all: lists change while their pages are read.
    complete: bool = True


class LabelType(enum.Enum):
    """Whose labels."""

    SUBSCRIPTION = "Subscription"
    ORGANIZATION = "Organization"


class LabelOwner(msgspec.Struct, frozen=True):
    """The holder of labels."""

    type: LabelType
    id: str


class Upgradable(msgspec.Struct, frozen=True):
    """What an upgrade is of: a cluster, its hosted control plane, or one of its node pools."""

    cluster: str
    hosted: bool = False
    # Empty: the cluster or its control plane itself.
    pool: str = ""

    def text(self) -> str:
        """What people call it."""
        return f"{self.cluster}/{self.pool}" if self.pool else self.cluster


class ManagedClusters(Protocol):
    """One environment of OpenShift Cluster Manager."""

    async def labels(
        self,
        prefix: str,
        type_: LabelType | None = None,
        organizations: Iterable[str] = (),
        subscription: str = "",
    ) -> OcmList[Label]:
        """Labels whose keys begin with a text; of some organisations, or of one subscription, if
        any are named.
        """
        ...

    async def subscriptions(
        self, ids: Iterable[str] = (), organizations: Iterable[str] = ()
    ) -> OcmList[Subscription]:
        """Managed subscriptions that are not gone: by their ids, and all of some organisations."""
        ...

    async def clusters(
        self, subscriptions: Iterable[str], *, ready: bool = False
    ) -> OcmList[OcmCluster]:
        """The managed clusters of subscriptions; only those that are ready, if asked for."""
        ...

    async def cluster(self, cluster: str) -> OcmCluster | None:
        """One cluster, with the channels it may be put on; None: there is none."""
        ...

    async def node_pools(self, cluster: str) -> OcmList[NodePool]:
        """The node pools of a cluster."""
        ...

    async def policies(self, of: Upgradable) -> OcmList[OcmPolicy]:
        """The upgrades that are to be, or under way, each with its state."""
        ...

    async def gates(self) -> OcmList[VersionGate]:
        """All version gates."""
        ...

    async def agreements(self, cluster: str) -> OcmList[GateAgreement]:
        """What was agreed to for a cluster."""
        ...

    async def versions(self) -> OcmList[Version]:
        """All versions, with the end of their lives."""
        ...

    async def organizations(self, ids: Iterable[str]) -> OcmList[Organization]:
        """Organisations by their ids."""
        ...

    async def account(self) -> Account:
        """The account of our token."""
        ...

    async def addons(self) -> OcmList[Addon]:
        """All add-ons."""
        ...

    async def installed_addons(self, cluster: str) -> OcmList[InstalledAddon]:
        """The add-ons of a cluster, whatever their state."""
        ...

    async def addon_plans(self, cluster: str) -> OcmList[AddonPlan]:
        """The upgrades of a cluster's add-ons."""
        ...

    async def create_policy(self, of: Upgradable, version: str, next_run: str) -> OcmPolicy:
        """Have it upgraded at a moment; the same again is the same policy."""
        ...

    async def delete_policy(self, of: Upgradable, policy: str) -> None:
        """Call an upgrade off; one that is gone is gone."""
        ...

    async def create_addon_plan(
        self, cluster: str, addon: str, version: str, next_run: str
    ) -> AddonPlan:
        """Have an add-on upgraded; the same again is the same plan."""
        ...

    async def delete_addon_plan(self, cluster: str, plan: str) -> None:
        """Call an upgrade of an add-on off; one that is gone is gone."""
        ...

    async def agree(self, cluster: str, gate: str) -> GateAgreement:
        """Agree to a gate for a cluster; once."""
        ...

    async def switch_channel(self, cluster: str, channel: str) -> OcmCluster:
        """Put a cluster on a channel."""
        ...

    async def tell(self, entry: LogEntry, since: Instant) -> ServiceLog | None:
        """Write a service log, unless one of its texts was written since a moment; None: it was."""
        ...

    async def set_label(self, owner: LabelOwner, key: str, value: str) -> Label:
        """Make a label what it should be."""
        ...

    async def delete_label(self, owner: LabelOwner, key: str) -> None:
        """Take a label away; one that is gone is gone."""
        ...

    def calls(self) -> Mapping[str, int]:
        """How many requests were made so far, by method; tries count."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
