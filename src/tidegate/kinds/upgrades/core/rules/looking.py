"""What one look at an organisation, or at an add-on of its clusters, adds to the ledger."""

from tidegate.kinds.upgrades.core.history import Minima
from tidegate.kinds.upgrades.core.rules.fleet import Fleet
from tidegate.kinds.upgrades.core.rules.gates import can_be_asked
from tidegate.kinds.upgrades.core.rules.soak import Ledger, Seen, Sight, fold
from tidegate.kinds.upgrades.core.versions import key_of
from tidegate.kinds.upgrades.core.world import World
from tidegate.model.time import Instant


def look(world: World, fleet: Fleet, now: Instant) -> Ledger:
    """The organisation's ledger with this look at its clusters folded in."""
    seen = seen_in(world, fleet, now)
    return fold(world.ledgers.get(fleet.key, Ledger()), seen, minima_of(fleet))


def seen_in(world: World, fleet: Fleet, now: Instant) -> list[Seen]:
    """Every cluster as it was seen, as far as it counts for soak; whoever is set aside does not."""
    enforced = [each for each in fleet.org.health_checks if each.enforced]
    unasked = any(not can_be_asked(world, each) for each in enforced)
    seen: list[Seen] = []
    for member in fleet.members:
        cluster = member.cluster
        if member.aside is None:
            healthy = member.is_ready and not unasked and not (enforced and cluster.alerts)
            sight = Sight(
                at=now if world.read_at is None else world.read_at,
                version=cluster.version,
                workloads=member.wishes.workloads or (),
                healthy=healthy,
            )
            seen.append(Seen(cluster.uuid, cluster.name, member.unique, sight))
    return seen


def minima_of(fleet: Fleet) -> Minima | None:
    """The lowest version clusters run, overall and by workload: what others inherit.

    None: nobody can tell, so what was known before holds. Who was not read may be behind.
    """
    read = [each for each in fleet.members if each.on is not None]
    gaps = any(each.on is None and each.standing.unread for each in fleet.members)
    if not read or gaps or fleet.org.partial:
        return None
    lowest: dict[str, str] = {}
    versions = sorted(
        ((each.cluster.version, each.wishes.workloads or ()) for each in read),
        key=lambda pair: (key_of(pair[0]), pair),
    )
    for version, workloads in versions:
        for workload in workloads:
            lowest.setdefault(workload, version)
    return Minima(versions[0][0], lowest)
