"""What a bundle declares of upgrades: environments, organisations there, policies of clusters.

Nothing else of upgrades is loaded for it: every command on a bundle reads this too.
"""

import msgspec


class BundledPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How a cluster is to be upgraded."""

    workloads: tuple[str, ...]
    schedule: str
    soak_days: int = 0
    mutexes: tuple[str, ...] = ()
    sector: str = ""  # empty: none
    blocked: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()


class BundledCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster with a policy."""

    name: str
    # Its id there; empty: the name tells.
    id: str = ""
    policy: BundledPolicy
    where: str = ""


class BundledSector(msgspec.Struct, frozen=True, kw_only=True):
    """A sector, which others it waits for, and how many of it go at once."""

    name: str
    dependencies: tuple[str, ...] = ()
    # Sectors of other organisations that it waits for, each with the name of the organisation.
    elsewhere: tuple[tuple[str, str], ...] = ()
    # As written; empty: any number.
    max_parallel: str = ""


class BundledOrg(msgspec.Struct, frozen=True, kw_only=True):
    """An organisation, and what it declares."""

    id: str
    name: str
    # Empty: it names none, and so it is not served.
    environment: str = ""
    where: str = ""
    # Integrations that are disabled there.
    disabled: tuple[str, ...] = ()
    # Who is asked for the health of its clusters, and whether that counts.
    health_checks: tuple[tuple[str, bool], ...] = ()
    addons: bool = False
    # Of a service account of its own, whose secret is somewhere else; empty: it has none.
    client_id: str = ""
    blocked: tuple[str, ...] = ()
    sectors: tuple[BundledSector, ...] = ()
    inherit: tuple[str, ...] = ()
    publish: tuple[str, ...] = ()
    clusters: tuple[BundledCluster, ...] = ()


class BundledEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """An OpenShift Cluster Manager; its secret is somewhere else."""

    name: str
    url: str
    token_url: str = ""
    client_id: str = ""
    # What the Prometheus is called that knows the alerts of its clusters; empty: none is named.
    prometheus: str = ""
    where: str = ""


class Bundled(msgspec.Struct, frozen=True):
    """All that a bundle declares of upgrades."""

    environments: tuple[BundledEnvironment, ...] = ()
    organizations: tuple[BundledOrg, ...] = ()
    # Why more may be declared than was read: file, line, and what is wrong there.
    gaps: tuple[str, ...] = ()
