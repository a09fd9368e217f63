"""Carries plans out in the world of a story: one plan, or round after round until nothing moves."""

import copy
from collections import Counter
from dataclasses import dataclass

from tests.scenarios.drawing import offset, some
from tests.scenarios.story import Doc, Story, StoryError, names_of, pairs_of
from tidegate.explain.table import layout
from tidegate.kinds.rollouts.core.course import CourseMode
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.remember import forgotten, remember
from tidegate.kinds.rollouts.core.strategy import Rollout
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.kinds.rollouts.wire import compat_line
from tidegate.model.plan import ChangeKind, Event
from tidegate.model.target import Status
from tidegate.model.time import Duration, Instant, parse_duration, parse_instant

Lines = tuple[str, ...]

# The columns of a rehearsal: where targets can be.
COUNTED = ("waiting", "updating", "soaking", "done", "failed")


def act_command(story: Story, rest: str, lines: Lines) -> list[str]:
    """Decide and carry the plan out; prints what was done."""
    plan = act(story)
    done: list[str] = []
    for kind in ChangeKind:
        by_revision: dict[str | None, list[str]] = {}
        for action in plan.actions:
            if action.change.kind is kind:
                by_revision.setdefault(action.change.revision, []).append(action.target)
        for revision, names in by_revision.items():
            done.append(" ".join([kind.value, *([revision] if revision else [])]))
            done[-1] += f": {some(names)}"
    if plan.events:
        done.append("events " + " ".join(event.value for event in plan.events))
    return done or ["nothing to do"]


def act(story: Story) -> RolloutPlan:
    """Carry the strict plan out: who starts or returns is being updated from now on."""
    reading = story.read()
    world, plan = reading.world, decide(reading.world, reading.now)
    if {Event.RESTARTED, Event.SUPERSEDED} & set(plan.events):
        story.uids += 1
    story.forget({world.targets[i].name for i in forgotten(world, plan)})
    for action in plan.actions:
        story.forget({action.target})
        if action.change.kind is not ChangeKind.REMOVE:
            settled = plan.course.mode is CourseMode.SETTLED
            status = Status.NewCluster if settled else Status.Progressing
            story.hear(action.target, status.name, story.now, action.change.revision)
    _remember(story, world, plan)
    return plan


def _remember(story: Story, world: RolloutWorld, plan: RolloutPlan) -> None:
    """What the plan makes true of the rollout, and which revision is under way."""
    rollout = remember(world, plan, f"u{story.uids}")
    said: Doc = {
        "uid": rollout.uid,
        "version": rollout.version,
        "revision": rollout.revision or plan.course.revision,
        "lastGood": rollout.last_good,
        "approvals": story.rollout.get("approvals"),
        "retry": story.rollout.get("retry") if rollout.is_retried else None,
        **_flags(rollout),
    }
    story.rollout = {key: value for key, value in said.items() if value is not None}


def _flags(rollout: Rollout) -> Doc:
    flags = {
        "completed": rollout.completed,
        "paused": rollout.paused,
        "aborted": rollout.aborted,
    }
    return {name: True for name, value in flags.items() if value}


