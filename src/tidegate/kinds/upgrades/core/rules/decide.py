"""The decision: which clusters are upgraded now, to what, and why every other waits.

    decide(world, now) -> UpgradePlan

Organisation by organisation, its clusters by version, soak days and name. Every version a cluster
is offered is an option with the verdict of every gate; the newest whose verdicts all pass is
chosen, and is counted at once, so that the next cluster finds its mutexes taken.
"""

from collections.abc import Iterable

from tidegate.kinds.upgrades.core.declared.label_error import formerly, joined
from tidegate.kinds.upgrades.core.rules.addons import AddonUpgrades
from tidegate.kinds.upgrades.core.rules.agreements import agree
from tidegate.kinds.upgrades.core.rules.brake_gates import BrakeGates
from tidegate.kinds.upgrades.core.rules.cluster_pass import PassGates, UpgradePass
from tidegate.kinds.upgrades.core.rules.fleet import OrganisationFleet, gather
from tidegate.kinds.upgrades.core.rules.former_locks import LOCKS
from tidegate.kinds.upgrades.core.rules.gates import VersionGates
from tidegate.kinds.upgrades.core.rules.observations import look
from tidegate.kinds.upgrades.core.rules.plan import (
    CLUSTER_WRONG,
    OwnerNotice,
    UpgradePlan,
    actions_of,
    recheck_of,
)
from tidegate.kinds.upgrades.core.rules.sector_order import SectorOrder
from tidegate.kinds.upgrades.core.rules.soak import SoakLedger, inherited
from tidegate.kinds.upgrades.core.schedule.schedule import addon_lead
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.model.plan import Option
from tidegate.model.time import Instant

ORG_WRONG = "AUS configuration error on organization"


def decide(world: UpgradeWorld, now: Instant) -> UpgradePlan:
    """Which clusters are upgraded now, to what, and why every other waits."""
    if world.approver:
        return agree(world, now)
    fleets = gather(world, now)
    braking = BrakeGates(world.brakes, fleets, now)
    options: list[Option] = []
    owner_notices: list[OwnerNotice] = []
    ledgers: dict[str, SoakLedger] = {}
    members = tuple(member for fleet in fleets for member in fleet.members)
    moments = [*braking.moments()]
    if any(fleet.org.addons for fleet in fleets):
        # When an add-on would start moves with the time, so a freeze is met that much earlier.
        leads = {addon_lead(fleet.org.notice_lead) for fleet in fleets}
        moments += [Instant(each - lead) for each in moments for lead in leads]
    for fleet in fleets:
        ledger = look(world, fleet, now)
        ledgers[fleet.key] = ledger
        sources = [world.ledgers[key] for key in fleet.sources if key in world.ledgers]
        soak, minima = inherited(ledger, sources)
        addons = AddonUpgrades(world, fleet, braking, now) if fleet.org.addons else None
        if addons is not None:
            ledgers |= addons.ledgers
        gates = PassGates(
            VersionGates(world, fleet, soak, ledger, now),
            SectorOrder(fleet, minima),
            LOCKS[world.edition](fleet.members, fleet.org_policy),
        )
        passed = UpgradePass(world, fleet, gates, braking, addons, now)
        first = options[-1].target + 1 if options else 0
        for at, member in enumerate(fleet.members, start=first):
            options += passed.look_at(at, member)
        if not fleet.org.partial:  # a label that is missing may only not have been read
            owner_notices += (*_owner_notices(fleet), *passed.owner_notices)
        moments += [each.progress.due_at for each in fleet.members if each.progress.due_at]
    return UpgradePlan(
        options=options,
        actions=actions_of(options, members),
        recheck_at=recheck_of(options, moments, now),
        fleets=tuple(fleets),
        members=members,
        ledgers=ledgers,
        owner_notices=tuple(owner_notices),
        warnings=tuple(text for fleet in fleets for text in fleet.warnings),
        claims=braking.claims(),
    )


def _owner_notices(fleet: OrganisationFleet) -> Iterable[OwnerNotice]:
    """Label errors as service logs: of a cluster to its owner, of the organisation to all."""
    for member in fleet.members:
        if not member.is_ready:
            continue
        if member.label_errors:
            text, known = joined(member.label_errors), formerly(member.label_errors, "- ")
            yield OwnerNotice(member.cluster.uuid, CLUSTER_WRONG, text, known=known)
        elif member.progress.doubled and member.excluded is None:
            what = f"there are upgrade policies for {', '.join(member.progress.doubled)} at once"
            yield OwnerNotice(member.cluster.uuid, CLUSTER_WRONG, f"- {what}; delete all but one")
        if fleet.label_errors and member.excluded is None:
            text, known = joined(fleet.label_errors), formerly(fleet.label_errors)
            yield OwnerNotice(member.cluster.uuid, ORG_WRONG, text, known=known)
