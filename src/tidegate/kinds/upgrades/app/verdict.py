"""A verdict as a part of documents; the names of its fields are API."""

from typing import Any

from msgspec import UNSET, UnsetType

from tidegate.explain.sentence import facts, opens, sentence
from tidegate.model.document import Part
from tidegate.model.time import Instant, format_instant
from tidegate.model.verdict import Verdict


class GateVerdict(Part, frozen=True, kw_only=True):
    """What one gate says, with its facts."""

    gate: str
    outcome: str
    reason: str
    message: str
    facts: dict[str, Any]
    # The moment at which time alone opens it; unset: it does not.
    until: str | UnsetType = UNSET
    # Whether that moment is an estimate.
    estimate: bool | UnsetType = UNSET
    # What would open it; unset: it is open, or nothing does.
    opens: str | UnsetType = UNSET


def gate_verdict(verdict: Verdict) -> GateVerdict:
    """One verdict."""
    until, remedy = verdict.until, opens(verdict)
    return GateVerdict(
        gate=verdict.gate.value,
        outcome=verdict.outcome.value,
        reason=verdict.reason.value,
        message=sentence(verdict),
        facts=facts(verdict),
        until=UNSET if until is None else format_instant(until),
        estimate=True if until is not None and verdict.estimate else UNSET,
        opens=remedy or UNSET,
    )


class GateVerdicts:
    """Verdicts as parts, each made once: those of a plan are shared by its options."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Verdict, GateVerdict]] = {}

    def of(self, verdicts: tuple[Verdict, ...]) -> tuple[GateVerdict, ...]:
        """Several, in their order."""
        return tuple(self.one(each) for each in verdicts)

    def one(self, verdict: Verdict) -> GateVerdict:
        """One of them."""
        known = self._known.get(id(verdict))
        if known is None:
            known = self._known[id(verdict)] = (verdict, gate_verdict(verdict))
        return known[1]


def instant_text(at: Instant | None) -> str | None:
    """A moment as documents have it; None: there is none."""
    return None if at is None else format_instant(at)
