"""When each cluster is upgraded, and to what: the rules, run ahead on the world as it is.

    forecast(world, now, pace) -> FleetForecast

It jumps from round to round at which something may be decided that was not decided before: an
upgrade ended, or a gate opens that somebody waits at (`watch.py`). There only those clusters are
decided on, by the same rules as in a round, with the mutexes, sectors and soak of all. Moments are
those of rounds, so nothing is foreseen to happen between two looks.
"""

import msgspec

from tidegate.kinds.upgrades.core.foresight.doubt import own_doubts
from tidegate.kinds.upgrades.core.foresight.expected import (
    ExpectedUpgrades,
    GateWaits,
    begin_with,
    end_with,
    leg_from,
)
from tidegate.kinds.upgrades.core.foresight.future import FleetFuture
from tidegate.kinds.upgrades.core.foresight.look import FleetLooks
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.model.plan import Action
from tidegate.model.time import Instant

# Looks ahead: more than there are rounds in the usual horizon.
LOOKS_MAX = 20_000
# What changes the world at once, so that the next round may say something else.
_AT_ONCE = (StepKind.CHANNEL, StepKind.CANCEL, StepKind.CANCEL_ADDON)


class FleetForecast(msgspec.Struct):
    """What is decided now, and what is expected of every cluster."""

    plan: UpgradePlan
    # By external id, in the order of the plan.
    expected: dict[str, ExpectedUpgrades]
    # Nothing behind this was looked at.
    until: Instant
    # Moments that were looked at, and clusters that were decided on at all of them together.
    looks: int = 0
    decided: int = 0


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

    def run(self) -> FleetForecast:
        now, cut = self._began, False
        looks = FleetLooks(self._future, self._waits, now, self._pace)
        plan = looks.plan
        found = begin_with(plan, self._future.under_way())
        outlook = FleetForecast(plan, found, self._end)
        actions = plan.actions
        for _ in range(LOOKS_MAX):
            outlook.looks += 1
            self._act(looks, actions, found, now)
            moment = self._next(looks, actions, now)
            if moment is None:
                break
            if moment > self._end:
                cut = True
                break
            now = moment
            actions = looks.look(now)
        else:
            cut = True
        outlook.decided = looks.decided
        last = plan if now == self._began else looks.last_plan()
        end_with(last, found, beyond=cut)
        for uuid, expected in found.items():
            expected.unknown = self._future.unknown(uuid)
        return outlook

    def _act(
        self,
        looks: FleetLooks,
        actions: list[Action],
        found: dict[str, ExpectedUpgrades],
        now: Instant,
    ) -> None:
        for action in actions:
            step, uuid = action.change, action.target
            if isinstance(step, UpgradeStep):
                before = self._future.cluster(uuid)
                unknown = self._future.unknown(uuid)
                under = self._future.carry_out(action, now)
                if step.addon:  # it takes its time, and is no step of the cluster
                    continue
                doubts = (*own_doubts(found[uuid], unknown), *looks.doubts(uuid, step))
                opened = self._waits.opened(uuid, step)
                leg = leg_from(step, under, before, opened, doubts, now)
                if leg is not None:
                    found[uuid].legs.append(leg)

    def _next(self, looks: FleetLooks, actions: list[Action], now: Instant) -> Instant | None:
        """The next round at which something may be decided that is not decided now."""
        moments = [looks.next_opening(), self._future.next_end()]
        at_once = any(
            isinstance(e.change, UpgradeStep) and e.change.doing in _AT_ONCE for e in actions
        )
        if at_once or self._future.is_old(now):
            moments.append(Instant(now + 1))  # an old look says nothing of what soaked since
        known = [each for each in moments if each is not None]
        if not known:
            return None
        later = max(min(known), now + 1)
        rounds = -(-(later - self._began) // self._pace.round)
        return Instant(self._began + rounds * self._pace.round)
