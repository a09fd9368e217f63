"""A decision drawn as text, one target a line: what a failing law shows instead of values.

ProgressivePerGroup · soak 5m · failures ≤ 0 · slots 2 · revision r2
forward r2 · Progressing · recheck +4m · starts c2
  0 dev      c1   Progressing  -1m  r2  IN_FLIGHT  …InFlight
  0 dev      c2   ToApply      ?    -   WAITING    ✓Running ✓ReadingComplete ✓FirstInOrder ✓SlotFree
"""

from collections.abc import Iterator

from tests.sim.generator import Case
from tidegate.explain.sentence import MARKS
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import ChangeKind, Option
from tidegate.model.target import Group, Target
from tidegate.model.time import Instant, format_duration
from tidegate.model.verdict import Verdict


def describe(world: RolloutWorld, now: Instant, plan: RolloutPlan | None = None) -> str:
    """The world and what is decided on it, as a table."""
    plan = plan or decide(world, now)
    rows = list(_rows(world, now, plan))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)] if rows else []
    lines = (
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join((_declared(world), _decided(world, now, plan), *map(str.rstrip, lines)))


def describe_case(case: Case) -> str:
    """The drawing of a case, and the case itself as what would make it again."""
    return f"{describe(case.world(), case.now)}\n{case!r}"


def _declared(world: RolloutWorld) -> str:
    one, memory = world.strategy, world.rollout
    parts = [
        one.type.value,
        one.soak and f"soak {format_duration(one.soak)}",
        one.deadline and f"deadline {format_duration(one.deadline)}",
        one.max_failures is not None and f"failures ≤ {one.max_failures}",
        one.max_concurrency is not None and f"slots {one.max_concurrency}",
        f"on failure {one.on_failure.value}",
        one.ordering.by.value != "name" and f"by {one.ordering.by.value}",
        f"revision {world.revision or '-'}",
        memory.revision and f"under way {memory.revision} ({one.on_new_revision.value})",
        memory.last_good and f"last good {memory.last_good}",
        memory.version and f"version {memory.version}",
        memory.completed and "completed",
        memory.paused and "paused",
        memory.aborted and "aborted",
        memory.restarted and "restarted",
        memory.retry.value != "nothing" and f"retry {memory.retry.value}",
        memory.retry_groups
        and f"retry {' '.join(f'{k}:{v.value}' for k, v in sorted(memory.retried_groups.items()))}",
        not world.complete and "incomplete",
    ]
    if memory.approvals.groups or memory.approvals.ungrouped:
        names = [*sorted(memory.approvals.groups), *["(ungrouped)"] * memory.approvals.ungrouped]
        parts.append(f"approved {' '.join(names)} for {memory.approvals.for_version or 'all'}")
    return " · ".join(part for part in parts if part)


def _decided(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> str:
    course = plan.course
    parts = [
        f"{course.mode.value} {course.revision or '-'}",
        plan.summary.value,
        plan.breached and "breached",
        plan.recheck_at is not None and f"recheck +{format_duration(plan.recheck_at - now)}",
        plan.events and "events " + " ".join(event.value for event in plan.events),
        plan.started and "starts " + " ".join(world.targets[i].name for i in plan.started),
    ]
    return " · ".join(part for part in parts if part)


def _rows(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> Iterator[tuple[str, ...]]:
    extra: dict[int, list[Option]] = {}
    for option in plan.options[len(world.targets) :]:
        extra.setdefault(option.target, []).append(option)
    for group in world.groups:
        label = _group(group)
        if not group.size:
            yield (label, "-", "", "", "", "", "")
        for i in range(group.first, group.last):
            says = _verdicts(plan.options[i].verdicts)
            says += "".join(f" | {_option(option)}" for option in extra.get(i, ()))
            yield (label, *_target(world.targets[i], now), plan.states[i].name, says)
    for i, target in enumerate(world.departed, start=len(world.targets)):
        says = " | ".join(map(_option, extra.get(i, ())))
        yield ("(no group)", *_target(target, now), "", says)


def _group(group: Group) -> str:
    marks = ("!" if group.mandatory else "") + ("" if group.complete else "?")
    return f"{group.index} {group.label}{marks}"


def _target(target: Target, now: Instant) -> tuple[str, str, str, str]:
    since = "?"
    if target.since is not None:
        age = target.since - now
        since = f"{'+' if age >= 0 else ''}{format_duration(age)}"
    name = f"({target.name})" if target.ignored else target.name
    return name, target.word or target.status.name, since, target.revision or "-"


def _option(option: Option) -> str:
    to = f" {option.change.revision}" if option.change.kind is ChangeKind.RETURN else ""
    return f"{option.change.kind.value}{to}: {_verdicts(option.verdicts)}"


def _verdicts(verdicts: tuple[Verdict, ...]) -> str:
    return " ".join(f"{MARKS[each.outcome]}{each.reason.value}" for each in verdicts)
