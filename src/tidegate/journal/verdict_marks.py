"""Verdicts as the plans of every kind record them, and what a line of the journal says of them.

A plan records the targets of which some verdict is new, each with all its verdicts as marks. They
are written, selected and put into words in one place, so that all journals read alike.
"""

from collections.abc import Iterable
from typing import Protocol

from tidegate.journal.fact import moment_text, some_names
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict

# One verdict as it is recorded: gate, outcome, reason, and until when; None: no clock opens it.
VerdictMark = tuple[str, str, str, Instant | None]

EVERY_GATE_OPEN = "every gate is open"


class MarkedTarget(Protocol):
    """A target with every verdict on it."""

    @property
    def target(self) -> str:
        """Its name."""
        ...

    @property
    def verdicts(self) -> tuple[VerdictMark, ...]:
        """What every gate said."""
        ...


def marks_of(verdicts: Iterable[Verdict]) -> tuple[VerdictMark, ...]:
    """Verdicts as they are recorded: other numbers alone do not make another one."""
    return tuple(
        [(each.gate.value, each.outcome.value, each.reason.value, each.until) for each in verdicts]
    )


def plan_news(changed: str, recheck_at: Instant | None) -> list[str]:
    """What the line of a plan ends with; `changed`: whose verdicts changed, empty for none."""
    news = [f"verdicts changed for {changed}"] if changed else []
    return news + ([f"look again at {moment_text(recheck_at)}"] if recheck_at is not None else [])


def changed_names(changed: Iterable[MarkedTarget]) -> str:
    """The targets whose verdicts changed, the first few by name."""
    return some_names(each.target for each in changed)


def changed_marks(changed: Iterable[MarkedTarget], target: str, gate: str) -> list[str]:
    """What is recorded of one target, of one gate, or of one gate at one target.

    An open gate is worth a word only where that very gate is asked for.
    """
    said: dict[str, list[str]] = {}
    for each in changed:
        if target in ("", each.target):
            for asked, outcome, reason, until in each.verdicts:
                if asked == gate if gate else outcome != Outcome.PASS.value:
                    moment = f" until {moment_text(until)}" if until is not None else ""
                    said.setdefault(f"{asked} {outcome} {reason}{moment}", []).append(each.target)
    return list(said) if target else [f"{one}: {some_names(them)}" for one, them in said.items()]


def asks_gate(changed: Iterable[MarkedTarget], gate: str, target: str) -> bool:
    """Whether a verdict of a gate is recorded, of one target or of any."""
    some = (each for each in changed if not target or each.target == target)
    return any(mark[0] == gate for each in some for mark in each.verdicts)
