"""The keys of a log line about a gate that is shut."""

from tidegate.explain.sentence import opens
from tidegate.model.time import format_instant
from tidegate.model.verdict import Verdict


def why_not(verdict: Verdict) -> dict[str, str]:
    """What a line says of a gate that is shut, beside its sentence."""
    keys = {"gate": verdict.gate.value, "outcome": verdict.outcome.value}
    keys["reason"] = verdict.reason.value
    if verdict.until is not None:
        keys["until"] = format_instant(verdict.until)
    remedy = opens(verdict)
    return keys | ({"opens": remedy} if remedy else {})
