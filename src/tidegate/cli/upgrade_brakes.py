"""Whom a brake covers among clusters that upgrade by their labels."""

import msgspec

from tidegate.cli.braking import Reach
from tidegate.cli.upgrade_journal import Journal
from tidegate.core.gates.brakes import Brakes, Coverages
from tidegate.core.gates.scope import KindOfChange
from tidegate.core.model.time import Instant
from tidegate.core.upgrades.deciding.decide import decide
from tidegate.core.upgrades.deciding.fleet import brake_labels
from tidegate.core.upgrades.deciding.standing import can_be_taken_back
from tidegate.core.why.upgrade_stand import Stand, stands
from tidegate.engine.brake_book import BrakeBook
from tidegate.ports.store import Store


def clusters_reached(
    store: Store, field: str, brakes: Brakes, now: Instant
) -> tuple[list[Reach], set[str]]:
    """Whom a brake covers, organisation by organisation; and the names of all clusters."""
    journal = Journal(store, BrakeBook(store))
    brakes = msgspec.structs.replace(brakes, kind=KindOfChange.UPGRADES)
    found: list[Reach] = []
    names: set[str] = set()
    for partition in journal.partitions():
        world = journal.world(partition, now)
        if world is None:
            continue
        org = world.orgs[0]
        coverages = Coverages(
            brakes, {each.name: brake_labels(org, each) for each in world.clusters}
        )
        reach = Reach(partition)
        for stand in stands(decide(world, now)):
            name = stand.member.cluster.name
            names.add(name)
            coverage = coverages.of(name)
            if getattr(coverage.surely, field) or getattr(coverage.perhaps, field):
                _count(reach, stand)
        if reach.targets:
            found.append(reach)
    return found, names


def _count(reach: Reach, stand: Stand) -> None:
    standing, name = stand.member.standing, stand.member.called
    for upgrade, _ in standing.under_way:
        if can_be_taken_back(upgrade):
            reach.ahead[name] = upgrade.version
    if standing.occupies:
        reach.moving.append(name)
    elif stand.next:
        reach.waiting.append(name)
    else:
        reach.others += 1
