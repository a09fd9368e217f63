"""A fact of the journal as one line: what happened, to whom, and why somebody wanted it."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from tidegate.explain.counted import counted
from tidegate.journal.facts import (
    Acted,
    AnyFact,
    Asked,
    Bound,
    Braked,
    Decided,
    Declared,
    Folded,
    Handled,
    Lifted,
    Mode,
    Observed,
    Task,
    Told,
)
from tidegate.kinds.upgrades.core.journal.facts import Imported, Planned, Surveyed
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant, format_second

# A line names this many; the others are counted.
NAMES_MAX = 3
_KINDS = ("holds", "freezes", "blocks", "pins", "budgets", "mutexes", "approvals", "health")


def fact_line(fact: AnyFact, target: str = "", gate: str = "") -> str:
    """What happened, on one line; where a target or a gate is named, what is said of it."""
    if isinstance(fact, Decided) and (target or gate):
        return _decided_of(fact, target, gate)
    if isinstance(fact, Observed) and target:
        reports = tuple(each for each in fact.reports if each.name == target)
        gone = tuple(name for name in fact.gone if name == target)
        return _observed(Observed(reports=reports, gone=gone, complete=fact.complete))
    return _LINES[type(fact)](fact)


def _declared(fact: Declared) -> str:
    targets = len({name for group in fact.groups for name in group.clusters})
    what = f"revision {fact.revision}" if fact.revision is not None else "a revision without a name"
    over = f"{counted(targets, 'target')} in {counted(len(fact.groups), 'group')}"
    return f"{what} for {over}, {fact.strategy.type.value}"


def _observed(fact: Observed) -> str:
    parts = []
    if fact.reports:
        parts.append(_names(f"{each.name} {each.status.name}" for each in fact.reports))
    if fact.gone:
        parts.append(f"gone: {_names(fact.gone)}")
    if not fact.complete:
        parts.append("the reading is incomplete")
    return "; ".join(parts) or "the reading is complete"


def _asked(fact: Asked) -> str:
    groups = f" {_names(fact.groups)}" if fact.groups else ""
    version = f" for {fact.version}" if fact.version is not None else ""
    return f"{fact.verb.value}{groups}{version}{_because(fact.reason)}"


def _decided(fact: Decided) -> str:
    parts = [fact.summary.value]
    would = "" if fact.mode is Mode.ACT else "would "
    kinds = dict.fromkeys(task.change.kind for task in fact.tasks)
    for kind in kinds:
        named = (task.target for task in fact.tasks if task.change.kind is kind)
        parts.append(f"{would}{kind.value} {_names(named)}")
    if fact.changed:
        parts.append(f"verdicts changed of {_names(stand.target for stand in fact.changed)}")
    parts += [event.value for event in fact.events]
    if fact.recheck_at is not None:
        parts.append(f"look again at {_moment(fact.recheck_at)}")
    return "; ".join(parts)


def _decided_of(fact: Decided, target: str, gate: str) -> str:
    """What a plan says of one target, of one gate, or of one gate at one target."""
    parts = [_task(fact, task) for task in fact.tasks if task.target == target]
    held: dict[str, list[str]] = {}
    for stand in fact.changed:
        for asked, outcome, reason, until in stand.verdicts:
            # What is open is worth a word only to whoever asked for that very gate.
            wanted = asked == gate if gate else outcome != Outcome.PASS.value
            if wanted and target in ("", stand.target):
                moment = f" until {_moment(until)}" if until is not None else ""
                held.setdefault(f"{asked} {outcome} {reason}{moment}", []).append(stand.target)
    parts += held if target else (f"{said}: {_names(names)}" for said, names in held.items())
    return "; ".join(parts) or "every gate is open"


def _task(fact: Decided, task: Task) -> str:
    would = "" if fact.mode is Mode.ACT else "would "
    return f"{would}{task.change.kind.value} {task.target}"


def _acted(fact: Acted) -> str:
    return f"{fact.outcome.value}: {fact.detail}" if fact.detail else fact.outcome.value


def _braked(fact: Braked) -> str:
    return f"{fact.brake} {fact.name} set{_because(fact.reason)}"


def _lifted(fact: Lifted) -> str:
    return f"{fact.brake} {fact.name} lifted{_because(fact.reason)}"


def _bound(fact: Bound) -> str:
    brakes = fact.brakes
    if brakes is None:
        return "bound by nothing"
    names = (one.name for group in _KINDS for one in getattr(brakes, group))
    return f"bound by {_names(names) or 'nothing'}"


def _told(fact: Told) -> str:
    parts = [f"told: {_names(fact.keys)}"] if fact.keys else []
    parts += [f"may be told again: {_names(fact.retired)}"] if fact.retired else []
    return "; ".join(parts)


def _handled(fact: Handled) -> str:
    counts = Counter(each.outcome for each in fact.objects)
    told = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
    first = f": {fact.objects[0].object}" if len(fact.objects) == 1 else ""
    return f"by hand: {told or 'nothing'}{first}{_because(fact.reason)}"


def _folded(fact: Folded) -> str:
    return f"the state after {counted(fact.facts, 'fact')}"


def _surveyed(fact: Surveyed) -> str:
    parts = [_names(f"{each.name} {each.version}" for each in fact.clusters)]
    parts += [f"gone: {_names(fact.gone)}" if fact.gone else ""]
    parts += [f"not read: {_names(fact.unread)}" if fact.unread else ""]
    parts += ["nobody knows how clusters are" if fact.health_fails else ""]
    return "looked; " + ("; ".join(each for each in parts if each) or "all as before")


def _planned(fact: Planned) -> str:
    verb = "" if fact.mode is Mode.ACT else "would "
    jobs = (f"{job.step.doing.value} {job.name} {job.step.revision or ''}" for job in fact.jobs)
    waits = sum(all(shut for _, _, shut in each.options) for each in fact.changed)
    parts = [f"{verb}{_names(each.rstrip() for each in jobs) or 'do nothing'}"]
    parts += [f"of {counted(waits, 'cluster')} what it waits for is new"] if waits else []
    return "; ".join(parts)


def _imported(fact: Imported) -> str:
    versions = len({version for version, _, _ in fact.soak.days})
    return f"soak of {counted(versions, 'version')} from {fact.origin}{_because(fact.reason)}"


_LINES: dict[type, Callable[[Any], str]] = {
    Declared: _declared,
    Observed: _observed,
    Asked: _asked,
    Decided: _decided,
    Acted: _acted,
    Braked: _braked,
    Lifted: _lifted,
    Bound: _bound,
    Told: _told,
    Handled: _handled,
    Folded: _folded,
    Surveyed: _surveyed,
    Planned: _planned,
    Imported: _imported,
}


def _moment(instant: Instant) -> str:
    """People compare seconds."""
    return format_second(instant)


def _names(names: Iterable[str]) -> str:
    """Some names and how many more: "a, b, c and 4 more"."""
    every = list(names)
    named = ", ".join(every[:NAMES_MAX])
    return named if len(every) <= NAMES_MAX else f"{named} and {len(every) - NAMES_MAX} more"


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""
