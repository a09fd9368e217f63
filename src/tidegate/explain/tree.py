"""Verdicts as lines of a tree: every gate, its numbers, until when, and what would open it."""

from tidegate.explain.verdict_part import part_lines, verdict_part
from tidegate.model.plan import ChangeKind, Option
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, all_pass


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
    return part_lines(tuple(map(verdict_part, verdicts)), now)
