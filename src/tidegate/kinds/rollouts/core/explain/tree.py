"""One target as a tree: every gate, its verdict and numbers, until when, and what would open it."""

from tidegate.explain.tree import option_lines
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.explain.table import state_word
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.time import Instant, format_age, format_second


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
