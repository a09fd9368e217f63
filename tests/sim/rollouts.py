"""A rollout simulated in virtual time, with everything that happens to real ones.

Clusters join and leave, fail, fall silent and answer late; people approve and revoke, pause, retry,
abort, declare new revisions and take them back. Every step is decided, held against the invariants
of one decision and against the truth of the fleet, and acted on; then the clock moves to the next
moment at which anything can change. In the end a rollout has arrived, or every target that has not
says why, and what it says is true (tests/sim/truth.py).
"""

import random
from dataclasses import dataclass, field

import msgspec

from tests.sim.again import acting_settles, times_are_honest, waits_say_until
from tests.sim.drawing import describe
from tests.sim.fleet import GONE, MINUTE, Fleet
from tests.sim.generator import Case, Dice, make_strategy
from tests.sim.laws import check_plan
from tests.sim.truth import Deed, check_end, check_step
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.remember import forgotten, remember
from tidegate.kinds.rollouts.core.strategy import Approvals, Retry, Rollout, StrategyType
from tidegate.kinds.rollouts.core.world import Membership, RolloutWorld
from tidegate.model.plan import ChangeKind, Event
from tidegate.model.time import SECOND, Instant, format_duration

START = Instant(1_750_000_000 * SECOND)
# The longest story of the first 20,000 seeds takes half as many steps: each one spends a happening,
# an answer or a timer, and there are some dozens of each.
STEPS_MAX = 400
HORIZON_S = 3 * 3600
GROUPS = ("dev", "stage", "prod", "")


@dataclass(order=True)
class Happening:
    """Something that people or the fleet do at a moment, whatever the rollout does."""

    at: Instant
    what: str
    who: str = ""


