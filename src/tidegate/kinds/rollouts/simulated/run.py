"""A rollout in virtual time: the same `decide`, on a fleet that behaves as its scenario says.

The loop is the one that runs in production: observe, decide, remember, act, and look again when
time or the fleet changes something. Only the clock and the clusters are made up.
"""

import msgspec

from tidegate.gates.brakes import Brakes
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.remember import forgotten, remember
from tidegate.kinds.rollouts.core.strategy import Approvals, Retry, Rollout
from tidegate.kinds.rollouts.core.world import Membership, RolloutWorld, build_world
from tidegate.kinds.rollouts.simulated.fleet import FleetModel
from tidegate.kinds.rollouts.wire.scenario_doc import Scenario, ScenarioEvent, ScenarioVerb
from tidegate.model.plan import ChangeKind
from tidegate.model.problem import Problems
from tidegate.model.target import State, Status
from tidegate.model.time import Instant

# A story longer than this does not end: the scenario loops, or it is far too large to follow.
STEPS_MAX = 5_000


class SimulatedStep(msgspec.Struct, frozen=True):
    """One moment at which something was decided."""

    at: Instant
    world: RolloutWorld
    plan: RolloutPlan
    # What the scenario made happen just before.
    happened: tuple[ScenarioEvent, ...]
    # What each cluster said when its change ended.
    said: dict[str, str]
    # What else happened just before, in words.
    notes: tuple[str, ...] = ()


class Simulation:
    """Runs a scenario step by step."""

    def __init__(self, scenario: Scenario, seed: int = 0) -> None:
        self.scenario = scenario
        self.now = scenario.start
        self._fleet = FleetModel(scenario, seed)
        self._revision = scenario.revision
        self._rollout = Rollout(uid="r1", revision=scenario.revision, last_good=scenario.last_good)
        self._brakes = scenario.brakes
        self._ahead = list(scenario.events)
        self._steps = 0

    def step(self) -> SimulatedStep | None:
        """Decide and act once, then move the clock on; None when nothing more can happen."""
        if self._steps >= STEPS_MAX:
            return None
        self._steps += 1
        self._fleet.settle(self.now)
        happened = self._happen()
        world = self._world()
        plan = decide(world, self.now)
        said = {each.name: each.said for each in self._fleet.clusters.values() if each.said}
        step = SimulatedStep(self.now, world, plan, happened, said)
        self._act(world, plan)
        self._move_on()
        return step

    def run(self) -> list[SimulatedStep]:
        """All steps, to the end of the story."""
        steps: list[SimulatedStep] = []
        while (step := self.step()) is not None:
            steps.append(step)
            if self.now <= step.at:
                break
        return steps

    def _world(self) -> RolloutWorld:
        groups: list[list[str]] = [[] for _ in self.scenario.groups]
        for cluster in self._fleet.clusters.values():
            if cluster.group >= 0:
                groups[cluster.group].append(cluster.name)
        return build_world(
            self.scenario.strategy,
            [
                Membership(group.name, at, tuple(groups[at]))
                for at, group in enumerate(self.scenario.groups)
            ],
            self._fleet.reports(),
            problems=Problems(),
            labels={each.name: each.labels for each in self._fleet.clusters.values()},
            revision=self._revision,
            rollout=self._rollout,
            brakes=self._brakes,
        )

    def _act(self, world: RolloutWorld, plan: RolloutPlan) -> None:
        new_uid = f"r{self._steps + 1}"
        self._rollout = remember(world, plan, new_uid)
        for position in forgotten(world, plan):
            self._fleet.forget(world.targets[position].name)
        for action in plan.actions:
            if action.change.kind is ChangeKind.REMOVE:
                self._fleet.remove(action.target)
            else:
                self._fleet.apply(action.target, action.change.revision or "", self.now)

    def _move_on(self) -> None:
        """To the next moment at which anything can change; nowhere if there is none."""
        # What was started just now has deadlines of its own: ask again, having acted.
        moments = [decide(self._world(), self.now).recheck_at, self._fleet.next_end()]
        if self._ahead:
            moments.append(Instant(self.scenario.start + self._ahead[0].after))
        later = [moment for moment in moments if moment is not None and moment > self.now]
        end = self.scenario.start + self.scenario.stop_after
        self.now = min((moment for moment in later if moment <= end), default=self.now)

    def _happen(self) -> tuple[ScenarioEvent, ...]:
        happened: list[ScenarioEvent] = []
        while self._ahead and self.scenario.start + self._ahead[0].after <= self.now:
            one = self._ahead.pop(0)
            self._take(one)
            happened.append(one)
        return tuple(happened)

    def _take(self, one: ScenarioEvent) -> None:
        fleet = self._fleet
        match one.verb:
            case ScenarioVerb.APPROVE | ScenarioVerb.REVOKE:
                self._approve(one)
            case ScenarioVerb.JOIN:
                at = [group.name for group in self.scenario.groups].index(one.group)
                for name in one.names:
                    fleet.join(name, at)
            case ScenarioVerb.LEAVE:
                for name in one.names:
                    if name in fleet.clusters:
                        fleet.leave(name)
            case ScenarioVerb.MEND:
                for name in one.names:
                    fleet.mend(name)
            case ScenarioVerb.PAUSE | ScenarioVerb.RESUME:
                self._note(paused=one.verb is ScenarioVerb.PAUSE)
            case ScenarioVerb.ABORT:
                self._note(aborted=True)
            case ScenarioVerb.RETRY:
                failed = "failed" in one.names
                self._note(retry=Retry.FAILED if failed else Retry.EVERYTHING)
            case ScenarioVerb.REVISION:
                self._revision = one.names[0]
            case ScenarioVerb.HOLD | ScenarioVerb.LIFT:
                self._brakes = _braked(self._brakes or Brakes(), one)

    def _approve(self, one: ScenarioEvent) -> None:
        known = self._rollout.approvals
        named = frozenset(one.names) - {"ungrouped"}
        given = one.verb is ScenarioVerb.APPROVE
        groups = known.groups | named if given else known.groups - named
        ungrouped = given if "ungrouped" in one.names else known.ungrouped
        version = known.for_version
        if given:
            version = None if one.standing else self._revision
        self._note(approvals=Approvals(groups, ungrouped, version))

    def _note(self, **changes: object) -> None:
        self._rollout = msgspec.structs.replace(self._rollout, **changes)


def _braked(brakes: Brakes, one: ScenarioEvent) -> Brakes:
    """The brakes with a hold more, or without those that were lifted."""
    gone = frozenset(one.names)
    left = msgspec.structs.replace(
        brakes,
        holds=tuple(each for each in brakes.holds if each.name not in gone),
        freezes=tuple(each for each in brakes.freezes if each.name not in gone),
        blocks=tuple(each for each in brakes.blocks if each.name not in gone),
        pins=tuple(each for each in brakes.pins if each.name not in gone),
    )
    if one.hold is None:
        return left
    holds = tuple(each for each in brakes.holds if each.name != one.hold.name)
    return msgspec.structs.replace(brakes, holds=(*holds, one.hold))


def unfinished(step: SimulatedStep) -> list[int]:
    """Positions of targets that have not got where they should at the end of a story."""
    done = (State.DONE,)
    return [
        i
        for i, target in enumerate(step.world.targets)
        if step.plan.states[i] not in done and target.status is not Status.Skip
    ]
