"""Verdicts as lines of a tree: every gate, its numbers, until when, and what would open it."""

from tidegate.explain.sentence import MARKS, opens, sentence, until_text
from tidegate.model.plan import ChangeKind, Option
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, all_pass

_FIRST = {Outcome.STOP: 0, Outcome.WAIT: 1, Outcome.PASS: 2}


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
