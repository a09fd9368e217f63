"""When each cluster is upgraded, and to what: the rules, run ahead on the world as it is.

    forecast(world, now, pace) -> Outlook

It jumps from moment to moment. What is shut now cannot open before *every* gate that shuts it may
have opened: the latest of their moments, if time alone opens them all. Everything else waits for an
upgrade to end. Moments are those of rounds, so nothing is foreseen to happen between two looks.
"""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from tidegate.kinds.upgrades.core.foresight.expected import (
    ExpectedUpgrades,
    GateWaits,
    conclude,
    leg_from,
    leg_of,
)
from tidegate.kinds.upgrades.core.foresight.future import FleetFuture
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.rules.fleet import OrganisationFleet
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.rules.soak import DAY, inherited
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.core.versions import VersionError, minor_of
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.model.plan import Option
from tidegate.model.reason import Gate, Outcome
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict

# Looks ahead; a fleet that needs more has no date worth giving.
LOOKS_MAX = 5_000
_UNIT = 1000
# What changes the world at once, so that the next round may say something else.
_AT_ONCE = (StepKind.CHANNEL, StepKind.CANCEL, StepKind.CANCEL_ADDON)


class FleetForecast(msgspec.Struct):
    """What is decided now, and what is expected of every cluster."""

    plan: UpgradePlan
    # By external id, in the order of the plan.
    expected: dict[str, ExpectedUpgrades]
    # Nothing behind this was looked at.
    until: Instant
    looks: int = 0


def forecast(world: UpgradeWorld, now: Instant, pace: UpgradePace | None = None) -> FleetForecast:
    """Run the rules ahead until nothing more happens, or the horizon is reached."""
    return _Ahead(world, now, pace or UpgradePace()).run()


