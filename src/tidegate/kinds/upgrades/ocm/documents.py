"""What OpenShift Cluster Manager says, as far as upgrades need it; other fields are let pass.

A field without a default must be there: a document that lacks it is excluded, and reported.
"""

import msgspec

from tidegate.kinds.upgrades.core.world import IN_USE


class Ref(msgspec.Struct, frozen=True):
    """A link to something by its id."""

    id: str = ""
    href: str = ""


class Label(msgspec.Struct, frozen=True):
    """A label of a subscription, an organisation or an account."""

    id: str
    key: str
    value: str
    type: str  # Subscription, Organization or Account
    href: str = ""
    subscription_id: str = ""
    organization_id: str = ""
    account_id: str = ""
    created_at: str = ""
    updated_at: str = ""


class Organization(msgspec.Struct, frozen=True):
    """Whose clusters they are."""

    id: str
    name: str = ""
    external_id: str = ""


class Account(msgspec.Struct, frozen=True):
    """Who we are there."""

    id: str
    username: str = ""
    organization: Organization | None = None


class Capability(msgspec.Struct, frozen=True):
    """Something a subscription may do."""

    name: str = ""
    value: str = ""


def owner_in(document: object) -> str:
    """What a document that cannot be used belongs to, by its id; empty: that cannot be read."""
    if not isinstance(document, dict):
        return ""
    below = document.get("subscription")
    found = (
        below.get("id") if isinstance(below, dict) else None,
        document.get("subscription_id"),
        document.get("organization_id"),
    )
    return next((each for each in found if isinstance(each, str) and each), "")


class Subscription(msgspec.Struct, frozen=True):
    """What a cluster is run under; labels are on it."""

    id: str
    organization_id: str
    status: str
    managed: bool = False
    cluster_id: str = ""
    external_cluster_id: str = ""
    display_name: str = ""
    href: str = ""
    created_at: str = ""
    capabilities: tuple[Capability, ...] = ()

    @property
    def unused(self) -> str | msgspec.UnsetType:
        """Its status, where it is not in use."""
        return msgspec.UNSET if self.status in IN_USE else self.status


class ClusterVersion(msgspec.Struct, frozen=True):
    """What a cluster runs, and where it can go."""

    raw_id: str
    id: str = ""
    channel_group: str = ""
    available_upgrades: tuple[str, ...] = ()
    # None: lists do not tell; one cluster by itself does.
    available_channels: tuple[str, ...] | None = None
    end_of_life_timestamp: str = ""


class Sts(msgspec.Struct, frozen=True):
    """Whether a cluster uses short-lived credentials of its cloud."""

    enabled: bool = False
    role_arn: str = ""


class Aws(msgspec.Struct, frozen=True):
    """What is particular to one cloud."""

    sts: Sts = Sts()


class Hypershift(msgspec.Struct, frozen=True):
    """Whether a control plane is hosted."""

    enabled: bool = False


class Address(msgspec.Struct, frozen=True):
    """Where something is."""

    url: str = ""


class Dns(msgspec.Struct, frozen=True):
    """The names of a cluster."""

    base_domain: str = ""


class OcmCluster(msgspec.Struct, frozen=True):
    """A cluster."""

    id: str
    external_id: str
    name: str
    state: str
    subscription: Ref
    product: Ref
    version: ClusterVersion
    channel: str
    managed: bool = False
    display_name: str = ""
    hypershift: Hypershift = Hypershift()
    aws: Aws | None = None
    console: Address | None = None
    api: Address | None = None
    dns: Dns | None = None
    region: Ref = Ref()
    cloud_provider: Ref = Ref()
    creation_timestamp: str = ""

    @property
    def hosted(self) -> bool:
        """Whether its control plane is upgraded by itself: of product rosa, with hypershift."""
        return self.product.id == "rosa" and self.hypershift.enabled

    @property
    def sts(self) -> bool:
        """Whether it uses short-lived credentials."""
        return self.aws is not None and self.aws.sts.enabled


class PoolVersion(msgspec.Struct, frozen=True):
    """What a node pool runs."""

    raw_id: str
    id: str = ""


class NodePool(msgspec.Struct, frozen=True):
    """Nodes of a cluster whose control plane is hosted."""

    id: str
    version: PoolVersion


class OcmPolicyState(msgspec.Struct, frozen=True):
    """How far an upgrade is."""

    value: str = ""
    description: str = ""


class OcmPolicy(msgspec.Struct, frozen=True):
    """An upgrade that is to be, or under way."""

    id: str
    version: str = ""
    schedule_type: str = "manual"
    schedule: str = ""
    next_run: str = ""
    upgrade_type: str = ""
    enable_minor_version_upgrades: bool = False
    # None: not known.
    state: OcmPolicyState | None = None


class AddonPlan(msgspec.Struct, frozen=True):
    """An upgrade of an add-on."""

    id: str
    addon_id: str = ""
    version: str = ""
    # `type` in the one service, `schedule_type` in the other.
    type: str = ""
    schedule_type: str = ""
    next_run: str = ""
    # None: not known.
    state: OcmPolicyState | None = None


class VersionGate(msgspec.Struct, frozen=True):
    """What must be agreed to before a minor version."""

    id: str
    version_raw_id_prefix: str
    label: str
    value: str = ""
    description: str = ""
    warning_message: str = ""
    documentation_url: str = ""
    sts_only: bool = False
    cluster_condition: str = ""


class GateAgreement(msgspec.Struct, frozen=True):
    """An agreement to a version gate."""

    id: str
    version_gate: Ref
    agreed_timestamp: str = ""


class Version(msgspec.Struct, frozen=True):
    """A version, and until when it is supported."""

    id: str
    raw_id: str
    channel_group: str = ""
    enabled: bool = True
    available_upgrades: tuple[str, ...] = ()
    # Empty: not known.
    end_of_life_timestamp: str = ""


class Addon(msgspec.Struct, frozen=True):
    """An add-on, and its newest version."""

    id: str
    version: Ref
    name: str = ""


class InstalledAddon(msgspec.Struct, frozen=True):
    """An add-on on a cluster."""

    id: str
    state: str
    addon: Ref
    addon_version: Ref


class LogEntry(msgspec.Struct, frozen=True):
    """A service log to be written."""

    cluster_uuid: str
    service_name: str
    summary: str
    description: str
    severity: str = "Moderate"
    # Another text that says the same: where it was written, this one is not. Empty: there is none.
    known: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that count as the same."""
        return (self.description, self.known) if self.known else (self.description,)


class ServiceLog(msgspec.Struct, frozen=True):
    """A service log of a cluster."""

    id: str
    summary: str = ""
    description: str = ""
    service_name: str = ""
    severity: str = ""
    cluster_uuid: str = ""
    timestamp: str = ""
    created_at: str = ""


_KINDS: dict[type, str] = {
    OcmCluster: "Cluster",
    OcmPolicy: "UpgradePolicy",
    OcmPolicyState: "PolicyState",
}


def kind_name(document: type) -> str:
    """The kind of a document in the words of OpenShift Cluster Manager; it is part of metrics."""
    return _KINDS.get(document, document.__name__)
