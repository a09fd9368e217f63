"""The decision: which clusters are upgraded now, to what, and why every other waits.

    decide(world, now) -> UpgradePlan

Organisation by organisation, its clusters by version, soak days and name. Every version a cluster
is offered is an option with the verdict of every gate; the newest whose verdicts all pass is
chosen, and is counted at once, so that whoever comes next finds its mutexes taken.
"""

from collections.abc import Iterable

from tidegate.core.model.plan import Option
from tidegate.core.model.time import Instant
from tidegate.core.upgrades.deciding.agreeing import agree
from tidegate.core.upgrades.deciding.braking import Braking
from tidegate.core.upgrades.deciding.fleet import Fleet, gather
from tidegate.core.upgrades.deciding.gates import can_be_asked
from tidegate.core.upgrades.deciding.passing import Pass
from tidegate.core.upgrades.deciding.plan import Telling, UpgradePlan, actions_of, recheck_of
from tidegate.core.upgrades.deciding.soak import Ledger, Seen, Sight, fold, inherited
from tidegate.core.upgrades.declared.complaint import joined
from tidegate.core.upgrades.history import Minima
from tidegate.core.upgrades.versions import key_of
from tidegate.core.upgrades.world import World

CLUSTER_WRONG = "Cluster upgrade policy validation errors"
ORG_WRONG = "AUS configuration error on organization"


def decide(world: World, now: Instant) -> UpgradePlan:
    """Which clusters are upgraded now, to what, and why every other waits."""
    if world.approver:
        return agree(world, now)
    fleets = gather(world, now)
    braking = Braking(world.brakes, fleets, now)
    options: list[Option] = []
    tellings: list[Telling] = []
    ledgers: dict[str, Ledger] = {}
    members = tuple(member for fleet in fleets for member in fleet.members)
    moments: list[Instant] = list(braking.moments())
    for fleet in fleets:
        ledger = look(world, fleet, now)
        ledgers[fleet.key] = ledger
        sources = [world.ledgers[key] for key in fleet.sources if key in world.ledgers]
        soak, minima = inherited(ledger, sources)
        passed = Pass(world, fleet, (soak, minima, ledger), braking, now)
        first = options[-1].target + 1 if options else 0
        for at, member in enumerate(fleet.members, start=first):
            options += passed.look_at(at, member)
        if not fleet.org.partial:  # a label that is missing may only not have been read
            tellings += (*_tellings(fleet), *passed.tellings)
        moments += [each.standing.due_at for each in fleet.members if each.standing.due_at]
    return UpgradePlan(
        options=options,
        actions=actions_of(options, members),
        recheck_at=recheck_of(options, moments, now),
        fleets=tuple(fleets),
        members=members,
        ledgers=ledgers,
        tellings=tuple(tellings),
        warnings=tuple(text for fleet in fleets for text in fleet.warnings),
        claims=braking.claims(),
    )


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
    if not read or fleet.org.partial:
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


def _tellings(fleet: Fleet) -> Iterable[Telling]:
    """What owners can mend: of their cluster to them, of the organisation to all of it."""
    for member in fleet.members:
        if not member.is_ready:
            continue
        if member.complaints:
            yield Telling(member.cluster.uuid, CLUSTER_WRONG, joined(member.complaints))
        elif member.standing.doubled and member.aside is None:
            what = f"there are upgrade policies for {', '.join(member.standing.doubled)} at once"
            yield Telling(member.cluster.uuid, CLUSTER_WRONG, f"- {what}; delete all but one")
        if fleet.complaints and member.aside is None:
            texts = "\n".join(each.posted() for each in fleet.complaints)
            yield Telling(member.cluster.uuid, ORG_WRONG, texts)
