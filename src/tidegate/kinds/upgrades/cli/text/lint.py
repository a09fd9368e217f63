"""Findings about labels as text: by organisation, with what to write instead."""

from collections import Counter
from collections.abc import Iterable, Iterator
from textwrap import wrap

from tidegate.kinds.upgrades.app.lint import LabelFinding
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.model.counted import counted

_MARKS = {"error": "✗", "warning": "…", "note": "·"}


def finding_lines(findings: Iterable[LabelFinding], width: int | None) -> Iterator[str]:
    """Findings by organisation: the owner, the label, and beneath what to write instead."""
    heading = ""
    for each in findings:
        mine = f"{PARTITION}/{each.environment}/{each.org}"
        if mine != heading:
            yield from ("",) if heading else ()
            yield mine
            heading = mine
        yield from _lines(each, width)


def _lines(one: LabelFinding, width: int | None) -> Iterator[str]:
    where = f'  {one.label}: "{one.value}"' if one.label else ""
    yield f"{_MARKS[one.severity]} {one.severity}  {one.code}  {owner_of(one)}{where}"
    for text in (one.message, f"→ {one.remedy}"):
        for line in wrap(text, width - 4, break_on_hyphens=False) if width is not None else [text]:
            yield f"    {line}"


def owner_of(one: LabelFinding) -> str:
    """Whose labels it is about: cluster/NAME or org/ID."""
    return f"cluster/{one.cluster}" if one.cluster else f"org/{one.org}"


def finding_text(one: LabelFinding) -> str:
    """One finding on a line, without its owner."""
    label = f"{one.label}: " if one.label else ""
    return f"{label}{one.message}; {one.remedy}"


def lint_summary(findings: Iterable[LabelFinding]) -> str:
    """How many findings there are of each severity."""
    counts: Counter[str] = Counter(each.severity for each in findings)
    words = ("error", "warning", "note")
    parts = [counted(counts[word], word) for word in words if counts[word]]
    return ", ".join(parts) or "nothing found"
