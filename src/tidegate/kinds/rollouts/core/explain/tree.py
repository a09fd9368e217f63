"""One target as a tree: every gate, its verdict and numbers, until when, and what would open it."""

from tidegate.explain.sentence import MARKS, opens, sentence, until_text
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.explain.table import state_word
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import ChangeKind, Option
from tidegate.model.reasons import Outcome
from tidegate.model.time import Instant, format_age, format_second
from tidegate.model.verdict import Verdict, all_pass

_FIRST = {Outcome.STOP: 0, Outcome.WAIT: 1, Outcome.PASS: 2}


def find_target(world: RolloutWorld, name: str) -> int | None:
    """The position of a target, departed ones behind the others; None if there is none."""
    for i, target in enumerate(world.targets + world.departed):
        if target.name == name:
            return i
    return None


def target_tree(world: RolloutWorld, plan: RolloutPlan, position: int, now: Instant) -> list[str]:
    """The lines of the tree of one target."""
    lines = [_title(world, plan, position, now)]
    for option in plan.options:
        if option.target == position:
            lines += option_lines(option, now)
    return lines


def _title(world: RolloutWorld, plan: RolloutPlan, position: int, now: Instant) -> str:
    if position >= len(world.targets):
        return f"{world.departed[position - len(world.targets)].name}  in no group"
    target = world.targets[position]
    group = next(g for g in world.groups if g.first <= position < g.last)
    parts = [target.name, state_word(world, plan, position), f"in {group.label}"]
    if target.since is not None:
        age = format_age(now - target.since)
        parts.append(f"{target.status.name} since {format_second(target.since)} ({age})")
    if target.revision is not None:
        wanted = plan.course.revision
        other = wanted is not None and wanted != target.revision
        parts.append(f"on {target.revision}" + (f", wants {wanted}" if other else ""))
    if position in plan.started:
        parts.append("starts now")
    return "  ".join(parts)


def option_lines(option: Option, now: Instant) -> list[str]:
    """Every gate of one option, those that are shut first."""
    lines: list[str] = []
    if option.change.kind is ChangeKind.RETURN:
        go = "now" if all_pass(option.verdicts) else "when every gate below is open"
        lines.append(f"back to {option.change.revision}: {go}")
    elif option.change.kind is ChangeKind.REMOVE:
        lines.append("removed: now" if all_pass(option.verdicts) else "kept for now")
    return [*lines, *verdict_lines(option.verdicts, now)]


def verdict_lines(verdicts: tuple[Verdict, ...], now: Instant) -> list[str]:
    """What every gate says, those that are shut first."""
    ordered = sorted(verdicts, key=lambda each: _FIRST[each.outcome])
    size = max((len(each.gate.value) for each in ordered), default=0)
    return [
        line
        for at, each in enumerate(ordered, start=1)
        for line in _gate(each, now, size, last=at == len(ordered))
    ]


def _gate(verdict: Verdict, now: Instant, size: int, last: bool) -> list[str]:
    stem, rest = ("└─", "  ") if last else ("├─", "│ ")
    mark, name = MARKS[verdict.outcome], verdict.gate.value.ljust(size)
    lines = [f"{stem} {mark} {name}  {sentence(verdict)}"]
    indent = f"{rest}   {' ' * size}  "
    timed, remedy = until_text(verdict, now), opens(verdict)
    if timed:
        lines.append(f"{indent}{timed}")
    if remedy:
        lines.append(f"{indent}opens: {remedy}")
    return lines
