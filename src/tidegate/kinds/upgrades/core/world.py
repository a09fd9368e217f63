"""One reading of OCM: organisations, their clusters, gates, and what was kept of them."""

import enum
from collections.abc import Callable, Mapping

import msgspec

from tidegate.gates.brakes import Brakes
from tidegate.kinds.upgrades.core.history import SoakHistory
from tidegate.kinds.upgrades.core.refusal import OcmRefusal
from tidegate.kinds.upgrades.core.rules.soak import SoakLedger
from tidegate.kinds.upgrades.core.versions import VersionError, minor_of
from tidegate.model.time import Duration, Instant


class Edition(enum.IntEnum):
    """Our rules as of a change to them. A plan is decided again by those it was decided with."""

    # Clusters of a sector with a limit share their mutexes up to it.
    SHARED_MUTEXES = 0
    # A mutex has one holder, in a sector with a limit too.
    ONE_HOLDER = 1


LATEST = Edition.ONE_HOLDER


class HealthCheck(msgspec.Struct, frozen=True):
    """Where an organisation's clusters are asked for their health, and whether it counts."""

    provider: str
    enforced: bool = False


class Organisation(msgspec.Struct, frozen=True):
    """An organisation; its labels stand without their prefix."""

    id: str
    name: str
    env: str = "prod"
    labels: dict[str, str] = {}
    health_checks: tuple[HealthCheck, ...] = ()
    disabled: tuple[str, ...] = ()  # services that leave it alone
    registered: bool = True
    # After so many failed upgrades to a version no other cluster here goes to it; 0: no limit.
    quarantine_after: int = 0
    # Whether add-ons are upgraded too, by the labels of their clusters.
    addons: bool = False
    # Why not all that is there was read this time; empty: it was. Our own rules respect it.
    partial: str = ""
    # How far off upgrades are put at least, where owners are notified before; not set elsewhere.
    notice_lead: Duration | msgspec.UnsetType = msgspec.UNSET


class OcmUpgrade(msgspec.Struct, frozen=True):
    """An upgrade that OCM knows of: an upgrade policy, in its words."""

    id: str = ""
    version: str = ""
    schedule_type: str = "manual"
    schedule: str | None = None
    state: str | None = None  # None: unknown
    next_run: str | None = None  # None: not said
    upgrade_type: str | None = None


class ClusterPool(msgspec.Struct, frozen=True):
    """A node pool of a hosted control plane."""

    id: str
    version: str
    upgrade_policies: tuple[OcmUpgrade, ...] = ()


class ClusterAddon(msgspec.Struct, frozen=True):
    """An add-on on a cluster, and the upgrades of it that OCM knows of."""

    id: str
    version: str
    latest: str | None = None  # its newest version; None: not known
    state: str = "ready"
    upgrade_plans: tuple[OcmUpgrade, ...] = ()


IN_USE = ("Active", "Reserved")
"""Subscriptions whose clusters are upgraded. Others (Stale, Disconnected) may be in use again."""
GONE = ("Archived", "Deprovisioned")
"""Subscriptions whose clusters are gone for good."""


