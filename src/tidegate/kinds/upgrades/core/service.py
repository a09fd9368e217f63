"""What is served: environments of OpenShift Cluster Manager, and organisations registered there.

Only organisations that are listed are served. All else is in their labels and those of clusters.
"""

import enum

import msgspec

from tidegate.gates.block import is_like
from tidegate.kinds.upgrades.core.world import HealthCheck, Organisation

PARTITION = "upgrades"
"""What the journals of organisations begin with: upgrades/prod/o-payments."""
ORGANISATION, CLUSTER = f"{PARTITION}/", "cluster/"
"""What the names of organisations and of clusters begin with, where they are asked about."""


class RuleSet(enum.Enum):
    """By which rules an organisation is served."""

    STRICT = "strict"  # ours
    COMPAT = "compat"  # AUS's, to the letter


class Credentials(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who we are there; each is a reference, env:NAME or file:PATH, or the thing itself."""

    client_id: str = ""
    client_secret: str = ""
    # A person's own token, instead of both.
    token: str = ""

    def __repr__(self) -> str:
        """Without what is secret."""
        return f"Credentials({self.client_id!r})"


class OcmEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """One OpenShift Cluster Manager."""

    name: str
    url: str
    # Where tokens are had; empty: a token is used as it is.
    token_url: str = ""
    credentials: Credentials = Credentials()
    # Of alerts about it: stage does not page.
    severity: str = "critical"
    # The Prometheus that knows the alerts of its clusters, by the name it has in the settings.
    # Empty: there is none.
    prometheus: str = ""
    # The address at which its owners reach this service, to read what has soaked; empty: none.
    soak_url: str = ""
    # Which of its two services for add-ons is asked.
    addons: int = 2


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """An organisation that is served."""

    id: str
    name: str
    environment: str
    rules: RuleSet = RuleSet.STRICT
    health_checks: tuple[HealthCheck, ...] = ()
    # Services that leave it alone: advanced-upgrade-scheduler, version-gate-approver.
    disabled: tuple[str, ...] = ()
    # Whether add-ons are upgraded by the labels of their clusters.
    addons: bool = False
    # After so many failed upgrades to a version no other cluster goes to it; 0: no limit.
    quarantine_after: int = 0
    # Its own, instead of its environment's; None: it has none.
    credentials: Credentials | None = None
    # Whether owners get a service log before an upgrade starts.
    notice: bool = False

    @property
    def partition(self) -> str:
        """Its journal."""
        return f"{PARTITION}/{self.environment}/{self.id}"

    def org(self) -> Organisation:
        """The organisation as it is decided on, without its labels yet."""
        return Organisation(
            id=self.id,
            name=self.name,
            env=self.environment,
            health_checks=self.health_checks,
            disabled=self.disabled,
            quarantine_after=self.quarantine_after,
            addons=self.addons,
        )


class UpgradeService(msgspec.Struct, frozen=True):
    """All environments and organisations that are served."""

    environments: tuple[OcmEnvironment, ...] = ()
    organizations: tuple[Registration, ...] = ()
    # Which of them, by ids and patterns; who is excluded is so whatever is included.
    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()

    def served(self) -> tuple[Registration, ...]:
        """The organisations that this process serves."""
        return tuple(
            each
            for each in self.organizations
            if any(is_like(each.id, one) for one in self.include)
            and not any(is_like(each.id, one) for one in self.exclude)
        )

    def environment(self, name: str) -> OcmEnvironment | None:
        """An environment by its name."""
        return next((each for each in self.environments if each.name == name), None)
