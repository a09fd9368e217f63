"""When each cluster is upgraded, and to what: the rules, run ahead on the world as it is.

    forecast(world, now, pace) -> FleetForecast

It jumps from round to round at which something may be decided that was not decided before: an
upgrade ended, or a gate opens at which a cluster waits (`watch.py`). There only those clusters are
decided on, by the same rules as in a round, with the mutexes, sectors and soak of all. Moments are
those of rounds, so nothing is foreseen to happen between two looks.
"""

from collections.abc import Mapping

import msgspec

from tidegate.kinds.upgrades.core.foresight.doubt import own_doubts
from tidegate.kinds.upgrades.core.foresight.expected import (
    ExpectedStart,
    ExpectedUpgrades,
    GateWaits,
    begin_with,
    end_with,
    leg_from,
    start_of,
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
# Of the first steps alone: decisions for each cluster, and for a small fleet.
DECISIONS_EACH, DECISIONS_LEAST = 1, 500
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


def first_starts(
    world: UpgradeWorld, now: Instant, pace: UpgradePace | None = None
) -> Mapping[str, ExpectedStart]:
    """The first step of every cluster, by external id: the same steps, and no further.

    It costs a few decisions. Where that is not enough, it says before which moment nothing starts.
    """
    return _Ahead(world, now, pace or UpgradePace()).run_shortly()


class _Ahead:
    def __init__(self, world: UpgradeWorld, now: Instant, pace: UpgradePace) -> None:
        self._began = now
        self._pace = pace
        self._end = Instant(now + pace.horizon)
        self._future = FleetFuture(world, now, pace)
        self._waits = GateWaits()
        self._looks = FleetLooks(self._future, self._waits, now, pace)
        self._found = begin_with(self._looks.plan, self._future.under_way())
        # Clusters without a step so far.
        self._stepless = {
            uuid for uuid, each in self._found.items() if not (each.upgrades or each.excluded)
        }
        self._now = now
        self._actions = self._looks.plan.actions

    def run(self) -> FleetForecast:
        """Look until nothing more happens."""
        looks, found = self._looks, self._found
        outlook = FleetForecast(looks.plan, found, self._end)
        moment: Instant | None = self._began
        for _ in range(LOOKS_MAX):
            outlook.looks += 1
            moment = self._go_on()
            if moment is None or moment > self._end:
                break
            self._look(moment)
        outlook.decided = looks.decided
        last = looks.plan if self._now == self._began else looks.last_plan()
        end_with(last, found, beyond=moment is not None)
        for uuid, expected in found.items():
            expected.unknown = self._future.unknown(uuid)
        return outlook

    def run_shortly(self) -> Mapping[str, ExpectedStart]:
        """Look until every cluster has a step, or it was enough."""
        members = len(self._found)
        enough = self._looks.decided + max(DECISIONS_LEAST, DECISIONS_EACH * members)
        moment: Instant | None = self._began
        for _ in range(LOOKS_MAX):
            moment = self._go_on()
            if moment is None or moment > self._end or self._looks.decided >= enough:
                break
            if not self._stepless:
                break
            self._look(moment)
        if moment is not None and moment > self._end:
            moment = None  # within the horizon nothing more happens
        return {uuid: start_of(each, moment) for uuid, each in self._found.items()}

    def _go_on(self) -> Instant | None:
        """Do what was decided; the next moment at which something may be; None: there is none."""
        for action in self._actions:
            if isinstance(action.change, UpgradeStep):
                self._do(action, action.change)
        return self._next()

    def _look(self, moment: Instant) -> None:
        self._now = moment
        self._actions = self._looks.look(moment)

    def _do(self, action: Action, step: UpgradeStep) -> None:
        uuid, expected = action.target, self._found[action.target]
        before, unknown = self._future.cluster(uuid), self._future.unknown(uuid)
        under = self._future.carry_out(action, self._now)
        if step.addon:  # it takes its time, and is no step of the cluster
            return
        doubts = (*own_doubts(expected, unknown), *self._looks.doubts(uuid, step))
        opened = self._waits.opened(uuid, step)
        leg = leg_from(step, under, before, opened, doubts, self._now)
        if leg is not None:
            expected.legs.append(leg)
            if expected.upgrades:
                self._stepless.discard(uuid)

    def _next(self) -> Instant | None:
        """The next round at which something may be decided that is not decided now."""
        now = self._now
        moments = [self._looks.next_opening(), self._future.next_end()]
        at_once = any(
            isinstance(e.change, UpgradeStep) and e.change.doing in _AT_ONCE for e in self._actions
        )
        if at_once or self._future.is_old(now):
            moments.append(Instant(now + 1))  # an old look says nothing of what soaked since
        known = [each for each in moments if each is not None]
        if not known:
            return None
        later = max(min(known), now + 1)
        rounds = -(-(later - self._began) // self._pace.round)
        return Instant(self._began + rounds * self._pace.round)
