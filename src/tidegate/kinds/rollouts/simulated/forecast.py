"""When each target gets the change: the present world, run ahead in virtual time by the same rules.

Dates follow from order, slots, soak and whatever else the rules know, on the assumption that every
change takes its usual time and succeeds. What no clock opens (an approval, a pause) has no date,
and is named instead.
"""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from tidegate.explain.sentence import sentence
from tidegate.explain.table import first_shut
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.journal.state import RolloutState, world_of
from tidegate.kinds.rollouts.core.remember import remember
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import ChangeKind
from tidegate.model.reason import Gate, Outcome
from tidegate.model.target import State, Status, Target
from tidegate.model.time import Duration, Instant
from tidegate.model.verdict import Verdict

# Steps ahead; a rollout that needs more has no date worth giving.
STEPS_MAX = 2_000
# What people put in the way of a target whose turn it is.
_BRAKES = frozenset((
    Gate.HOLD, Gate.FREEZE, Gate.BLOCK, Gate.APPROVAL, Gate.SHARED_BUDGET, Gate.MUTEX, Gate.HEALTH,
))  # fmt: skip


class Collision(msgspec.Struct, frozen=True):
    """A brake, and nothing else, keeps a target from starting when its turn has come."""

    at: Instant
    verdict: Verdict


class TargetForecast(msgspec.Struct):
    """When one target is expected to start and to be done, and what that depends on."""

    target: str
    group: str
    starts_at: Instant | None = None
    done_at: Instant | None = None
    # What it gets then: not what is declared, if another rollout goes first and nothing follows.
    revision: str | None = None
    # Every gate it waits at on the way, in order.
    depends_on: list[str] = []
    # What no clock opens; empty if there is a date.
    held_by: str = ""
    # What is not dated does not happen before this: we looked no further; None: to the end.
    not_before: Instant | None = None
    # Every brake that is on when its turn has come, once each.
    collisions: list[Collision] = []


def forecast(
    state: RolloutState,
    now: Instant,
    apply_times: Mapping[str, Duration],
    usual: Duration,
    steps_max: int = STEPS_MAX,
) -> list[TargetForecast]:
    """Run a rollout ahead, for so many steps; one line a target, in group, then rank order."""
    # What is put into these two below; all else is replaced as a whole, or stays as it is.
    ahead = replace(state, reports=dict(state.reports), pending=dict(state.pending))
    if ahead.brakes is not None:  # our own places follow from the targets in progress, which change
        own = ahead.brakes.partition
        others = tuple(each for each in ahead.brakes.claims if each.partition != own)
        ahead.brakes = replace(ahead.brakes, claims=others)
    ends = _ends(ahead, now, apply_times, usual)
    found: dict[str, TargetForecast] = {}
    # The gate that says most of each target that waits, as it was decided last.
    shut: dict[str, Verdict] = {}
    plan: RolloutPlan | None = None
    for _ in range(steps_max):
        _settle(ahead, ends, now)
        world = world_of(ahead, ahead.brakes)
        if world is None:
            return []
        plan = decide(world, now)
        _note(found, shut, world, plan, now)
        ahead.rollout = remember(world, plan, "ahead")
        for action in plan.actions:
            if action.change.kind is ChangeKind.REMOVE:
                ahead.reports.pop(action.target, None)
                continue
            report = Target(action.target, Status.Progressing, now, action.change.revision)
            ahead.reports[action.target] = report
            ends[action.target] = Instant(now + apply_times.get(action.target, usual))
        # Where nothing was done and nothing became true, the same would be decided again.
        idle = not plan.actions and not plan.events
        moment = _next(ahead, ends, now, plan if idle else None)
        if moment is None:
            break
        now = moment
    else:
        _bound(found.values(), shut, now)
    words = {id(each): sentence(each) for each in shut.values()}
    for name, each in shut.items():
        found[name].held_by = words[id(each)]
    return list(found.values())


def _bound(found: Iterable[TargetForecast], shut: dict[str, Verdict], moment: Instant) -> None:
    """There were more steps: whatever has no date has one from this moment on, or none."""
    for each in found:
        if each.done_at is None:
            each.not_before = moment
            shut.pop(each.target, None)


