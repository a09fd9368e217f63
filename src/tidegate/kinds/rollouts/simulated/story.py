"""A simulated rollout line by line: which targets started and succeeded, what stopped it, why."""

from collections.abc import Iterator

from tidegate.explain.sentence import sentence
from tidegate.explain.table import first_shut
from tidegate.kinds.rollouts.core.explain.table import failed_words
from tidegate.kinds.rollouts.simulated.run import SimulatedStep
from tidegate.kinds.rollouts.wire.scenario_doc import Scenario, ScenarioEvent, ScenarioVerb
from tidegate.model.plan import ChangeKind, Event
from tidegate.model.target import State
from tidegate.model.time import Instant, format_age, format_instant

# More names than this are counted, not listed.
NAMES_MAX = 4
_DAY = 24 * 3600 * 1_000_000_000

_VERBS = {
    ScenarioVerb.APPROVE: "approved",
    ScenarioVerb.REVOKE: "approval revoked:",
    ScenarioVerb.LEAVE: "left:",
    ScenarioVerb.PAUSE: "paused",
    ScenarioVerb.RESUME: "resumed",
    ScenarioVerb.ABORT: "aborted",
    ScenarioVerb.RETRY: "retry:",
    ScenarioVerb.REVISION: "new revision declared:",
    ScenarioVerb.MEND: "fixed:",
    ScenarioVerb.LIFT: "lifted:",
}


def clock_text(scenario: Scenario, moment: Instant) -> str:
    """A moment of the story: the time of day, with the day it is from the second day on."""
    text = format_instant(moment)[11:16]
    day = (moment - scenario.start + scenario.start % _DAY) // _DAY
    return f"{day}d {text}" if day else text


def opening(scenario: Scenario) -> str:
    """The rollout on one line."""
    sizes = " · ".join(
        f"{group.name or 'ungrouped'} {len(group.clusters)}" for group in scenario.groups
    )
    way = f"{scenario.last_good} → {scenario.revision}" if scenario.last_good else scenario.revision
    return f"{scenario.name}  {way}   {sizes}"


def tell(scenario: Scenario, steps: list[SimulatedStep]) -> Iterator[tuple[Instant, str]]:
    """The lines of the story, each with its moment."""
    before: SimulatedStep | None = None
    for step in steps:
        lines = list(step_lines(scenario, before, step))
        clock = clock_text(scenario, step.at)
        for i, line in enumerate(lines):
            yield step.at, f"{clock if i == 0 else ' ' * len(clock)} {line}"
        before = step


def step_lines(
    scenario: Scenario, before: SimulatedStep | None, step: SimulatedStep
) -> Iterator[str]:
    """The lines of one step, without its moment."""
    for told in (*map(_happening, step.happened), *step.notes):
        yield f"● {told}"
    yield from _ended(scenario, before, step)
    yield from _stopped(before, step)
    plan, world = step.plan, step.world
    # One that waited for its turn begins in the moment in which the one before it ends.
    earlier = world.rollout.revision if world.rollout.revision != plan.course.revision else None
    if Event.COMPLETED in plan.events and earlier is not None:
        there = sum(target.revision == earlier for target in world.targets)
        yield f"✓ completed: {there} on {earlier}"
    for report in plan.groups:
        group = world.groups[report.group]
        mine = [i for i in plan.started if group.first <= i < group.last]
        if mine:
            yield f"▶ {group.label}  {_names([world.targets[i].name for i in mine])}"
    if Event.COMPLETED in plan.events and earlier is None:
        done = sum(report.tally.done for report in plan.groups)
        yield f"✓ completed: {done} on {plan.course.revision}"
    yield from _all_back(before, step)


def _happening(one: ScenarioEvent) -> str:
    if one.verb is ScenarioVerb.JOIN:
        return f"{', '.join(one.names)} joined {one.group}"
    if one.hold is not None:
        return f"hold {one.hold.name}: {one.hold.why} ({one.hold.owner})"
    return f"{_VERBS[one.verb]} {', '.join(one.names)}".rstrip()


def _ended(scenario: Scenario, before: SimulatedStep | None, step: SimulatedStep) -> Iterator[str]:
    """Changes that ended since the step before, group by group."""
    was = states_of(before) if before is not None else {}
    ended: dict[tuple[str, State, str], list[str]] = {}
    for group in step.world.groups:
        for i in range(group.first, group.last):
            name, state = step.world.targets[i].name, step.plan.states[i]
            if state in _WORDS and was.get(name, state) not in (state, State.DONE):
                note = _note(scenario, step, i, was[name])
                ended.setdefault((group.label, state, note), []).append(name)
    for (label, state, note), names in ended.items():
        yield f"{_WORDS[state]} {label}  {_names(names)}{note}"


