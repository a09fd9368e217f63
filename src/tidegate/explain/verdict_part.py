"""A verdict as a part of a document, and the lines that show it.

What is rendered for people and what programs read are the same value.
"""

from collections.abc import Sequence

from tidegate.explain.sentence import MARKS, facts, opens, sentence
from tidegate.model.document import Part
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant, format_age, format_instant, format_second, parse_instant
from tidegate.model.verdict import FactValue, Verdict

_FIRST = {"stop": 0, "wait": 1, "pass": 2}
# How a reason says that its gate may stay shut.
_NOTHING = "nothing needs to"
# Nothing starts on these targets, and nothing is wrong with them.
_SETTLED = {ProgressReason.Done.name: "✓", ProgressReason.Skipped.name: "–"}


class VerdictPart(Part, frozen=True, kw_only=True, omit_defaults=True):
    """What one gate says of one option."""

    gate: str
    outcome: str
    reason: str
    message: str
    facts: dict[str, FactValue]
    until: str = ""
    estimate: bool = False
    # What would open the gate; empty: it is open, or nothing needs to.
    opens: str = ""

    @property
    def mark(self) -> str:
        """The sign of its outcome; a target that needs nothing more has no cross."""
        return self._settled or MARKS[Outcome(self.outcome)]

    @property
    def tone(self) -> str:
        """Its outcome for eyes: a stop for good reason is settled, and no alarm."""
        return "settled" if self._settled else self.outcome

    @property
    def _settled(self) -> str:
        rests = self.outcome == Outcome.STOP.value and self.opens == _NOTHING
        return _SETTLED.get(self.reason, "–" if rests else "")


def verdict_part(verdict: Verdict) -> VerdictPart:
    """A verdict as a part of a document."""
    timed = verdict.until is not None
    return VerdictPart(
        gate=verdict.gate.value,
        outcome=verdict.outcome.value,
        reason=verdict.reason.value,
        message=sentence(verdict),
        facts=facts(verdict),
        until=format_instant(verdict.until) if verdict.until is not None else "",
        estimate=timed and verdict.estimate,
        opens=opens(verdict),
    )


class VerdictParts:
    """Verdicts as parts, each made once: those of a plan are shared by its options."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Verdict, VerdictPart]] = {}

    def of(self, verdicts: tuple[Verdict, ...]) -> tuple[VerdictPart, ...]:
        """Several, in their order."""
        return tuple(self.one(each) for each in verdicts)

    def one(self, verdict: Verdict) -> VerdictPart:
        """One of them."""
        known = self._known.get(id(verdict))
        if known is None:
            known = self._known[id(verdict)] = (verdict, verdict_part(verdict))
        return known[1]


def first_shut_part(parts: Sequence[VerdictPart]) -> VerdictPart | None:
    """The verdict that says most about why nothing happens: a stop before a wait."""
    shut = [each for each in parts if each.outcome != Outcome.PASS.value]
    return min(shut, key=lambda each: _FIRST[each.outcome], default=None)


def part_lines(parts: Sequence[VerdictPart], now: Instant | None) -> list[str]:
    """What every gate says, those that are shut first; without a now, moments have no distance."""
    ordered = sorted(parts, key=lambda each: _FIRST[each.outcome])
    size = max((len(each.gate) for each in ordered), default=0)
    return [
        line
        for at, each in enumerate(ordered, start=1)
        for line in _gate(each, now, size, last=at == len(ordered))
    ]


def _gate(part: VerdictPart, now: Instant | None, size: int, last: bool) -> list[str]:
    stem, rest = ("└─", "  ") if last else ("├─", "│ ")
    lines = [f"{stem} {part.mark} {part.gate.ljust(size)}  {part.message}"]
    indent = f"{rest}   {' ' * size}  "
    if part.until:
        about = "about " if part.estimate else ""
        until = parse_instant(part.until)
        left = "" if now is None else f" (in {format_age(until - now)})"
        lines.append(f"{indent}until {about}{format_second(until)}{left}")
    if part.opens:
        lines.append(f"{indent}opens: {part.opens}")
    return lines