def _ends(
    state: RolloutState, now: Instant, apply_times: Mapping[str, Duration], usual: Duration
) -> dict[str, Instant]:
    """When what is in flight now is expected to end: after its usual time, or any moment."""
    for one in state.pending.values():
        name = one.task.target
        state.reports[name] = Target(name, Status.Progressing, one.at, one.task.change.revision)
    state.pending.clear()
    return {
        name: Instant(max(now + 1, (report.since or now) + apply_times.get(name, usual)))
        for name, report in state.reports.items()
        if report.status is Status.Progressing
    }


def _settle(state: RolloutState, ends: dict[str, Instant], now: Instant) -> None:
    for name in [name for name, end in ends.items() if end <= now]:
        known = state.reports[name]
        state.reports[name] = replace(known, status=Status.Succeeded, since=ends.pop(name))


def _next(
    state: RolloutState, ends: dict[str, Instant], now: Instant, plan: RolloutPlan | None
) -> Instant | None:
    if plan is None:
        world = world_of(state, state.brakes)
        plan = decide(world, now) if world is not None else None
    again = plan.recheck_at if plan is not None else None
    later = [moment for moment in (again, *ends.values()) if moment is not None and moment > now]
    return min(later, default=None)


def _note(
    found: dict[str, TargetForecast],
    shut: dict[str, Verdict],
    world: RolloutWorld,
    plan: RolloutPlan,
    now: Instant,
) -> None:
    starting = set(plan.started)
    # Targets share their verdicts: what follows from them is computed once.
    said: dict[int, _Said] = {}
    for group in world.groups:
        for i in range(group.first, group.last):
            target, state = world.targets[i], plan.states[i]
            expected = found.get(target.name)
            if expected is None:
                expected = found[target.name] = TargetForecast(target.name, group.label)
            if i in starting:
                expected.starts_at, expected.done_at = now, None
                shut.pop(target.name, None)
                expected.revision = plan.course.revision
                continue
            if state is State.DONE and expected.done_at is None:
                # Done before we looked: since it succeeded, as far as it says.
                was_done = expected.starts_at is None and not expected.depends_on
                expected.done_at = target.since if was_done and target.since is not None else now
                expected.revision = plan.course.revision
                shut.pop(target.name, None)
                continue
            verdicts = plan.options[i].verdicts
            told = said.get(id(verdicts))
            if told is None:
                told = said[id(verdicts)] = _said(verdicts)
            _collide(expected.collisions, told.brakes, now)
            if told.first is not None and state is not State.DONE:
                shut[target.name] = told.first
                if told.first.gate.value not in expected.depends_on:
                    expected.depends_on.append(told.first.gate.value)


class _Said(msgspec.Struct):
    """What some verdicts mean for a target that waits."""

    # The gate that says most; None: all are open.
    first: Verdict | None
    # The brakes that are on, if nothing else is in the way.
    brakes: list[Verdict]


def _said(verdicts: tuple[Verdict, ...]) -> _Said:
    shut = [each for each in verdicts if each.outcome is not Outcome.PASS]
    first = first_shut(verdicts)
    if first is None:
        return _Said(None, [])
    alone = all(each.gate in _BRAKES for each in shut)
    return _Said(first, shut if alone else [])


def _collide(found: list[Collision], brakes: list[Verdict], now: Instant) -> None:
    """Note brakes that were not met before."""
    if brakes:
        known = {likeness(each.verdict) for each in found}
        found += (Collision(now, each) for each in brakes if likeness(each) not in known)


def likeness(one: Verdict) -> tuple[object, ...]:
    """What makes two verdicts of one brake the same: a freeze again is another one."""
    return one.gate, one.facts[:1], one.until


def usual_time(durations: list[Duration], otherwise: Duration) -> Duration:
    """The median of what changes took; the assumption where nothing is known."""
    if not durations:
        return otherwise
    return sorted(durations)[len(durations) // 2]