_WORDS = {State.SOAKING: "✓", State.DONE: "✓", State.FAILED: "✗", State.TIMED_OUT: "✗"}


def _note(scenario: Scenario, step: SimulatedStep, i: int, was: State) -> str:
    target, state = step.world.targets[i], step.plan.states[i]
    said = step.said.get(target.name, "")
    if state is State.TIMED_OUT:
        return f": {sentence(step.plan.options[i].verdicts[0])}"
    if state is State.SOAKING:
        until = step.plan.options[i].verdicts[0].until
        return f": {said}, soaking to {clock_text(scenario, until)}" if until else f": {said}"
    if state is State.DONE and was is State.SOAKING:
        return ": soaked"
    return f": {said}" if said else ""


def states_of(step: SimulatedStep) -> dict[str, State]:
    """What every target is once the step is done."""
    states = {
        target.name: state
        for target, state in zip(step.world.targets, step.plan.states, strict=True)
    }
    for i in step.plan.started:
        states[step.world.targets[i].name] = State.IN_FLIGHT
    return states


def _stopped(before: SimulatedStep | None, step: SimulatedStep) -> Iterator[str]:
    """The moment the failure budget is spent: how far it got, and what it never reached."""
    if not step.plan.breached or (before is not None and before.plan.breached):
        return
    touched = sum(report.tally.touched for report in step.plan.groups)
    waiting = sum(report.tally.waiting for report in step.plan.groups)
    verdicts = [v for o in step.plan.options for v in o.verdicts if v.gate.value == "budget"]
    why = sentence(verdicts[0]) if verdicts else "the failure budget is spent"
    reach = f"{touched} of {touched + waiting} touched, {waiting} never saw it"
    back = [a for a in step.plan.actions if a.change.kind is ChangeKind.RETURN]
    rolling = f" · rolling back {len(back)}" if back else ""
    yield f"■ stopped: {why} · {reach}{rolling}"


def _all_back(before: SimulatedStep | None, step: SimulatedStep) -> Iterator[str]:
    """The moment the last touched target is back on the last good revision."""
    if before is not None and on_the_way_back(before) and not on_the_way_back(step):
        good = step.world.rollout.last_good
        there = sum(target.revision == good for target in step.world.targets)
        yield f"✓ {there} of {len(step.world.targets)} on {good}"


def is_news(before: SimulatedStep, step: SimulatedStep) -> bool:
    """Whether anything a story tells of has changed."""
    same = (before.plan.breached, states_of(before)) == (step.plan.breached, states_of(step))
    news = not same or bool(step.plan.events)
    return news or on_the_way_back(before) != on_the_way_back(step)


def on_the_way_back(step: SimulatedStep) -> frozenset[int]:
    """Positions of the targets that are to return to the last good revision, or are returning."""
    ways = (option for option in step.plan.options if option.change.kind is ChangeKind.RETURN)
    return frozenset(option.target for option in ways)


def _names(names: list[str]) -> str:
    if len(names) <= NAMES_MAX:
        return ", ".join(names)
    return f"{', '.join(names[:NAMES_MAX])} and {len(names) - NAMES_MAX} more"


def closing(scenario: Scenario, steps: list[SimulatedStep]) -> list[str]:
    """How it ended: the summary, how long it took, and why the rest waits."""
    last = steps[-1]
    tallies = [report.tally for report in last.plan.groups]
    counted = sum(tally.counted for tally in tallies)
    done, failed = sum(t.done for t in tallies), sum(t.failed for t in tallies)
    took = format_age(last.at - scenario.start)
    parts = [f"{last.plan.summary.value} after {took}", f"{done} of {counted} done"]
    if failed:
        parts.append(failed_words(last.plan, failed))
    lines = [" · ".join(parts)]
    undone: dict[str, int] = {}
    for i, state in enumerate(last.plan.states):
        gate = first_shut(last.plan.options[i].verdicts)
        if gate is not None and state is not State.DONE and i not in last.plan.started:
            undone[sentence(gate)] = undone.get(sentence(gate), 0) + 1
    return lines + [f"  {count} not done: {why}" for why, count in undone.items()]
