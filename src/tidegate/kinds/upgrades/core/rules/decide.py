"""The decision: which clusters are upgraded now, to what, and why every other waits.

    decide(world, now) -> UpgradePlan

Organisation by organisation, its clusters by version, soak days and name. Every version a cluster
is offered is an option with the verdict of every gate; the newest whose verdicts all pass is
chosen, and is counted at once, so that whoever comes next finds its mutexes taken.
"""

from collections.abc import Iterable

from tidegate.kinds.upgrades.core.declared.complaint import joined
from tidegate.kinds.upgrades.core.rules.addons import Addons
from tidegate.kinds.upgrades.core.rules.agreeing import agree
from tidegate.kinds.upgrades.core.rules.braking import Braking
from tidegate.kinds.upgrades.core.rules.fleet import Fleet, gather
from tidegate.kinds.upgrades.core.rules.looking import look
from tidegate.kinds.upgrades.core.rules.passing import Pass
from tidegate.kinds.upgrades.core.rules.plan import (
    CLUSTER_WRONG,
    Telling,
    UpgradePlan,
    actions_of,
    recheck_of,
)
from tidegate.kinds.upgrades.core.rules.soak import Ledger, inherited
from tidegate.kinds.upgrades.core.schedule.schedule import ADDON_STARTS_IN
from tidegate.kinds.upgrades.core.world import World
from tidegate.model.plan import Option
from tidegate.model.time import Instant

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
    moments = [*braking.moments()]
    if any(fleet.org.addons for fleet in fleets):
        # When an add-on would start moves with the time, so a freeze is met that much earlier.
        moments += [Instant(each - ADDON_STARTS_IN) for each in moments]
    for fleet in fleets:
        ledger = look(world, fleet, now)
        ledgers[fleet.key] = ledger
        sources = [world.ledgers[key] for key in fleet.sources if key in world.ledgers]
        soak, minima = inherited(ledger, sources)
        addons = Addons(world, fleet, braking, now) if fleet.org.addons else None
        if addons is not None:
            ledgers |= addons.ledgers
        passed = Pass(world, fleet, (soak, minima, ledger), braking, addons, now)
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
