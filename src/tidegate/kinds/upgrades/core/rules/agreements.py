"""Version gates agreed to for clusters whose own labels ask for it, and for no others.

A list of approvals that is absent or empty approves the first kind of gate, as ever; the one of the
organisation is the default for clusters that have labels of their own.
"""

from collections.abc import Sequence

from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.brake_gates import BrakeGates
from tidegate.kinds.upgrades.core.rules.cluster_pass import GATES_MISSING
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember, OrganisationFleet, gather
from tidegate.kinds.upgrades.core.rules.gates import (
    agree_step,
    approved,
    not_ready,
    refused_agreement,
    relevant,
)
from tidegate.kinds.upgrades.core.rules.plan import OwnerNotice, UpgradePlan, actions_of, recheck_of
from tidegate.kinds.upgrades.core.versions import is_version, minor_of
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.model.plan import Option
from tidegate.model.time import Instant
from tidegate.model.verdict import verdict

APPROVER = "version-gate-approver"


def agree(
    world: UpgradeWorld, now: Instant, fleets: Sequence[OrganisationFleet] | None = None
) -> UpgradePlan:
    """Which agreements are given now, and why others are not; in fleets that are known, if any."""
    if fleets is None:
        fleets = gather(world, now, APPROVER)
    braking = BrakeGates(world.brakes, fleets, now)
    options: list[Option] = []
    members = tuple(member for fleet in fleets for member in fleet.members)
    at = 0
    for fleet in fleets:
        for member in fleet.members:
            options += _options(world, braking, fleet, member, at, now)
            at += 1
    return UpgradePlan(
        options=options,
        actions=actions_of(options, members),
        recheck_at=recheck_of(options, list(braking.moments()), now),
        fleets=tuple(fleets),
        members=members,
        ledgers={},
        warnings=tuple(text for fleet in fleets for text in fleet.warnings),
    )


def due_notices(plan: UpgradePlan, agreeing: UpgradePlan) -> tuple[OwnerNotice, ...]:
    """Service logs for owners, without those about agreements that are ours to give.

    One that their labels ask for is given at this moment, or something keeps us from giving it.
    """
    ours, theirs = (
        {
            agreeing.members[option.target].cluster.uuid
            for option in agreeing.options
            if any(each.reason is reason for each in option.verdicts)
        }
        for reason in (VersionReason.AgreementWanted, VersionReason.AgreementUnasked)
    )
    return tuple(
        each
        for each in plan.owner_notices
        if each.summary != GATES_MISSING or each.uuid not in ours - theirs
    )


def _options(
    world: UpgradeWorld,
    braking: BrakeGates,
    fleet: OrganisationFleet,
    member: FleetMember,
    at: int,
    now: Instant,
) -> list[Option]:
    if member.excluded is not None:
        return [Option(at, agree_step("", ""), (member.excluded,))]
    if fleet.org.partial:  # a label that says `none` may not have been read
        unread = verdict(UpgradeReason.OrgPartlyRead, fleet.org.partial)
        return [Option(at, agree_step("", ""), (unread,))]
    if (unready := not_ready(member)) is not None:
        return [Option(at, agree_step("", ""), (unready,))]
    minors = {minor_of(each) for each in member.cluster.available_upgrades if is_version(each)}
    wanted = approved(fleet, member)
    options: list[Option] = []
    for gate in sorted(relevant(member.cluster, world.gates), key=lambda one: (one.prefix, one.id)):
        if gate.prefix in minors and gate.id not in member.cluster.gate_agreements:
            reason = (
                VersionReason.AgreementWanted
                if gate.label in wanted
                else VersionReason.AgreementUnasked
            )
            step = agree_step(gate.prefix, gate.id)
            said = (
                verdict(reason, gate.prefix, gate.label),
                *refused_agreement(world, member.cluster, gate, now),
                *braking.held(member),
            )
            options.append(Option(at, step, said))
    if options:
        return options
    return [Option(at, agree_step("", ""), (verdict(VersionReason.NothingToAgree),))]