class _Ahead:
    def __init__(self, world: UpgradeWorld, now: Instant, pace: UpgradePace) -> None:
        self._began = now
        self._pace = pace
        self._end = Instant(now + pace.horizon)
        self._future = FleetFuture(world, now, pace)
        self._waits = GateWaits()
        self._gated = {each.prefix for each in world.gates}

    def run(self) -> FleetForecast:
        now, cut = self._began, False
        self._agree(now)
        plan = self._decide(now)
        found = self._members(plan)
        outlook = FleetForecast(plan, found, self._end)
        for _ in range(LOOKS_MAX):
            outlook.looks += 1
            self._act(plan, found, now)
            moment = self._next(plan, now)
            if moment is None:
                break
            if moment > self._end:
                cut = True
                break
            self._future.soak_until(Instant(moment - self._pace.round))
            now = moment
            if self._future.settle(now):
                self._agree(now)
            plan = self._decide(now)
        else:
            cut = True
        self._conclude(plan, found, cut)
        return outlook

    def _decide(self, now: Instant) -> UpgradePlan:
        plan = decide(self._future.world(now), now)
        self._future.ledgers |= plan.ledgers
        self._waits.note(plan)
        return plan

    def _members(self, plan: UpgradePlan) -> dict[str, ExpectedUpgrades]:
        envs = {each.org.id: each.org.env for each in plan.fleets}
        found = {
            each.cluster.uuid: ExpectedUpgrades(each.cluster, envs[each.cluster.org])
            for each in plan.members
        }
        for under in self._future.under_way():
            if under.uuid in found and not under.addon:
                found[under.uuid].legs.append(leg_of(under, found[under.uuid].cluster))
        return found

    def _agree(self, now: Instant) -> None:
        """Agreements are given as soon as a way leads to a version that asks for them."""
        world = self._future.world(now)
        if self._gated and any(
            _leads_to(each.available_upgrades, self._gated) for each in world.clusters
        ):
            for action in decide(replace(world, approver=True), now).actions:
                self._future.carry_out(action, now)

    def _act(self, plan: UpgradePlan, found: dict[str, ExpectedUpgrades], now: Instant) -> None:
        for action in plan.actions:
            step = action.change
            if isinstance(step, UpgradeStep):
                before = self._future.cluster(action.target)
                under = self._future.carry_out(action, now)
                if step.addon:  # it takes its time, and is no step of the cluster
                    continue
                opened = self._waits.opened(action.target, step)
                leg = leg_from(step, under, before, opened, now)
                if leg is not None:
                    found[action.target].legs.append(leg)

    def _next(self, plan: UpgradePlan, now: Instant) -> Instant | None:
        """The next round at which something may be decided that is not decided now."""
        moments = set(self._opening(plan, now))
        if (ends_at := self._future.next_end()) is not None:
            moments.add(ends_at)
        at_once = any(
            isinstance(e.change, UpgradeStep) and e.change.doing in _AT_ONCE for e in plan.actions
        )
        if at_once or self._future.world(now).read_at is not None:
            moments.add(Instant(now + 1))  # an old look says nothing of what soaked since
        if not moments:
            return None
        later = max(min(moments), now + 1)
        rounds = -(-(later - self._began) // self._pace.round)
        return Instant(self._began + rounds * self._pace.round)

    def _opening(self, plan: UpgradePlan, now: Instant) -> Iterator[Instant]:
        """When time alone may open each option that is shut."""
        soak = {each.org.id: _Soak(plan, each) for each in plan.fleets if each.sources}
        frozen = _frozen_now(self._future.world(now), now)
        for option in plan.options:
            shut = [each for each in option.verdicts if each.outcome is not Outcome.PASS]
            if not shut:
                continue
            inherits = soak.get(plan.members[option.target].cluster.org)
            if isinstance(option.change, UpgradeStep) and option.change.addon:
                inherits = None  # it soaks in a ledger of its own
            moments = [_until(each, option, frozen, inherits, now) for each in shut]
            if None not in moments:
                yield max(each for each in moments if each is not None)

    def _conclude(self, plan: UpgradePlan, found: dict[str, ExpectedUpgrades], cut: bool) -> None:
        options: dict[str, list[Option]] = {uuid: [] for uuid in found}
        for option in plan.options:
            options[plan.members[option.target].cluster.uuid].append(option)
        for uuid, expected in found.items():
            conclude(expected, options[uuid], beyond=cut)


class _Soak:
    """What soaks in an organisation and in those it inherits from, by version and workload."""

    def __init__(self, plan: UpgradePlan, fleet: OrganisationFleet) -> None:
        own = plan.ledgers[fleet.key]
        others = [plan.ledgers[key] for key in fleet.sources if key in plan.ledgers]
        self._days, _ = inherited(own, others)
        self._on: dict[tuple[str, str], int] = {}
        for ledger in (own, *others):
            for snapshot in ledger.sights.values():
                if snapshot.at == ledger.checked_at and snapshot.healthy:
                    for workload in snapshot.workloads:
                        key = (snapshot.version, workload)
                        self._on[key] = self._on.get(key, 0) + 1

    def until(self, one: Verdict, now: Instant) -> Instant | None:
        """When a version has soaked under the workload that is furthest behind; None: never."""
        version, workload, _, needed, _ = one.facts
        key = (str(version), str(workload))
        if not isinstance(needed, int) or not self._on.get(key):
            return None
        left = needed * DAY - self._days.get(key, 0)
        return Instant(now + -(-left // self._on[key]) * _UNIT)


def _until(
    one: Verdict, option: Option, frozen: Mapping[str, bool], soak: _Soak | None, now: Instant
) -> Instant | None:
    """When time alone may open a gate; None: it does not."""
    if one.reason is VersionReason.VersionSoaking and soak is not None:
        return soak.until(one, now)
    if one.gate is Gate.FREEZE and one.until is not None and not frozen.get(str(one.facts[0])):
        # It is on when the upgrade would start, and not yet: a later start may lie behind it.
        starts = [each.until for each in option.verdicts if each.gate is Gate.WINDOW and each.until]
        return min([one.until, *starts])
    return one.until


def _frozen_now(world: UpgradeWorld, now: Instant) -> dict[str, bool]:
    """Whether each freeze is on."""
    return {
        each.name: any(span.start <= now < span.end for span in each.spans)
        for each in world.brakes.freezes
    }


def _leads_to(versions: tuple[str, ...], minors: set[str]) -> bool:
    try:
        return any(minor_of(each) in minors for each in versions)
    except VersionError:
        return True
