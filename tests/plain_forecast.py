"""Foresight done plainly: every look is a whole decision about every cluster.

What `tidegate.kinds.upgrades.core.foresight` computes by looking only at what may have changed must
be what this results in. It is slow, and that is its point: there is nothing in it to get wrong.
"""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from tidegate.kinds.upgrades.core.foresight.expected import (
    ExpectedUpgrades,
    begin_with,
    end_with,
    leg_from,
)
from tidegate.kinds.upgrades.core.foresight.forecast import FleetForecast
from tidegate.kinds.upgrades.core.foresight.future import FleetFuture
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.rules.fleet import OrganisationFleet
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.rules.soak import DAY, carried, inherited
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


def plain_forecast(
    world: UpgradeWorld, now: Instant, pace: UpgradePace | None = None
) -> FleetForecast:
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
        now, cut, ended = self._began, False, False
        self._agree(now)
        plan = self._decide(now)
        found = begin_with(plan, self._future.under_way())
        outlook = FleetForecast(plan, found, self._end)
        for _ in range(LOOKS_MAX):
            outlook.looks += 1
            self._act(plan, found, now)
            moment = self._next(plan, now, ended)
            if moment is None:
                break
            if moment > self._end:
                cut = True
                break
            self._soak_until(Instant(moment - self._pace.round))
            now = moment
            if ended := self._future.settle(now):
                self._agree(now)
            plan = self._decide(now)
        else:
            cut = True
        end_with(plan, found, beyond=cut)
        return outlook

    def _soak_until(self, moment: Instant) -> None:
        ledgers = self._future.ledgers
        self._future.ledgers = {key: carried(each, moment) for key, each in ledgers.items()}

    def _decide(self, now: Instant) -> UpgradePlan:
        plan = decide(self._future.world(now), now)
        self._future.ledgers |= plan.ledgers
        self._waits.note(plan)
        return plan

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
                leg = leg_from(step, under, before, opened, (), now)
                if leg is not None:
                    found[action.target].legs.append(leg)

    def _next(self, plan: UpgradePlan, now: Instant, ended: bool) -> Instant | None:
        """The next round at which something may be decided that is not decided now."""
        moments = set(self._opening(plan, now))
        if (ends_at := self._future.next_end()) is not None:
            moments.add(ends_at)
        at_once = any(
            isinstance(e.change, UpgradeStep) and e.change.doing in _AT_ONCE for e in plan.actions
        )
        # What others inherit, they see in the round after.
        at_once = at_once or (ended and any(each.sources for each in plan.fleets))
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


class GateWaits:
    """Which gates kept each option shut since the cluster's last step."""

    def __init__(self) -> None:
        # By cluster, then by what would be done, then by gate: at which look it was last shut.
        self._shut: dict[str, dict[tuple[StepKind, str, str], dict[Gate, tuple[int, Verdict]]]] = {}
        self._look = 0

    def note(self, plan: UpgradePlan) -> None:
        """One more look."""
        self._look += 1
        for option in plan.options:
            step = option.change
            if not isinstance(step, UpgradeStep):
                continue
            uuid = plan.members[option.target].cluster.uuid
            for each in option.verdicts:
                if each.outcome is not Outcome.PASS:
                    mine = self._shut.setdefault(uuid, {}).setdefault(_key(step), {})
                    mine[each.gate] = (self._look, each)

    def opened(self, uuid: str, step: UpgradeStep) -> tuple[Verdict, ...]:
        """The gates of a step that starts now, by when they opened; and forget them."""
        mine = self._shut.pop(uuid, {}).get(_key(step), {})
        return tuple(each for _, each in sorted(mine.values(), key=lambda one: one[0]))


def _key(step: UpgradeStep) -> tuple[StepKind, str, str]:
    return step.doing, step.revision or "", step.pool


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
