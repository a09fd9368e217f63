"""One verdict as JSON; the names of its fields are API."""

from typing import Any

from tidegate.explain.sentence import facts, opens, sentence
from tidegate.model.time import format_instant
from tidegate.model.verdict import Verdict


def verdict_doc(verdict: Verdict) -> dict[str, Any]:
    """One verdict as JSON."""
    doc: dict[str, Any] = {
        "gate": verdict.gate.value,
        "outcome": verdict.outcome.value,
        "reason": verdict.reason.value,
        "message": sentence(verdict),
        "facts": facts(verdict),
    }
    if verdict.until is not None:
        doc["until"] = format_instant(verdict.until)
        if verdict.estimate:
            doc["estimate"] = True
    remedy = opens(verdict)
    if remedy:
        doc["opens"] = remedy
    return doc