class ManagedCluster(msgspec.Struct, frozen=True):
    """A cluster; its subscription's labels stand without their prefix."""

    name: str
    org: str
    version: str
    available_upgrades: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    product: str = "osd"
    hypershift: bool = False
    sts: bool = False
    channel: str | None = None  # None: the stable channel of its minor
    available_channels: tuple[str, ...] = ()
    node_pools: tuple[ClusterPool, ...] = ()
    upgrade_policies: tuple[OcmUpgrade, ...] = ()
    gate_agreements: tuple[str, ...] = ()
    alerts: tuple[str, ...] = ()
    alerts_since: dict[str, str] = {}  # since when each fires; one that is not here does not say
    state: str = "ready"
    id: str = ""
    external_id: str = ""
    subscription: str = ""
    omit: tuple[str, ...] = ()  # fields that OCM left out
    addons: tuple[ClusterAddon, ...] = ()  # read only where they are managed
    # Not set where it is in use, so that journals are written as they always were.
    subscription_status: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def is_subscribed(self) -> bool:
        """Whether its subscription is in use; one that is not may come back."""
        status = self.subscription_status
        return status is msgspec.UNSET or status in IN_USE

    @property
    def ident(self) -> str:
        """Its id in OCM."""
        return self.id or f"{self.name}-id"

    @property
    def uuid(self) -> str:
        """Its id everywhere else."""
        return self.external_id or f"{self.name}-uuid"

    @property
    def subscribed_as(self) -> str:
        """Its subscription."""
        return self.subscription or f"{self.name}-sub"

    @property
    def is_hosted(self) -> bool:
        """Whether its control plane is hosted apart from its node pools."""
        return self.product == "rosa" and self.hypershift

    @property
    def updates_from(self) -> str:
        """Its channel."""
        if self.channel is not None:
            return self.channel
        try:
            return f"stable-{minor_of(self.version)}"
        except VersionError:
            return "stable"

    @property
    def upgrades(self) -> tuple[OcmUpgrade, ...]:
        """Every upgrade OCM knows of, those of node pools included."""
        if not self.is_hosted:
            return self.upgrade_policies
        pools = (one for pool in self.node_pools for one in pool.upgrade_policies)
        return (*self.upgrade_policies, *pools)


def with_addon(
    cluster: ManagedCluster, ident: str, change: Callable[[ClusterAddon], ClusterAddon]
) -> ManagedCluster:
    """A cluster of which one add-on is not what it was."""
    some = tuple(change(each) if each.id == ident else each for each in cluster.addons)
    return msgspec.structs.replace(cluster, addons=some)


class MinorGate(msgspec.Struct, frozen=True):
    """Something that must be agreed to before a cluster goes to a minor version."""

    id: str
    prefix: str
    label: str
    sts_only: bool = False


class UpgradeWorld(msgspec.Struct, frozen=True):
    """All that is decided on."""

    now: Instant
    orgs: tuple[Organisation, ...]
    clusters: tuple[ManagedCluster, ...]
    gates: tuple[MinorGate, ...] = ()
    kept: Mapping[str, SoakHistory] = {}  # by `env/org`
    dry_run: bool = False
    ignore_sts: bool = False
    approver: bool = False  # the other service: agree to gates
    fail: Mapping[str, int] = {}  # "POST /path" -> the status it is answered with
    health_fails: bool = False
    # What follows is for our own rules only.
    # When clusters were looked at; None: now. Soak ends there: they were not observed since.
    read_at: Instant | None = None
    ledgers: Mapping[str, SoakLedger] = {}  # by `env/org`
    # When versions are no longer supported; one that is not here does not say.
    ends: Mapping[str, Instant] = {}
    brakes: Brakes = Brakes()
    # Why what is under way on a cluster could not be read this time, by its external id. Of its
    # policies, node pools and agreements there may be more than stands here.
    unread: Mapping[str, str] = {}
    # What was refused lately, by external id and by what was asked for (`refusal.what_of`).
    refused: Mapping[str, Mapping[str, OcmRefusal]] = {}
    edition: Edition = LATEST


def only_whole(world: UpgradeWorld) -> UpgradeWorld:
    """The world for rules that know of no gaps: what was not read whole is unchanged.

    AUS gives an organisation up when one of its clusters cannot be read, and does
    not see clusters whose subscriptions are not in use.
    """
    gaps = {each.org for each in world.clusters if each.uuid in world.unread}
    orgs = (
        msgspec.structs.replace(each, registered=False) if each.partial or each.id in gaps else each
        for each in world.orgs
    )
    clusters = tuple(each for each in world.clusters if each.is_subscribed)
    return msgspec.structs.replace(world, orgs=tuple(orgs), clusters=clusters)