@dataclass
class Rehearsal:
    """Rounds of one story, in which every target takes its time and then reports success."""

    story: Story
    takes: dict[str, Duration]
    silent: frozenset[str]
    soak: Duration
    deadline: Duration | None

    def answer(self) -> None:
        """Those whose time has come report success."""
        for one in [one for one in self.story.statuses if self._ends_at(one) is not None]:
            end = self._ends_at(one)
            if end is not None and end <= self.story.now:
                self.story.forget({one["cluster"]})
                self.story.hear(one["cluster"], "Succeeded", end, one.get("revision"))

    def _ends_at(self, one: Doc) -> Instant | None:
        if one["status"] != "Progressing" or one["cluster"] in self.silent:
            return None
        since = parse_instant(one["lastTransitionTime"])
        return Instant(since + self.takes[one["cluster"]])

    def next_at(self, recheck_at: Instant | None) -> Instant | None:
        """When something happens next; None if nothing ever does."""
        ends = [self._ends_at(one) for one in self.story.statuses]
        moments = [end for end in (*ends, recheck_at) if end is not None and end > self.story.now]
        return min(moments, default=None)

    def counts(self) -> tuple[int, ...]:
        """How many targets are where, in the order of COUNTED."""
        found = Counter(self._place(one) for one in self.story.statuses)
        found["waiting"] += len(self.takes) - len(self.story.statuses)
        return tuple(found[place] for place in COUNTED)

    def _place(self, one: Doc) -> str:
        status, revision = one["status"], one.get("revision")
        under_way = self.story.rollout.get("revision", self.story.revision)
        if status == "ToApply" or revision not in (None, under_way):
            return "waiting"
        since = parse_instant(one["lastTransitionTime"])
        if status == "Succeeded":
            return "soaking" if since + self.soak > self.story.now else "done"
        late = self.deadline is not None and since + self.deadline <= self.story.now
        return "failed" if late or status != "Progressing" else "updating"


def run_command(story: Story, rest: str, lines: Lines) -> list[str]:
    """`run 20 takes=1m..10m silent=c07`; `run 20 compat …` rehearses the library on a copy."""
    bound, *words = rest.split()
    with_compat = "compat" in words
    options = pairs_of([word for word in words if word != "compat"])
    stage = copy.deepcopy(story) if with_compat else story
    rehearsal = _rehearsal(stage, options)
    take_round = _compat_round if with_compat else _strict_round
    begin = stage.now
    seen: tuple[int, ...] = ()
    rows: list[tuple[str, ...]] = []
    upcoming: Instant | None = begin
    for _ in range(int(bound)):
        started, recheck_at = take_round(stage)
        counts = rehearsal.counts()
        if started or counts != seen:
            rows.append((offset(stage.now, begin), *map(str, counts), some(started)))
        upcoming, seen = rehearsal.next_at(recheck_at), counts
        if upcoming is None:
            break
        stage.now = upcoming
        rehearsal.answer()
    head = ("AT", *(place.upper() for place in COUNTED), "START")
    return [*layout(head, rows), _end(rehearsal, upcoming, offset(stage.now, begin))]


def _end(rehearsal: Rehearsal, upcoming: Instant | None, moment: str) -> str:
    if upcoming is not None:
        return f"still moving at {moment}"
    waiting = rehearsal.counts()[0]
    if waiting:
        return f"stuck at {moment}: {waiting} wait, and nothing will ever happen"
    return f"over at {moment}"


def _strict_round(story: Story) -> tuple[list[str], Instant | None]:
    plan = act(story)
    started = [one.target for one in plan.actions if one.change.kind is ChangeKind.APPLY]
    return started, plan.recheck_at


def _compat_round(story: Story) -> tuple[list[str], Instant | None]:
    answer = compat_line.reply(story.document())
    started = [one.cluster for one in answer.to_rollout if one.status == "ToApply"]
    for name in started:
        story.forget({name})
        story.hear(name, "Progressing", story.now, None)
    wait = answer.recheck_after_ns
    return started, None if wait is None else Instant(story.now + wait)


def _rehearsal(story: Story, options: Doc) -> Rehearsal:
    world = story.read().world
    first, _, last = str(options.get("takes", "5m")).partition("..")
    low, high = parse_duration(first), parse_duration(last or first)
    if not 0 < low <= high:
        raise StoryError("takes: write 5m, or 1m..10m")
    turns = range(low, high + 1, low)
    takes = {one.name: Duration(turns[i % len(turns)]) for i, one in enumerate(world.targets)}
    silent = frozenset(names_of(str(options.get("silent", "")).split(",")))
    return Rehearsal(story, takes, silent, world.strategy.soak, world.strategy.deadline)
