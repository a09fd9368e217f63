"""What AUS would do, as a plan: its writes as steps, with why each cluster waits.

An organisation may be served by its rules, to the letter; brakes apply all the same. A comparison
puts this plan beside ours.
"""

import re
from collections.abc import Iterable, Set

import msgspec

from tidegate.kinds.upgrades.core.compat.record import LegacyRecord, Sample
from tidegate.kinds.upgrades.core.compat.run import run
from tidegate.kinds.upgrades.core.history import SoakHistory
from tidegate.kinds.upgrades.core.reasons.rules_reasons import LegacyReason
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.requests import OcmRequest
from tidegate.kinds.upgrades.core.rules.brake_gates import BrakeGates
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember
from tidegate.kinds.upgrades.core.rules.plan import OwnerNotice, UpgradePlan, actions_of
from tidegate.kinds.upgrades.core.step import UpgradeStep
from tidegate.kinds.upgrades.core.world import ManagedCluster, UpgradeWorld, only_whole
from tidegate.model.plan import Change, ChangeKind, Option
from tidegate.model.time import Instant
from tidegate.model.verdict import verdict

_NOTHING = Change(ChangeKind.APPLY)
_UNSAID = "no version qualifies, or what is under way is not over"


class LegacyRun(msgspec.Struct, frozen=True):
    """One run of AUS."""

    plan: UpgradePlan
    # What it keeps, by `env/org`.
    kept: dict[str, SoakHistory]
    numbers: dict[str, list[Sample]]


def theirs(
    world: UpgradeWorld, now: Instant, ours: UpgradePlan, agreeing: UpgradePlan
) -> LegacyRun:
    """What it does in one run: upgrades, and agreements to gates; `ours` says who takes part."""
    world = msgspec.structs.replace(only_whole(world), now=now)
    record = run(msgspec.structs.replace(world, approver=False))
    approved = run(msgspec.structs.replace(world, approver=True))
    steps: dict[str, list[UpgradeStep]] = {}
    for cluster, step in (*record.steps, *approved.steps):
        steps.setdefault(cluster.ident, []).append(step)
    members = ours.members if len(ours.members) >= len(agreeing.members) else agreeing.members
    members = _as_they_read(members, record.refused)
    fleets = tuple(
        msgspec.structs.replace(each, members=_as_they_read(each.members, record.refused))
        for each in ours.fleets
    )
    braking = BrakeGates(world.brakes, fleets, now)
    options: list[Option] = []
    for at, member in enumerate(members):
        mine = steps.get(member.cluster.ident, [])
        for step in mine:
            shut = braking.verdicts(member, step.revision or "", step.starts_at)
            options.append(Option(at, step, (verdict(LegacyReason.ExistingRulesStart), *shut)))
        if not mine:
            said = verdict(LegacyReason.ExistingRulesWait, _why(record, member.cluster))
            options.append(Option(at, _NOTHING, (said,)))
    plan = msgspec.structs.replace(
        ours,
        fleets=fleets,
        members=members,
        options=options,
        actions=actions_of(options, members),
        owner_notices=tuple(_owner_notices(record.logs)),
        recheck_at=None,
        claims=(),
    )
    return LegacyRun(plan, record.kept, record.metrics)


def _as_they_read(members: Iterable[FleetMember], refused: Set[str]) -> tuple[FleetMember, ...]:
    """Clusters, none of them excluded for a label that only our rules refuse."""
    return tuple(
        each
        if each.excluded is None
        or each.excluded.reason is not UpgradeReason.LabelsUnreadable
        or each.cluster.uuid in refused
        else msgspec.structs.replace(each, excluded=None, label_errors=())
        for each in members
    )


def _owner_notices(logs: Iterable[OcmRequest]) -> Iterable[OwnerNotice]:
    for each in logs:
        yield OwnerNotice(each.body["cluster_uuid"], each.body["summary"], each.body["description"])


def _why(record: LegacyRecord, cluster: ManagedCluster) -> str:
    """The last it says of a cluster, or loudly of its organisation.

    Where no version qualifies it says nothing.
    """
    env = next((each.env for each in record.world.orgs if each.id == cluster.org), "")
    whole = re.compile(
        rf"(?:ERROR|WARNING): .*(?:org(?:anization)? {re.escape(cluster.org)}\b"
        rf"|OCM environment {re.escape(env)}\b)"
    )
    lines = [each for each in record.log if f"/{cluster.name}]" in each or whole.match(each)]
    return lines[-1].partition(": ")[2] if lines else _UNSAID
