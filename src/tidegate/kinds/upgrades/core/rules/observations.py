"""What one look at an organisation, or at an add-on of its clusters, adds to the ledger."""

from tidegate.kinds.upgrades.core.history import Minima
from tidegate.kinds.upgrades.core.rules.fleet import OrganisationFleet
from tidegate.kinds.upgrades.core.rules.gates import can_be_asked
from tidegate.kinds.upgrades.core.rules.soak import SoakLedger, SoakObservation, SoakSnapshot, fold
from tidegate.kinds.upgrades.core.versions import key_of
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.model.time import Instant


def look(world: UpgradeWorld, fleet: OrganisationFleet, now: Instant) -> SoakLedger:
    """The organisation's ledger with this look at its clusters folded in."""
    seen = seen_in(world, fleet, now)
    return fold(world.ledgers.get(fleet.key, SoakLedger()), seen, minima_of(fleet))


def seen_in(world: UpgradeWorld, fleet: OrganisationFleet, now: Instant) -> list[SoakObservation]:
    """Every cluster as it was seen, as far as it counts for soak; excluded clusters do not."""
    enforced = [each for each in fleet.org.health_checks if each.enforced]
    unasked = any(not can_be_asked(world, each) for each in enforced)
    seen: list[SoakObservation] = []
    for member in fleet.members:
        cluster = member.cluster
        if member.excluded is None:
            healthy = member.is_ready and not unasked and not (enforced and cluster.alerts)
            snapshot = SoakSnapshot(
                at=now if world.read_at is None else world.read_at,
                version=cluster.version,
                workloads=member.policy.workloads or (),
                healthy=healthy,
            )
            seen.append(SoakObservation(cluster.uuid, cluster.name, member.unique, snapshot))
    return seen


def minima_of(fleet: OrganisationFleet) -> Minima | None:
    """The lowest version clusters run, overall and by workload: what others inherit.

    None: not known, so that the last known one holds. A cluster that was not read may be behind.
    """
    read = [each for each in fleet.members if each.on is not None]
    gaps = any(each.on is None and each.progress.unread for each in fleet.members)
    if not read or gaps or fleet.org.partial:
        return None
    lowest: dict[str, str] = {}
    versions = sorted(
        ((each.cluster.version, each.policy.workloads or ()) for each in read),
        key=lambda pair: (key_of(pair[0]), pair),
    )
    for version, workloads in versions:
        for workload in workloads:
            lowest.setdefault(workload, version)
    return Minima(versions[0][0], lowest)