@dataclass
class Story:
    """One rollout from its seed on: the fleet, what is remembered, and what is still to happen."""

    seed: int
    rng: random.Random = field(init=False)
    now: Instant = START
    steps: int = 0
    log: list[str] = field(default_factory=list)
    # Clusters that an incomplete reading does not show.
    hidden: set[str] = field(default_factory=set)
    complete: bool = True
    # What was begun with the revision under way, so that no target begins twice.
    begun: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.strategy = make_strategy(Dice(self.seed))
        self.fleet = Fleet(self.rng, marks=self.rng.random() < 0.8)
        self.groups = GROUPS[: self.rng.randint(1, len(GROUPS))]
        for i in range(self.rng.randint(1, 12)):
            self.fleet.join(f"c{i}", self.rng.randrange(len(self.groups)))
        self.revision = "r1"
        first_time = self.rng.random() < 0.2
        self.rollout = Rollout(revision="r1", last_good=None if first_time else "r0")
        if not first_time and self.fleet.marks:
            for name in self.fleet.clusters:
                self.fleet.settle(name, "r0", START)
        self.ahead = sorted(self._happenings())

    def _happenings(self) -> list[Happening]:
        found: list[Happening] = []
        if self.strategy.type is StrategyType.MANUAL_PER_GROUP:
            found += [self._at("approve", name) for name in self.groups if self.rng.random() < 0.85]
        for _ in range(self.rng.choice((0, 1, 2, 3, 4, 6))):
            what = self.rng.choice(_HAPPENINGS)
            found.append(self._at(what, self.rng.choice((*self.fleet.clusters, *self.groups))))
            for follows, percent in _FOLLOWS.get(what, ()):
                if self.rng.random() * 100 < percent:
                    found.append(self._at(follows, found[-1].who, after=found[-1].at))
        return found

    def _at(self, what: str, who: str, after: Instant = START) -> Happening:
        moment = after + self.rng.randrange(HORIZON_S) * SECOND
        if self.rng.random() < 0.3:  # people come exactly when something else is due, now and then
            moment -= (moment - START) % (5 * MINUTE)
        return Happening(Instant(max(moment, after)), what, who)

    def case(self) -> Case:
        """What can be read of the fleet now."""
        members: list[list[str]] = [[] for _ in self.groups]
        for one in self.fleet.clusters.values():
            if one.group != GONE and one.name not in self.hidden:
                members[one.group].append(one.name)
        return Case(
            self.strategy,
            tuple(Membership(name, i, tuple(members[i])) for i, name in enumerate(self.groups)),
            self.fleet.reports(),
            self.fleet.labels,
            self.revision,
            self.rollout,
            self.complete,
            self.now,
        )

    def step(self) -> bool:
        """Decide, check, act and move on; False when nothing more can happen."""
        self.steps += 1
        if self.steps > STEPS_MAX:
            raise AssertionError(f"no end after {STEPS_MAX} steps")
        self.fleet.tick(self.now)
        while self.ahead and self.ahead[0].at <= self.now:
            self._happen(self.ahead.pop(0))
        case = self.case()
        world = case.world()
        plan = decide(world, self.now)
        check_plan(world, self.now, plan)
        times_are_honest(world, self.now, plan)
        waits_say_until(world, self.now, plan)
        acting_settles(case, world, plan)
        self._act(world, plan)
        return self._move_on(world, plan)

    def _act(self, world: RolloutWorld, plan: RolloutPlan) -> None:
        deed = Deed(self.fleet, world, plan, self.now, self.begun)
        self._remember(world, plan)
        for action in plan.actions:
            if action.change.kind is ChangeKind.REMOVE:
                del self.fleet.clusters[action.target]
                continue
            back = action.change.kind is ChangeKind.RETURN
            self.fleet.apply(action.target, action.change.revision or "", self.now, back=back)
        self._tell(plan)
        check_step(deed, self.rollout)

    def _remember(self, world: RolloutWorld, plan: RolloutPlan) -> None:
        names = {world.targets[i].name for i in forgotten(world, plan)}
        for name in names:
            self.fleet.forget(name)
        if Event.SUPERSEDED in plan.events:
            self.fleet.relabel(self.rollout.revision)
        if {Event.SUPERSEDED, Event.RESTARTED} & set(plan.events):
            self.begun.clear()
        self.begun -= names
        self.rollout = remember(world, plan, f"u{self.steps}")

    def _tell(self, plan: RolloutPlan) -> None:
        done = [event.value for event in plan.events]
        done += [f"{action.change.kind.value} {action.target}" for action in plan.actions]
        if done:
            age = format_duration(self.now - START)
            self.log.append(f"+{age}  {plan.summary.value}: {', '.join(done)}")

    def _move_on(self, world: RolloutWorld, plan: RolloutPlan) -> bool:
        """To the next moment at which anything can change, deadlines of what began included."""
        recheck_at = decide(self.case().world(), self.now).recheck_at
        moments = [recheck_at, self.fleet.next_at(), self.ahead[0].at if self.ahead else None]
        later = [moment for moment in moments if moment is not None and moment > self.now]
        if later:
            self.now = min(later)
            return True
        if not plan.actions and not plan.events:
            return False
        return True  # it acted just now: look once more at what came of it

    def _happen(self, one: Happening) -> None:
        self.log.append(f"+{format_duration(one.at - START)}  {one.what} {one.who}".rstrip())
        getattr(self, f"_{one.what}")(one.who)

    def _note(self, **changes: object) -> None:
        self.rollout = msgspec.structs.replace(self.rollout, **changes)

    def _approve(self, who: str) -> None:
        known = self.rollout.approvals
        version = None if self.rng.random() < 0.3 else self.revision
        kept = known.groups if known.for_version == version else frozenset[str]()
        given = kept | {who} if who else kept
        self._note(approvals=Approvals(given, known.ungrouped or not who, version))

    def _revoke(self, who: str) -> None:
        known = self.rollout.approvals
        self._note(approvals=msgspec.structs.replace(known, groups=known.groups - {who}))

    def _join(self, who: str) -> None:
        name = f"n{self.steps}"
        self.fleet.join(name, self.rng.randrange(len(self.groups)))

    def _leave(self, who: str) -> None:
        if who in self.fleet.clusters:
            self.fleet.clusters[who].group = GONE
            self.begun.discard(who)

    def _declare(self, who: str) -> None:
        self.revision = f"r{int(self.revision[1:]) + self.rng.randint(1, 2)}"

    def _revert(self, who: str) -> None:
        self.revision = self.rollout.last_good or self.revision

    def _pause(self, who: str) -> None:
        self._note(paused=True)

    def _resume(self, who: str) -> None:
        self._note(paused=False)

    def _abort(self, who: str) -> None:
        self._note(aborted=True)

    def _retry(self, who: str) -> None:
        what = self.rng.choice((Retry.FAILED, Retry.FAILED, Retry.EVERYTHING))
        if self.rng.random() < 0.3:
            self._note(retry_groups={self.rng.choice(self.groups): what})
        else:
            self._note(retry=what)

    def _hide(self, who: str) -> None:
        self.complete = False
        self.hidden.add(who)

    def _show(self, who: str) -> None:
        self.complete = True
        self.hidden.clear()

    def tell(self) -> str:
        """The story so far, and where it stands."""
        world = self.case().world()
        drawing = describe(world, self.now)
        return "\n".join((*self.log, f"+{format_duration(self.now - START)}", drawing))


_HAPPENINGS = (
    *("join", "join", "leave", "declare", "declare", "revert", "pause", "abort"),
    *("retry", "retry", "hide", "approve", "revoke"),
)
# What is likely to come after: a pause is mostly lifted, a fog mostly clears.
_FOLLOWS: dict[str, tuple[tuple[str, int], ...]] = {
    "pause": (("resume", 85),),
    "hide": (("show", 85),),
    "declare": (("approve", 60),),
    "abort": (("retry", 40),),
}


def live_through(seed: int) -> Story:
    """The whole story of a seed; whatever is broken on the way is reported with its seed."""
    story = Story(seed)
    try:
        while story.step():
            pass
        world = story.case().world()
        check_end(story.fleet, world, story.now, decide(world, story.now), story.rollout)
    except AssertionError as error:
        again = f"python -m tests.sim --seeds 1 --seed {seed}"
        raise AssertionError(f"{error}\n\nseed {seed}: {again}\n{story.tell()}") from error
    return story
